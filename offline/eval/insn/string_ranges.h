/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* string_ranges.h: the memory that all turns of a traced string instruction together read and
 * write. */
#ifndef OFFLINE_EVAL_STRING_RANGES_H
#define OFFLINE_EVAL_STRING_RANGES_H

#include "offline/eval/insn/insn.h"

struct value_range {
	uint64_t addr, len; /* from its lowest byte on */
	bool read, write;
};

/* @at: what @insn has added to a trace: rdi, rsi, turns. @down: the direction flag was set. Fills
 * @out, a range for each memory operand, and returns how many; 0 where there was no turn. */
unsigned value_string_ranges(const struct value_insn *insn, const uint64_t at[3], bool down,
			     struct value_range out[2]);

/* The direction flag behind @insn, of any kind, where it was @down before. */
bool value_insn_down(const struct value_insn *insn, bool down);

#endif
