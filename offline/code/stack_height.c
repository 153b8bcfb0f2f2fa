// SPDX-License-Identifier: LGPL-2.1-or-later
/* stack_height.c: the height of the stack at each site: CFA - sp. Where the CFA rule is sp plus a
 * constant, the constant is the height. Elsewhere (frames with rbp; code without an FDE) the
 * distances CFA - sp and CFA - rbp are followed forwards from the entry, where sp is CFA - 8,
 * through pushes, pops and arithmetic with constants. A rule that is met on the way replaces what
 * was followed. Where paths disagree the height is unknown, and so it is after alloca. For code
 * without an FDE, what is found becomes its CFA rules. */
#include "offline/base/search.h"
#include "offline/code/builder.h"
#include "offline/code/receivers.h"
#include "offline/code/semantics.h"

#include <errno.h>
#include <string.h>

enum { UNSET = INT32_MIN + 1, UNKNOWN = PUGMARK_HEIGHT_UNKNOWN, LIMIT = 1 << 30 };

/* CFA - sp and CFA - rbp just before an instruction. */
struct state {
	int32_t sp, bp;
};

struct tracker {
	struct builder *b;
	ZydisDecoder decoder;
	struct state *in; /* by block of the module: on entry to it */
	uint32_t *todo;	  /* blocks to go through again */
	uint8_t *queued;  /* by block */
	uint32_t n_todo;
	const struct pugmark_func *receives; /* that with __builtin_setjmp, or NULL */
	bool make_rows;
	VEC(struct elf_cfa_row) rows; /* of code without an FDE */
};

static int32_t shifted(int32_t value, int64_t by)
{
	if (value == UNKNOWN || value == UNSET || by > LIMIT || by < -LIMIT)
		return UNKNOWN;
	int64_t sum = value + by;
	return sum > LIMIT || sum < -LIMIT ? UNKNOWN : (int32_t)sum;
}

static int32_t met(int32_t a, int32_t b)
{
	if (a == UNSET)
		return b;
	return b == UNSET || a == b ? a : UNKNOWN;
}

/* What one instruction does to the two registers. */
static struct state after(const struct sem *sem, struct state s)
{
	struct state out = s;
	if (sem->op == SEM_CALL)
		return s;
	if (sem_writes(sem, REG_SP))
		out.sp = UNKNOWN;
	if (sem_writes(sem, REG_BP))
		out.bp = UNKNOWN;
	uint8_t from = sem->op == SEM_COPY ? sem->src : sem->base;
	int32_t source = from == REG_SP ? s.sp : from == REG_BP ? s.bp : UNKNOWN;
	int32_t *to = sem->dst == REG_SP ? &out.sp : sem->dst == REG_BP ? &out.bp : NULL;
	switch (sem->op) {
	case SEM_PUSH:
		out.sp = shifted(s.sp, sem->size);
		break;
	case SEM_POP:
		if (sem->dst != REG_SP)
			out.sp = shifted(s.sp, -(int64_t)sem->size);
		break;
	case SEM_LEAVE:
		out.sp = shifted(s.bp, -8);
		break;
	case SEM_ADD_IMM:
		if (to)
			*to = shifted(sem->dst == REG_SP ? s.sp : s.bp, -sem->value);
		break;
	case SEM_COPY:
		if (to && sem->size == 8)
			*to = source;
		break;
	case SEM_LEA:
		if (to && sem->index == REG_NONE && sem->size == 8)
			*to = shifted(source, -sem->disp);
		break;
	}
	return out;
}

/* Whether the instruction may write rsp or rbp, by a quick look at its bytes: a no is certain, and
 * saves most of the decoding. */
static bool may_move_frame(const uint8_t *bytes, uint8_t len)
{
	uint8_t i = 0, rex = 0;
	for (; i + 1 < len; i++) {
		uint8_t b = bytes[i];
		if ((b & 0xf0) == 0x40)
			rex = b;
		else if (b != 0x66 && b != 0x67 && b != 0xf0 && b != 0xf2 && b != 0xf3 &&
			 (b & 0xe7) != 0x26 && (b & 0xfe) != 0x64)
			break;
	}
	uint8_t opcode = bytes[i++];
	if (opcode == 0x0f) {
		opcode = i < len ? bytes[i++] : 0;
		if ((opcode & 0xf8) == 0xc8) /* bswap */
			return true;
		if (opcode == 0x38 || opcode == 0x3a)
			i++;
	} else {
		bool stack = (opcode & 0xf0) == 0x50 || opcode == 0x68 || opcode == 0x6a ||
			     opcode == 0x8f || opcode == 0xff || (opcode & 0xfe) == 0x9c ||
			     (opcode & 0xfe) == 0xc8;
		bool vex = (opcode & 0xfe) == 0xc4 || opcode == 0x62;
		bool names =
			((opcode & 0xf0) == 0xb0 || (opcode & 0xf8) == 0x90) && (opcode & 6) == 4;
		if (stack || vex || names)
			return true;
	}
	if (i >= len)
		return false;
	uint8_t modrm = bytes[i];
	bool reg = !(rex & 4) && (modrm >> 3 & 6) == 4;
	bool rm = !(rex & 1) && modrm >= 0xc0 && (modrm & 6) == 4;
	return reg || rm;
}

