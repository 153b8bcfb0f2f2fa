/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* text_span.h: where a file's executable segments lie. */
#ifndef USER_TEXT_SPAN_H
#define USER_TEXT_SPAN_H

#include <pugmark/diag.h>

#include <stdint.h>

/* ELF addresses, from the first of them to the end of the last. */
struct text_span {
	uint64_t addr, end;
	uint64_t off_file; /* of `addr` */
};

/* Returns 0, or -errno with @diag filled (-ENOEXEC: not an ELF file of x86-64, or no such segment,
 * or 4 GiB of them). */
int text_span_read(const char *path, struct text_span *span, struct pugmark_diag *diag);
/* What the file has there: all of the span, zeros where it has nothing, which the caller frees.
 * NULL: it cannot be read, or out of memory. */
uint8_t *text_span_bytes(const char *path, const struct text_span *span);

#endif
