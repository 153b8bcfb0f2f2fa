// SPDX-License-Identifier: LGPL-2.1-or-later
/* stale_rows.c: call frame information that is not of the place that it stands at. Its directives
 * say what changes from one line of assembly to the next: a compiler that puts what is seldom
 * executed behind a function's return, and gives no height for it, leaves there that of the code
 * before. So does OCaml with calls of what raises an error of bounds, out of a `try`. But a jump
 * leaves the stack as it is: where all ways to a block are jumps, and all come at one height, and
 * that is not the block's, it is the jumps'. LLVM moves an `add $n,%rsp` up and leaves its
 * directive where it was: between the two the height is that behind the directive. */
#include "offline/code/builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 4 };

#define MIXED INT32_MIN

struct stale {
	struct builder *b;
	int32_t *height; /* by block: of the jumps that lead there; 0: none does; or MIXED */
	int32_t *shift;	 /* by block: what is to be added to its rows' heights */
	bool grew;
};

/* The height that the rows give at @addr of block @block; 0: none. */
static int32_t height_at(const struct stale *s, uint32_t block, uint64_t addr)
{
	struct pugmark_cfa cfa = builder_cfa_at(s->b, addr);
	return cfa.reg == PUGMARK_CFA_SP ? cfa.offset + s->shift[block] : 0;
}

static uint64_t last_insn(const struct builder *b, const struct pugmark_block *block)
{
	return insn_addr(b, block->insn + block->n_insns - 1);
}

/* Whether @block leads to others by jumps alone, or falls through a jump that is not taken. */
static bool may_jump(const struct pugmark_block *block)
{
	return block->end == PUGMARK_END_JMP || block->end == PUGMARK_END_JCC;
}

/* Whether its jump is a call that is one. */
static bool pushes_return(const struct builder *b, const struct pugmark_block *block)
{
	uint32_t last = block->insn + block->n_insns - 1;
	return insn_is_jumping_call(&b->insns.at[last], builder_insn_bytes(b, last));
}

static void note_ways(struct stale *s, uint32_t from)
{
	const struct builder *b = s->b;
	const struct pugmark_block *block = &b->blocks.at[from];
	for (uint32_t i = block->edge; i < block->edge + block->n_edges; i++) {
		const struct pugmark_edge *e = &b->edges.at[i];
		bool jump = may_jump(block) &&
			    (e->kind == PUGMARK_EDGE_TAKEN || e->kind == PUGMARK_EDGE_JUMP);
		int32_t height = jump ? height_at(s, from, last_insn(b, block)) : 0;
		if (height && pushes_return(b, block))
			height += 8;
		int32_t *to = &s->height[e->to];
		*to = !height || (*to && *to != height) ? MIXED : height;
	}
}

/* Whether what is known of the block tells all ways to it. */
static bool only_jumped_to(const struct pugmark_block *block)
{
	return !(block->flags & (PUGMARK_BLOCK_LANDING_PAD | PUGMARK_BLOCK_SETJMP_RETURN |
				 PUGMARK_BLOCK_ADDRESS_TAKEN | PUGMARK_BLOCK_UNREACHED));
}

static void look_at_function(struct stale *s, const struct pugmark_func *f)
{
	const struct builder *b = s->b;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++)
		s->height[i] = 0;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++)
		if (!(b->blocks.at[i].flags & PUGMARK_BLOCK_UNREACHED))
			note_ways(s, i);
	for (uint32_t i = f->block + 1; i < f->block + f->n_blocks; i++) {
		const struct pugmark_block *block = &b->blocks.at[i];
		if (!s->height[i] || s->height[i] == MIXED || !only_jumped_to(block))
			continue;
		int32_t own = height_at(s, i, block->addr);
		if (!own || own == s->height[i])
			continue;
		s->shift[i] += s->height[i] - own;
		s->grew = true;
	}
}

/* A range of code, and what is to be added to its rows' heights. */
struct range {
	uint64_t addr, end;
	int32_t shift;
};

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Adds what of @row is in [@from, @to). */
static void add_piece(struct builder *b, struct elf_cfa_row row, uint64_t from, uint64_t to,
		      int32_t shift)
{
	row.addr = row.addr > from ? row.addr : from;
	row.end = row.end < to ? row.end : to;
	if (row.cfa.reg == PUGMARK_CFA_SP)
		row.cfa.offset += shift;
	if (row.addr < row.end)
		b->rows.at[b->rows.n++] = row;
}

/* The rows anew, cut where the @n ranges begin and end, which are by address and do not overlap. */
static int shift_rows(struct builder *b, const struct range *ranges, uint32_t n)
{
	uint32_t n_old = b->rows.n, next = 0;
	struct elf_cfa_row *old = b->rows.at;
	b->rows.at = NULL;
	b->rows.n = b->rows.max = 0;
	if (!VEC_RESERVE(&b->rows, n_old + 2 * n)) {
		free(old);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n_old; i++) {
		uint64_t from = old[i].addr;
		while (next < n && ranges[next].end <= from)
			next++;
		for (uint32_t k = next; k < n && ranges[k].addr < old[i].end; k++) {
			add_piece(b, old[i], from, ranges[k].addr, 0);
			add_piece(b, old[i], ranges[k].addr, ranges[k].end, ranges[k].shift);
			from = ranges[k].end;
		}
		add_piece(b, old[i], from, UINT64_MAX, 0);
	}
	free(old);
	return 0;
}