static uint32_t first_row(const struct builder *b, uint64_t addr)
{
	uint32_t low = SEARCH_FIRST_NOT(0, b->rows.n, i, b->rows.at[i].end <= addr);
	return low;
}

static void correct(const struct builder *b, uint32_t row, uint64_t addr, struct state *s)
{
	if (row >= b->rows.n || addr < b->rows.at[row].addr)
		return;
	struct pugmark_cfa cfa = b->rows.at[row].cfa;
	if (cfa.reg == PUGMARK_CFA_SP)
		s->sp = cfa.offset;
	else if (cfa.reg == PUGMARK_CFA_BP)
		s->bp = cfa.offset;
}

/* Extends the last row, or starts the next, with the state before an instruction. */
static int add_row(struct tracker *t, uint64_t addr, uint64_t end, struct state s)
{
	struct elf_cfa_row row = {.addr = addr, .end = end};
	if (s.sp != UNKNOWN && s.sp != UNSET)
		row.cfa = (struct pugmark_cfa){PUGMARK_CFA_SP, PUGMARK_BP_UNKNOWN, s.sp};
	else if (s.bp != UNKNOWN && s.bp != UNSET)
		row.cfa = (struct pugmark_cfa){PUGMARK_CFA_BP, PUGMARK_BP_UNKNOWN, s.bp};
	else
		return 0;
	struct elf_cfa_row *last = t->rows.n ? &t->rows.at[t->rows.n - 1] : NULL;
	if (last && last->end == addr && last->cfa.reg == row.cfa.reg &&
	    last->cfa.offset == row.cfa.offset) {
		last->end = end;
		return 0;
	}
	return VEC_PUSH(&t->rows, row) ? 0 : -ENOMEM;
}

static void flow_into(struct tracker *t, uint32_t block, struct state s)
{
	struct state *in = &t->in[block];
	struct state sum = {met(in->sp, s.sp), met(in->bp, s.bp)};
	if (sum.sp == in->sp && sum.bp == in->bp)
		return;
	*in = sum;
	if (!t->queued[block])
		t->todo[t->n_todo++] = block;
	t->queued[block] = 1;
}

/* Where __builtin_longjmp comes back to, both registers are as they are at @insn, which stores that
 * address. */
static void flow_into_receivers(struct tracker *t, uint32_t insn, struct state s)
{
	const struct builder *b = t->b;
	const struct pugmark_func *f = t->receives;
	uint64_t addr = receivers_pointer_made(t->b, insn);
	for (uint32_t k = f->block; addr && k < f->block + f->n_blocks; k++)
		if (b->blocks.at[k].addr == addr && block_is_receiver(&b->blocks.at[k]))
			flow_into(t, k, s);
}

/* Whether the call @site is a jump behind a push: what was pushed is the callee's return address.
 */
static bool calls_by_jump(const struct builder *b, const struct pugmark_site *site)
{
	return site->kind == PUGMARK_SITE_CALL &&
	       b->insns.at[insn_at(b, site->addr)].kind == PUGMARK_INSN_JMP_IND;
}

/* Follows the state through a block. Sets its site's height; sets *pushed if arguments are on the
 * stack at its end, which an unwinder takes off. */
