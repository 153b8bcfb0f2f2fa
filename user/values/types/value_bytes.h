/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_bytes.h: a value before anything is made of its type: its bytes, or where they lie. */
#ifndef USER_VALUE_BYTES_H
#define USER_VALUE_BYTES_H

#include "offline/eval/memory/memory.h"

#include <stdbool.h>
#include <stdio.h>

enum { VALUE_IN_REGISTER, VALUE_IN_MEMORY };
enum { VALUE_BYTES = 64 };
/* Worse than the qualities of memory.h: DWARF says that the byte is nowhere. */
enum { VALUE_NOWHERE = VALUE_UNKNOWN + 1 };

struct value_bytes {
	int place;
	uint64_t addr;	    /* VALUE_IN_MEMORY */
	uint8_t at_quality; /* of @addr: no byte is known better */
	uint8_t len;	    /* VALUE_IN_REGISTER: of registers, or computed */
	uint8_t reg;	    /* it is a whole register: 1 and its number, general ones first; 0 */
	uint8_t bytes[VALUE_BYTES], quality[VALUE_BYTES];
};

/* @len bytes from @off on, and the worst quality of them; bytes that are not there are unknown. */
uint8_t value_bytes_read(const struct value_bytes *value, struct value_memory *memory, uint64_t off,
			 void *out, uint64_t len);
/* Puts @len bytes of @from, from its @off on, to @to's end. False: there is no room. */
bool value_bytes_append(struct value_bytes *to, struct value_memory *memory,
			const struct value_bytes *from, uint64_t off, uint64_t len);

/* Puts the mark of @quality behind what was printed: "~" assumed, "?" not known. */
void value_print_mark(FILE *out, uint8_t quality);
/* Prints in place of a value that it is not known, or nowhere. False: it is known. */
bool value_print_unknown(FILE *out, uint8_t quality);

#endif