/* Whether @block takes a return address off and returns, and its rows do not say so: those of gcc's
 * return thunks. Then in *@range its return. */
static bool returns_behind(const struct builder *b, const struct pugmark_block *block,
			   struct range *range)
{
	uint64_t ret = last_insn(b, block);
	if (block->end != PUGMARK_END_RET || block->n_insns != 2 ||
	    !decode_takes_return_off(builder_insn_bytes(b, block->insn),
				     b->insns.at[block->insn].len))
		return false;
	struct pugmark_cfa at = builder_cfa_at(b, block->addr), behind = builder_cfa_at(b, ret);
	*range = (struct range){ret, block->addr + block->size, -8};
	return at.reg == PUGMARK_CFA_SP && behind.reg == PUGMARK_CFA_SP &&
	       at.offset == behind.offset;
}

/* What `add $n,%rsp` adds, where that is more than 0; 0: it is another instruction. */
static int32_t added_to_sp(const uint8_t *insn, size_t len_bytes)
{
	static const uint8_t by_byte[] = {0x48, 0x83, 0xc4}, by_word[] = {0x48, 0x81, 0xc4};
	int32_t word;
	if (len_bytes == 4 && !memcmp(insn, by_byte, sizeof(by_byte)))
		return insn[3] & 0x80 ? 0 : insn[3];
	if (len_bytes != 7 || memcmp(insn, by_word, sizeof(by_word)))
		return 0;
	memcpy(&word, insn + 3, sizeof(word));
	return word < 0 ? 0 : word;
}

/* Whether the row that tells of an `add $n,%rsp` in @block comes late: LLVM moves the instruction
 * up, before a comparison and its jump say, and not its directive. Then in *@range what lies
 * between the two. */
static bool comes_late(const struct builder *b, const struct pugmark_block *block,
		       struct range *range)
{
	uint32_t last = block->insn + block->n_insns - 1, i = block->insn;
	while (i < last && !added_to_sp(builder_insn_bytes(b, i), b->insns.at[i].len))
		i++;
	if (i >= last)
		return false;
	int32_t added = added_to_sp(builder_insn_bytes(b, i), b->insns.at[i].len);
	struct pugmark_cfa before = builder_cfa_at(b, insn_addr(b, i)), then = before;
	uint64_t from = insn_addr(b, i + 1), to = from;
	for (; i < last && then.reg == before.reg && then.offset == before.offset; i++) {
		to = insn_addr(b, i + 1);
		then = builder_cfa_at(b, to);
	}
	if (then.reg == before.reg && then.offset == before.offset) {
		to = block->addr + block->size;
		then = builder_cfa_at(b, to);
	}
	*range = (struct range){from, to, -added};
	return to > from && before.reg == PUGMARK_CFA_SP && then.reg == PUGMARK_CFA_SP &&
	       before.offset - then.offset == added;
}

/* Comes before the rest, which takes the heights at jumps from these rows. */
static int shift_late(struct builder *b)
{
	struct range late;
	uint32_t n = 0;
	for (uint32_t i = 0; i < b->blocks.n; i++)
		n += comes_late(b, &b->blocks.at[i], &late);
	struct range *ranges = n ? malloc(n * sizeof(*ranges)) : NULL;
	if (!ranges)
		return n ? -ENOMEM : 0;
	n = 0;
	for (uint32_t i = 0; i < b->blocks.n; i++)
		if (comes_late(b, &b->blocks.at[i], &late))
			ranges[n++] = late;
	qsort(ranges, n, sizeof(*ranges), compare_ranges);
	int err = shift_rows(b, ranges, n);
	free(ranges);
	return err;
}

static int shift_all(const struct stale *s)
{
	struct builder *b = s->b;
	struct range behind;
	uint32_t n = 0;
	for (uint32_t i = 0; i < b->blocks.n; i++)
		n += s->shift[i] || returns_behind(b, &b->blocks.at[i], &behind);
	struct range *ranges = n ? malloc(n * sizeof(*ranges)) : NULL;
	if (!ranges)
		return n ? -ENOMEM : 0;
	n = 0;
	for (uint32_t i = 0; i < b->blocks.n; i++)
		if (s->shift[i])
			ranges[n++] = (struct range){b->blocks.at[i].addr,
						     b->blocks.at[i].addr + b->blocks.at[i].size,
						     s->shift[i]};
		else if (returns_behind(b, &b->blocks.at[i], &behind))
			ranges[n++] = behind;
	qsort(ranges, n, sizeof(*ranges), compare_ranges);
	int err = shift_rows(b, ranges, n);
	free(ranges);
	return err;
}

int stale_rows_correct(struct builder *b)
{
	struct stale s = {
		.b = b,
		.height = calloc((size_t)b->blocks.n + 1, sizeof(*s.height)),
		.shift = calloc((size_t)b->blocks.n + 1, sizeof(*s.shift)),
	};
	int err = s.height && s.shift ? shift_late(b) : -ENOMEM;
	for (uint32_t i = 0; i < b->funcs.n && !err; i++) {
		const struct pugmark_func *f = &b->funcs.at[i];
		s.grew = !(f->flags & (PUGMARK_FUNC_NO_CFI | PUGMARK_FUNC_OPEN_JUMP));
		for (int round = 0; s.grew && round < MAX_ROUNDS; round++) {
			s.grew = false;
			look_at_function(&s, f);
		}
	}
	if (!err)
		err = shift_all(&s);
	free(s.height);
	free(s.shift);
	return err;
}
