/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_sites.h: where code makes system calls, and what may become a jump there. */
#ifndef OFFLINE_CAPTURE_CALL_SITES_H
#define OFFLINE_CAPTURE_CALL_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CALL_SITE_BYTES = 5, CALL_SITE_MOVED = 15, CALL_SITE_ANY = -1 };

/* A `syscall` instruction. The jump takes the place of what sets its number, `mov $N, %eax` or
 * longer; or of that, if it is shorter, the `syscall`, and the instruction behind it, which the
 * stub executes. */
struct call_site {
	uint64_t at; /* where the jump goes; 0: there is no room for it */
	uint64_t call;
	int32_t number;	   /* that it always has; CALL_SITE_ANY: what is in eax */
	bool zeroes;	   /* the number is set by `xor %eax, %eax` */
	bool flags_unread; /* what it leaves in the flags is read by nobody */
	uint8_t n_moved;
	uint8_t moved[CALL_SITE_MOVED]; /* the instruction behind it */
	uint8_t old[CALL_SITE_BYTES];
};

/* Finds them in the @len bytes of code that run at @addr. *@sites is freed by the caller. Returns
 * how many, or -ENOMEM. */
int call_sites_find(const uint8_t *code, size_t len, uint64_t addr, struct call_site **sites);

#endif
