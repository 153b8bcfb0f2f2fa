// SPDX-License-Identifier: LGPL-2.1-or-later
/* backslice.c: definitions and constants, backwards over the control flow. The bounds of an index
 * are in index_bound.c, what a call overwrites in callee_writes.c. */
#include "offline/code/backslice.h"

#include <errno.h>
#include <string.h>

/* FUEL: how many definitions a search may go through for each that reaches the place in question. A
 * counter in a loop is defined by itself, so without a limit it would never end. */
enum { MAX_DEPTH = 12, FUEL = 32, MODULE_BUDGET = 60 * 1000 * 1000 };

int backslice_begin(struct backslice *s, struct builder *b)
{
	s->b = b;
	s->budget = MODULE_BUDGET;
	sem_decoder_init(&s->decoder);
	if (!s->sem_of_insn)
		s->sem_of_insn = calloc((size_t)b->insns.n + 1, sizeof(*s->sem_of_insn));
	free(s->callee);
	s->callee = calloc((size_t)b->funcs.n + 1, sizeof(*s->callee));
	bool ok = s->sem_of_insn && s->callee;
	ok = ok && (s->sems.n || VEC_PUSH(&s->sems, (struct sem){0}));
	return ok ? 0 : -ENOMEM;
}

void backslice_deinit(struct backslice *s)
{
	free(s->pred_first);
	free(s->preds);
	free(s->stamp);
	free(s->sem_of_insn);
	free(s->callee);
	VEC_FREE(&s->sems);
}

static int make_room(struct backslice *s, uint32_t n_blocks, uint32_t n_edges)
{
	if (n_blocks >= s->max_blocks) {
		free(s->pred_first);
		free(s->stamp);
		s->max_blocks = n_blocks * 2 + 64;
		s->pred_first = calloc(s->max_blocks + 2, sizeof(*s->pred_first));
		s->stamp = calloc(s->max_blocks + 1, sizeof(*s->stamp));
		s->now = 0;
	}
	if (n_edges >= s->max_preds) {
		free(s->preds);
		s->max_preds = n_edges * 2 + 64;
		s->preds = calloc(s->max_preds, sizeof(*s->preds));
	}
	return s->pred_first && s->stamp && s->preds ? 0 : -ENOMEM;
}

int backslice_enter(struct backslice *s, struct cfg *flow)
{
	uint32_t n = flow->blocks.n;
	s->flow = flow;
	if (!VEC_RESERVE(&flow->stack, n + 1) || make_room(s, n, flow->edges.n))
		return -ENOMEM;
	memset(s->pred_first, 0, (n + 2) * sizeof(*s->pred_first));
	for (uint32_t i = 0; i < flow->edges.n; i++)
		s->pred_first[flow->edges.at[i].to + 2]++;
	for (uint32_t i = 0; i < n; i++)
		s->pred_first[i + 2] += s->pred_first[i + 1];
	/* While this is filled, pred_first[to + 1] is where the next predecessor goes; in the end
	 * it is where the next block's begin. */
	for (uint32_t from = 0; from < n; from++) {
		const struct pugmark_block *block = &flow->blocks.at[from];
		for (uint32_t k = 0; k < block->n_edges; k++) {
			const struct pugmark_edge *edge = &flow->edges.at[block->edge + k];
			s->preds[s->pred_first[edge->to + 1]++] =
				(struct pugmark_edge){from, edge->kind};
		}
	}
	return 0;
}

enum effect { KEEPS, DEFINES, SPOILS };

/* What the instruction @insn does to @loc. Stores elsewhere are taken not to reach it: a compiler
 * keeps the address of a spill slot or of a switch's operand to itself. */
