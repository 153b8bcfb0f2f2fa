/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* naive_insn.h: what an instruction reads and writes, as numbers of bytes: those of the general
 * registers from 0 on, then those below. */
#ifndef TESTS_VALUE_NAIVE_INSN_H
#define TESTS_VALUE_NAIVE_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VEC = 128, FLAG = 640, X87 = 646, DIRECTION = 647, BYTES = 648, LIST = 160 };

struct list {
	uint16_t at[LIST];
	int n;
};

struct decoded {
	bool done, string, moves_string, call, ret;
	bool exchanges; /* loads and stores in one, which the emulator tells as a store */
	uint8_t len;
	struct list data, writes, moved, moves_by;
};

/* Of the instruction at @addr of @image; what cannot be decoded has one byte and does nothing. */
void naive_decode(const uint8_t *image, size_t image_len, uint64_t addr, struct decoded *d);

#endif
