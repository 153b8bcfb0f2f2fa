/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hand_program.h: what programs made by hand are made of. */
#ifndef TESTS_HAND_PROGRAM_H
#define TESTS_HAND_PROGRAM_H

#include "offline/program/program.h"

/* Block @b, of @func, which can be probed where it begins and where it ends. Where it is given a
 * call, that is at its end. */
static inline struct prog_block hand_block(uint32_t b, uint32_t func)
{
	uint64_t addr = 0x1000 + 64ull * b;
	return (struct prog_block){
		.func = func,
		.addr = addr,
		.call_off = 32,
		.call_len = 5,
		.callee = PUGMARK_NONE,
		.height = 16,
		.origin = PUGMARK_NONE,
		.site = PUGMARK_NONE,
		.freq = 1,
		.flags = PROG_REACHED,
		.any = {(uint32_t)addr, true, 600},
		.last = {(uint32_t)addr + 32, true, 600},
	};
}

#endif
