/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stack_switch.h: which functions leave the stack that they were called on. */
#ifndef OFFLINE_STACK_SWITCH_H
#define OFFLINE_STACK_SWITCH_H

#include <pugmark/model.h>

#include <stdbool.h>

struct builder;

/* Sets PUGMARK_FUNC_SWITCHES, PUGMARK_SITE_SWITCHES, and PUGMARK_BLOCK_SETJMP_RETURN where such
 * calls return to. After everything else is known. 0 or -ENOMEM. */
int stack_switch_solve(struct builder *b);
/* Whether the code of @func from @first to @last, an indirect jump or a return, leaves the stack
 * for good. Either as longjmp does: it loads rsp from memory outside of its own frame, and the
 * function nowhere stores rsp, or only to come back to a label of its own, or names a label of
 * another function right there. Or as OCaml raises: that memory then gets what is on top of the
 * stack. */
bool stack_switch_is_final(struct builder *b, uint32_t func, uint32_t first, uint32_t last);
/* Whether the instruction @label, which follows the code from @first on, is where that code goes on
 * once its stack is gone back to: it keeps rsp and @label's address, loads rsp, and jumps. */
bool stack_switch_comes_back(struct builder *b, uint32_t first, uint32_t label);
/* Whether @insn can end code that leaves so; its block then ends as by a trap. */
static inline bool insn_leaves(const struct pugmark_insn *insn)
{
	return insn->kind == PUGMARK_INSN_JMP_IND || insn->kind == PUGMARK_INSN_RET;
}
/* Whether the block, of a module with these instructions, ends with longjmp's jump, or one to
 * another stack. */
static inline bool block_leaves(const struct pugmark_block *block, const struct pugmark_insn *insns)
{
	return block->end == PUGMARK_END_TRAP && block->n_insns &&
	       insn_leaves(&insns[block->insn + block->n_insns - 1]);
}
/* Whether the instruction copies or loads a register or memory to rsp. */
bool stack_switch_may_load(const uint8_t *bytes, uint8_t len_bytes);
/* Whether it may be where code switches stacks: it loads rsp from memory that is in no frame of its
 * own, or copies to it a register that may hold an argument. */
bool stack_switch_may_take(const uint8_t *bytes, uint8_t len_bytes);
/* Whether it copies rsp to memory, or to a register that holds no frame pointer. */
bool stack_switch_may_keep(const uint8_t *bytes, uint8_t len_bytes);

#endif