static enum effect effect_on(struct backslice *s, uint32_t insn, const struct sem *sem,
			     struct loc loc)
{
	if (!loc.memory) {
		if (!sem_writes(sem, loc.reg))
			return KEEPS;
		if (sem->op != SEM_CALL)
			return DEFINES;
		return backslice_call_writes(s, insn) >> loc.reg & 1 ? SPOILS : KEEPS;
	}
	if (sem->op == SEM_STORE && sem->index == REG_NONE && sem->base == loc.reg &&
	    sem->disp == loc.disp)
		return DEFINES;
	bool on_stack = loc.reg == REG_SP || loc.reg == REG_BP;
	if (sem->op == SEM_CALL)
		return on_stack ? KEEPS : SPOILS;
	return sem_writes(sem, loc.reg) ? SPOILS : KEEPS;
}

/* Puts the predecessors of @block on the stack of blocks that are still to be searched, from their
 * end. The stack is the CFG's scratch. */
static bool push_preds(struct backslice *s, uint32_t block, uint32_t *n)
{
	uint32_t first = s->pred_first[block], end = s->pred_first[block + 1];
	s->budget -= s->budget < end - first ? s->budget : end - first;
	for (uint32_t i = first; i < end; i++) {
		uint32_t from = s->preds[i].to;
		if (s->stamp[from] == s->now)
			continue;
		s->stamp[from] = s->now;
		s->flow->stack.at[(*n)++] = from;
	}
	return block != 0; /* what an entry starts with is its caller's */
}

/* Searches one block from @at upwards: 1 found, 0 not in this block, -1 spoilt. */
static int scan_block(struct backslice *s, struct loc loc, struct place at, struct place *def)
{
	uint32_t first = s->flow->blocks.at[at.block].insn;
	for (uint32_t insn = at.insn; insn-- > first;) {
		const struct sem *sem = backslice_sem(s, insn);
		if (!sem || !s->budget)
			return -1;
		s->budget--;
		enum effect effect = effect_on(s, insn, sem, loc);
		if (effect == KEEPS)
			continue;
		*def = (struct place){at.block, insn};
		return effect == DEFINES ? 1 : -1;
	}
	return 0;
}

uint32_t backslice_defs(struct backslice *s, struct loc loc, struct place at, struct place *defs)
{
	uint32_t n_defs = 0, n = 0;
	int found = scan_block(s, loc, at, defs);
	if (found)
		return found > 0;
	s->now++;
	if (!push_preds(s, at.block, &n) && !s->loose)
		return 0;
	while (n) {
		uint32_t block = s->flow->stack.at[--n];
		const struct pugmark_block *from = &s->flow->blocks.at[block];
		struct place end = {block, from->insn + from->n_insns}, def;
		found = scan_block(s, loc, end, &def);
		bool lost = found < 0 || (!found && !push_preds(s, block, &n));
		if ((lost && !s->loose) || (found > 0 && n_defs == SLICE_MAX_DEFS) || !s->budget)
			return 0;
		if (found > 0)
			defs[n_defs++] = def;
	}
	return n_defs;
}

static bool const_at(struct backslice *s, struct loc loc, struct place at, int depth,
		     uint64_t *value);

/* The same, only where a single definition reaches @at. (What a counter adds up is not
 * followed.) */
static bool single_const_at(struct backslice *s, struct loc loc, struct place at, int depth,
			    uint64_t *value)
{
	struct place defs[SLICE_MAX_DEFS];
	return backslice_defs(s, loc, at, defs) == 1 && const_at(s, loc, at, depth, value);
}

/* The constant sum of @base, @scale times @index, of which either may be REG_NONE, and what @sem
 * adds to an address: code that may lie anywhere (the large code model) makes addresses so. */
static bool sum_const_at(struct backslice *s, const struct sem *sem, uint8_t base, uint8_t index,
			 uint8_t scale, struct place at, int depth, uint64_t *value)
{
	uint64_t x = 0, y = 0;
	if (base != REG_NONE && !single_const_at(s, (struct loc){.reg = base}, at, depth, &x))
		return false;
	if (index != REG_NONE && !single_const_at(s, (struct loc){.reg = index}, at, depth, &y))
		return false;
	*value = x + y * scale + (uint64_t)sem->disp;
	return true;
}

