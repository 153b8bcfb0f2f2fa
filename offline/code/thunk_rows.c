// SPDX-License-Identifier: LGPL-2.1-or-later
/* thunk_rows.c: call frame information of retpolines that stand where they are used. The call in
 * one leaves a word on the stack, which the code that it goes to overwrites or takes off. GCC
 * writes for that code the height that it would have in a function of its own, 16, and takes it
 * back nowhere: its row goes on behind the retpoline, where the height is that of the row before
 * it. */
#include "offline/code/builder.h"

#include <errno.h>
#include <string.h>

/* A retpoline in the code: from its call to behind its return, and the place from which on the word
 * is off the stack. */
struct thunk {
	uint64_t addr, off, end;
};

static struct thunk thunk_at(const struct builder *b, uint32_t insn)
{
	enum { MOVES_BYTES = 4, TAKES_OFF_BYTES = 5, RET_BYTES = 1 };
	uint64_t to = builder_insn_target(b, insn);
	const struct elf_code *code = builder_code_at(b, to);
	const uint8_t *bytes = code->bytes + (to - code->addr);
	bool moves = decode_jumps_by_return(bytes, bytes + MOVES_BYTES, MOVES_BYTES);
	uint64_t ret = to + (moves ? MOVES_BYTES : TAKES_OFF_BYTES), end = ret + RET_BYTES;
	return (struct thunk){insn_addr(b, insn), moves ? end : ret, end};
}

typedef VEC(struct elf_cfa_row) row_vec;

/* Adds @row, which begins within @thunk, as it should be. */
static bool add_corrected(row_vec *rows, struct elf_cfa_row row, const struct thunk *thunk)
{
	enum { WORD = 8 };
	const struct elf_cfa_row *before = rows->n ? &rows->at[rows->n - 1] : NULL;
	if (!before || before->addr > thunk->addr || before->end < row.addr)
		return VEC_PUSH(rows, row);
	struct elf_cfa_row within = row, behind = row;
	uint64_t off = thunk->off > row.addr ? thunk->off : row.addr;
	within.cfa = behind.cfa = before->cfa;
	if (within.cfa.reg == PUGMARK_CFA_SP)
		within.cfa.offset += WORD;
	within.end = row.end < off ? row.end : off;
	behind.addr = within.end;
	return (within.addr == within.end || VEC_PUSH(rows, within)) &&
	       (behind.addr == row.end || VEC_PUSH(rows, behind));
}

int thunk_rows_correct(struct builder *b)
{
	row_vec rows = {0};
	uint32_t row = 0;
	for (uint32_t i = 0; i < b->insns.n; i++) {
		if (b->insns.at[i].kind != PUGMARK_INSN_JMP ||
		    !insn_is_jumping_call(&b->insns.at[i], builder_insn_bytes(b, i)))
			continue;
		struct thunk thunk = thunk_at(b, i);
		for (; row < b->rows.n && b->rows.at[row].addr < thunk.end; row++) {
			struct elf_cfa_row each = b->rows.at[row];
			bool added = each.addr > thunk.addr ? add_corrected(&rows, each, &thunk)
							    : VEC_PUSH(&rows, each);
			if (!added) {
				VEC_FREE(&rows);
				return -ENOMEM;
			}
		}
	}
	if (!row)
		return 0;
	bool room = VEC_RESERVE(&rows, b->rows.n - row);
	if (room && row < b->rows.n) {
		memcpy(rows.at + rows.n, b->rows.at + row, (b->rows.n - row) * sizeof(*rows.at));
		rows.n += b->rows.n - row;
	}
	VEC_FREE(&b->rows);
	b->rows.at = rows.at;
	b->rows.n = rows.n;
	b->rows.max = rows.max;
	return room ? 0 : -ENOMEM;
}