static int walk_block(struct tracker *t, uint32_t block, struct state *s, bool *pushed)
{
	struct builder *b = t->b;
	const struct pugmark_block *at = &b->blocks.at[block];
	uint32_t row = first_row(b, at->addr), last = at->insn + at->n_insns - 1;
	int err = 0;
	*s = t->in[block];
	*pushed = false;
	for (uint32_t insn = at->insn; insn <= last && !err; insn++) {
		uint64_t addr = insn_addr(b, insn);
		const struct pugmark_insn *i = &b->insns.at[insn];
		while (row < b->rows.n && b->rows.at[row].end <= addr)
			row++;
		correct(b, row, addr, s);
		if (t->make_rows)
			err = add_row(t, addr, addr + i->len, *s);
		if (insn == last && at->site != PUGMARK_NONE) {
			struct pugmark_site *site = &b->sites.at[at->site];
			if (calls_by_jump(b, site))
				s->sp = shifted(s->sp, -8);
			site->height = s->sp == UNSET ? UNKNOWN : s->sp;
		}
		if (t->receives)
			flow_into_receivers(t, insn, *s);
		struct sem sem;
		const uint8_t *bytes = builder_insn_bytes(b, insn);
		if (insn_is_jumping_call(i, bytes))
			s->sp = shifted(s->sp, 8); /* what it jumps to takes that off */
		if (i->kind != PUGMARK_INSN_OTHER || !may_move_frame(bytes, i->len))
			continue; /* calls and jumps leave both registers as they are */
		if (!sem_decode(&t->decoder, bytes, i->len, addr, &sem)) {
			*s = (struct state){UNKNOWN, UNKNOWN};
			continue;
		}
		if (sem_writes(&sem, REG_SP))
			*pushed = sem.op == SEM_PUSH;
		*s = after(&sem, *s);
	}
	return err;
}

static int track_function(struct tracker *t, const struct pugmark_func *f)
{
	struct builder *b = t->b;
	int err = 0;
	bool pushed;
	struct state s;
	t->receives = NULL;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		t->in[i] = (struct state){UNSET, UNSET};
		if (block_is_receiver(&b->blocks.at[i]))
			t->receives = f;
	}
	flow_into(t, f->block, (struct state){8, UNKNOWN});
	while (t->n_todo && !err) {
		uint32_t block = t->todo[--t->n_todo];
		const struct pugmark_block *at = &b->blocks.at[block];
		t->queued[block] = 0;
		err = walk_block(t, block, &s, &pushed);
		for (uint32_t k = 0; k < at->n_edges; k++) {
			const struct pugmark_edge *edge = &b->edges.at[at->edge + k];
			struct state to = s;
			if (edge->kind == PUGMARK_EDGE_UNWIND && pushed)
				to.sp = UNKNOWN;
			flow_into(t, edge->to, to);
		}
	}
	if (!(f->flags & PUGMARK_FUNC_NO_CFI))
		return err;
	t->make_rows = true;
	for (uint32_t i = f->block; i < f->block + f->n_blocks && !err; i++)
		err = walk_block(t, i, &s, &pushed);
	t->make_rows = false;
	return err;
}

/* Takes the heights from the CFA rules alone; false if one is missing. */
static bool take_heights(struct builder *b, const struct pugmark_func *f)
{
	bool all = true;
	for (uint32_t i = f->site; i < f->site + f->n_sites; i++) {
		struct pugmark_cfa cfa = builder_cfa_at(b, b->sites.at[i].addr);
		b->sites.at[i].height = cfa.reg == PUGMARK_CFA_SP ? cfa.offset : UNKNOWN;
		all &= cfa.reg == PUGMARK_CFA_SP;
	}
	return all;
}

static int compare_rows(const void *a, const void *b)
{
	const struct elf_cfa_row *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int merge_rows(struct tracker *t)
{
	struct builder *b = t->b;
	uint32_t more = t->rows.n;
	addr_index_deinit(&b->row_index); /* the model makes its own */
	if (!VEC_RESERVE(&b->rows, more))
		return -ENOMEM;
	if (more)
		qsort(t->rows.at, more, sizeof(*t->rows.at), compare_rows);
	uint32_t to = b->rows.n + more, from = b->rows.n;
	b->rows.n = to;
	while (more) {
		if (from && b->rows.at[from - 1].addr > t->rows.at[more - 1].addr)
			b->rows.at[--to] = b->rows.at[--from];
		else
			b->rows.at[--to] = t->rows.at[--more];
	}
	return 0;
}

int stack_height_solve(struct builder *b)
{
	struct tracker t = {
		.b = b,
		.in = calloc((size_t)b->blocks.n + 1, sizeof(*t.in)),
		.todo = calloc((size_t)b->blocks.n + 1, sizeof(*t.todo)),
		.queued = calloc((size_t)b->blocks.n + 1, 1),
	};
	int err = t.in && t.todo && t.queued ? 0 : -ENOMEM;
	sem_decoder_init(&t.decoder);
	for (uint32_t i = 0; i < b->funcs.n && !err; i++) {
		const struct pugmark_func *f = &b->funcs.at[i];
		bool no_cfi = f->flags & PUGMARK_FUNC_NO_CFI;
		if (f->n_blocks && (!take_heights(b, f) || no_cfi))
			err = track_function(&t, f);
	}
	if (!err)
		err = merge_rows(&t);
	free(t.in);
	free(t.todo);
	free(t.queued);
	VEC_FREE(&t.rows);
	return err;
}