/* The constant that the instruction at @def gives its destination. */
static bool const_of_def(struct backslice *s, struct place def, int depth, uint64_t *value)
{
	struct sem sem = *backslice_sem(s, def.insn);
	if (!s->fuel)
		return false;
	s->fuel--;
	switch (sem.op) {
	case SEM_CONST:
		*value = (uint64_t)sem.value;
		return true;
	case SEM_COPY:
	case SEM_STORE:
		if (sem.size != 8 || sem.src == REG_NONE)
			return false;
		return const_at(s, (struct loc){.reg = sem.src}, def, depth, value);
	case SEM_LOAD:
		if (sem.size != 8 || sem.index != REG_NONE ||
		    (sem.base != REG_SP && sem.base != REG_BP))
			return false;
		return const_at(s, (struct loc){sem.base, true, sem.disp}, def, depth, value);
	case SEM_ADD_IMM:
		if (!single_const_at(s, (struct loc){.reg = sem.dst}, def, depth, value))
			return false;
		*value += (uint64_t)sem.value;
		return true;
	case SEM_ADD:
		return sem.size == 8 &&
		       sum_const_at(s, &sem, sem.dst, sem.src, 1, def, depth, value);
	case SEM_LEA:
		return (sem.size == 8 || sem.index == REG_NONE) &&
		       sum_const_at(s, &sem, sem.base, sem.index, sem.scale, def, depth, value);
	default:
		return false;
	}
}

/* Whether @value can be an address of this file: the small numbers that other paths leave in a
 * register are not bases of tables. */
static bool is_address(const struct backslice *s, uint64_t value)
{
	enum { HEADERS = 0x200 }; /* of an image that begins at 0, at least */
	size_t len;
	return value >= HEADERS && elf_image_bytes(s->b->image, value, &len);
}

static bool const_at(struct backslice *s, struct loc loc, struct place at, int depth,
		     uint64_t *value)
{
	struct place defs[SLICE_MAX_DEFS];
	uint64_t found[SLICE_MAX_DEFS];
	uint32_t n = depth < MAX_DEPTH ? backslice_defs(s, loc, at, defs) : 0, n_found = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t each;
		s->fuel = depth ? s->fuel : FUEL;
		bool known = const_of_def(s, defs[i], depth + 1, &each), seen = false;
		if (!known && !s->loose)
			return false;
		if (n > 1 && s->loose && known)
			known = is_address(s, each);
		for (uint32_t k = 0; k < n_found; k++)
			seen |= found[k] == each;
		if (known && !seen)
			found[n_found++] = each;
	}
	if (!n_found || (n_found > 1 && !s->loose))
		return false;
	s->n_consts = s->n_consts > n_found ? s->n_consts : n_found;
	*value = found[s->nth < n_found ? s->nth : n_found - 1];
	return true;
}

bool backslice_const(struct backslice *s, struct loc loc, struct place at, uint64_t *value)
{
	s->loose = false;
	s->nth = 0;
	return const_at(s, loc, at, 0, value);
}

bool backslice_const_made(struct backslice *s, struct place def, uint64_t *value)
{
	s->loose = false;
	s->nth = 0;
	s->fuel = FUEL;
	return const_of_def(s, def, 1, value);
}

bool backslice_const_operand(struct backslice *s, const struct sem *sem, struct place at,
			     uint64_t *addr)
{
	s->loose = false;
	s->nth = 0;
	s->fuel = FUEL;
	return sum_const_at(s, sem, sem->base, sem->index, sem->scale, at, 1, addr);
}

bool backslice_some_const(struct backslice *s, struct loc loc, struct place at, uint32_t nth,
			  uint64_t *value)
{
	s->loose = true;
	s->nth = nth;
	bool found = const_at(s, loc, at, 0, value);
	s->loose = false;
	return found;
}
