// SPDX-License-Identifier: LGPL-2.1-or-later
/* noreturn.c: calls that never return. It begins with the imports that elf_libc.c knows by name. A
 * function of this module never returns if it can reach no return, no tail jump to a function that
 * may return, and no open jump. This is the least fixpoint: a function is taken to return until it
 * is shown not to. */
#include "offline/code/builder.h"

#include <errno.h>
#include <string.h>

/* Names that only the C library and Go's runtime give to functions of their own. mcall continues on
 * another stack until somebody jumps back behind the call; deferproc returns a second time where a
 * panic was recovered. */
static const struct {
	const char *name;
	uint8_t flags;
} own_seeds[] = {
	{"__libc_longjmp", PUGMARK_SITE_NORETURN},
	{"__libc_siglongjmp", PUGMARK_SITE_NORETURN},
	{"__longjmp", PUGMARK_SITE_NORETURN},
	{"__longjmp_chk", PUGMARK_SITE_NORETURN},
	{"__setjmp", PUGMARK_SITE_RETURNS_TWICE},
	{"__sigsetjmp", PUGMARK_SITE_RETURNS_TWICE},
	{"__vfork", PUGMARK_SITE_RETURNS_TWICE},
	{"____longjmp_chk", PUGMARK_SITE_NORETURN},
	{"_longjmp", PUGMARK_SITE_NORETURN},
	{"_setjmp", PUGMARK_SITE_RETURNS_TWICE},
	{"longjmp", PUGMARK_SITE_NORETURN},
	{"setjmp", PUGMARK_SITE_RETURNS_TWICE},
	{"siglongjmp", PUGMARK_SITE_NORETURN},
	{"vfork", PUGMARK_SITE_RETURNS_TWICE},
	{"runtime.deferproc", PUGMARK_SITE_RETURNS_TWICE},
	{"runtime.deferprocStack", PUGMARK_SITE_RETURNS_TWICE},
	{"runtime.mcall", PUGMARK_SITE_RETURNS_TWICE},
};

static bool is_bytes(const struct builder *b, uint32_t insn, const char *bytes, uint8_t n)
{
	return b->insns.at[insn].len >= n && !memcmp(builder_insn_bytes(b, insn), bytes, n);
}

/* Whether @insn begins setjmp's code: it stores rbx, and further on its caller's rsp and the return
 * address, as in glibc and musl. */
static bool is_setjmp(const struct builder *b, uint32_t insn)
{
	bool sp = false, ip = false;
	if (!is_bytes(b, insn, "\x48\x89\x1f", 3)) /* mov %rbx,(%rdi) */
		return false;
	for (uint32_t i = insn + 1; i < b->insns.n && i < insn + 32; i++) {
		const struct pugmark_insn *at = &b->insns.at[i];
		const uint8_t *bytes = builder_insn_bytes(b, i);
		if (at->kind != PUGMARK_INSN_OTHER || at->off != at[-1].off + at[-1].len)
			break;
		if (at->len < 4 || bytes[0] != 0x48 || bytes[3] != 0x24)
			continue;
		/* lea 8(%rsp),REG and mov (%rsp),REG */
		sp |= at->len == 5 && bytes[1] == 0x8d && (bytes[2] & 0xc7) == 0x44 &&
		      bytes[4] == 8;
		ip |= at->len == 4 && bytes[1] == 0x8b && (bytes[2] & 0xc7) == 4;
	}
	return sp && ip;
}

/* The function that begins with @insn returns twice. */
static void seed_twice(struct builder *b, uint32_t insn)
{
	if (insn && is_bytes(b, insn - 1, "\xf3\x0f\x1e\xfa", 4)) /* endbr64 */
		insn--;
	rankmap_set(&b->returns_twice, b->insns.at[insn].off);
}

static bool goes_to_setjmp(const struct builder *b, uint32_t insn, uint8_t kind)
{
	uint64_t to = b->insns.at[insn].kind == kind ? builder_insn_target(b, insn) : 0;
	return to && in_text(b, to) && rankmap_has(&b->returns_twice, to - b->text_addr);
}

/* musl's sigsetjmp, which calls setjmp at @insn: it looks whether to keep the signal mask and takes
 * its return address off the stack, into the buffer, before. Where it begins, or PUGMARK_NONE. */
static uint32_t sigsetjmp_around(const struct builder *b, uint32_t insn)
{
	enum { BETWEEN = 4 };
	for (uint32_t i = insn; i > 2 && insn - i < BETWEEN; i--)
		if (is_bytes(b, i - 1, "\x8f\x47", 2) && /* pop N(%rdi) */
		    is_bytes(b, i - 3, "\x85\xf6", 2))	 /* test %esi,%esi */
			return i - 3;
	return PUGMARK_NONE;
}

/* Finds setjmp by its code, where there are no names; and the function in front of it that says
 * whether to keep the signal mask and jumps to it, or keeps it. longjmp is found by cfg.c. */
static void seed_by_code(struct builder *b)
{
	bool found = false;
	for (uint32_t i = 0; i < b->insns.n; i++)
		if (is_setjmp(b, i)) {
			seed_twice(b, i);
			found = true;
		}
	for (uint32_t i = 1; found && i < b->insns.n; i++) {
		uint32_t begin = goes_to_setjmp(b, i, PUGMARK_INSN_CALL) ? sigsetjmp_around(b, i)
									 : PUGMARK_NONE;
		if (begin != PUGMARK_NONE)
			seed_twice(b, begin);
		if (goes_to_setjmp(b, i, PUGMARK_INSN_JMP) &&
		    (is_bytes(b, i - 1, "\x31\xf6", 2) || is_bytes(b, i - 1, "\xbe", 1)))
			seed_twice(b, i - 1);
	}
}

void noreturn_seed(struct builder *b)
{
	uint32_t n;
	const struct elf_symbol *symbols = elf_image_symbols(b->image, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (!symbols[i].code || !in_text(b, symbols[i].addr))
			continue;
		for (size_t k = 0; k < sizeof(own_seeds) / sizeof(*own_seeds); k++) {
			if (strcmp(own_seeds[k].name, symbols[i].name))
				continue;
			bool ends = own_seeds[k].flags & PUGMARK_SITE_NORETURN;
			rankmap_set(ends ? &b->noreturn : &b->returns_twice,
				    symbols[i].addr - b->text_addr);
		}
	}
	seed_by_code(b);
}

struct solver {
	struct builder *b;
	uint32_t *site_first; /* by callee: first of its sites in `sites` */
	uint32_t *sites;      /* sites grouped by callee */
	uint32_t *todo;	      /* functions to look at again */
	uint8_t *queued;
	uint8_t *seen; /* by block of the function at hand */
	uint32_t *stack;
	uint32_t n_todo;
	uint64_t budget; /* blocks left to look at; real modules need a tenth of it */
};

/* Whether control can leave the function at this block's end, and come back to its caller. */
static bool may_leave(const struct builder *b, const struct pugmark_block *block)
{
	const struct pugmark_site *site =
		block->site == PUGMARK_NONE ? NULL : &b->sites.at[block->site];
	switch (block->end) {
	case PUGMARK_END_RET:
	case PUGMARK_END_OPEN:
	case PUGMARK_END_STRAY:
		return true;
	case PUGMARK_END_JCC:
		if (block->flags & PUGMARK_BLOCK_TWO_SITES &&
		    !(site[1].flags & PUGMARK_SITE_NORETURN))
			return true;
		return site && !(site->flags & PUGMARK_SITE_NORETURN);
	case PUGMARK_END_TAIL:
	case PUGMARK_END_TABLE:
		return site && !(site->flags & PUGMARK_SITE_NORETURN);
	default:
		return false;
	}
}

/* Whether a path leads out of @func, from its entry or from a label that data holds. */
static bool may_return(struct solver *s, uint32_t func)
{
	const struct builder *b = s->b;
	const struct pugmark_func *f = &b->funcs.at[func];
	if (!f->n_blocks || !s->budget || rankmap_has(&b->returns_twice, f->addr - b->text_addr))
		return true;
	memset(s->seen, 0, f->n_blocks);
	s->budget -= s->budget < f->n_blocks / 16 ? s->budget : f->n_blocks / 16;
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->n_blocks; i++)
		if (!i || b->blocks.at[f->block + i].flags & PUGMARK_BLOCK_ADDRESS_TAKEN) {
			s->seen[i] = 1;
			s->stack[n++] = f->block + i;
		}
	while (n) {
		const struct pugmark_block *block = &b->blocks.at[s->stack[--n]];
		if (may_leave(b, block) || !s->budget)
			return true;
		s->budget--;
		for (uint32_t k = 0; k < block->n_edges; k++) {
			const struct pugmark_edge *edge = &b->edges.at[block->edge + k];
			if (s->seen[edge->to - f->block] || (edge->kind == PUGMARK_EDGE_RETURN &&
							     block->end == PUGMARK_END_NORETURN))
				continue;
			s->seen[edge->to - f->block] = 1;
			s->stack[n++] = edge->to;
		}
	}
	return false;
}

static void enqueue(struct solver *s, uint32_t func)
{
	if (s->queued[func])
		return;
	s->queued[func] = 1;
	s->todo[s->n_todo++] = func;
}

/* Notes that @func never returns, and so none of the calls of it. */
static void settle(struct solver *s, uint32_t func)
{
	struct builder *b = s->b;
	b->funcs.at[func].flags |= PUGMARK_FUNC_NORETURN;
	rankmap_set(&b->noreturn, b->funcs.at[func].addr - b->text_addr);
	for (uint32_t i = s->site_first[func]; i < s->site_first[func + 1]; i++) {
		struct pugmark_site *site = &b->sites.at[s->sites[i]];
		struct pugmark_block *block = &b->blocks.at[site->block];
		site->flags |= PUGMARK_SITE_NORETURN;
		if (block->end == PUGMARK_END_CALL)
			block->end = PUGMARK_END_NORETURN;
		enqueue(s, site->func);
	}
}

/* Whether @func was shown or said not to return before. */
static bool is_settled(const struct solver *s, uint32_t func)
{
	const struct builder *b = s->b;
	return rankmap_has(&b->noreturn, b->funcs.at[func].addr - b->text_addr);
}

static void group_sites(struct solver *s)
{
	const struct builder *b = s->b;
	for (uint32_t i = 0; i < b->sites.n; i++)
		if (b->sites.at[i].target != PUGMARK_NONE)
			s->site_first[b->sites.at[i].target + 1]++;
	for (uint32_t i = 0; i < b->funcs.n; i++)
		s->site_first[i + 1] += s->site_first[i];
	/* Filling from the back leaves each first index where it belongs. */
	for (uint32_t i = 0; i < b->funcs.n; i++)
		s->todo[i] = s->site_first[i];
	for (uint32_t i = 0; i < b->sites.n; i++)
		if (b->sites.at[i].target != PUGMARK_NONE)
			s->sites[s->todo[b->sites.at[i].target]++] = i;
}

/* Takes the return edges of calls that never return out of the arrays. */
static void cut_edges(struct solver *s)
{
	struct builder *b = s->b;
	uint32_t to = 0;
	for (uint32_t i = 0; i < b->blocks.n; i++) {
		struct pugmark_block *block = &b->blocks.at[i];
		uint32_t first = to;
		for (uint32_t k = 0; k < block->n_edges; k++) {
			struct pugmark_edge edge = b->edges.at[block->edge + k];
			if (edge.kind == PUGMARK_EDGE_RETURN && block->end == PUGMARK_END_NORETURN)
				continue;
			b->edges.at[to++] = edge;
		}
		block->edge = first;
		block->n_edges = to - first;
	}
	b->edges.n = to;
	for (uint32_t i = 0; i < b->funcs.n; i++) {
		const struct pugmark_func *f = &b->funcs.at[i];
		if (!f->n_blocks)
			continue; /* there may be no blocks at all, and no array of them */
		builder_mark_reached(b->blocks.at + f->block, f->n_blocks, b->edges.at, f->block,
				     s->stack);
	}
}

int noreturn_solve(struct builder *b)
{
	struct solver s = {
		.b = b,
		.budget = (uint64_t)b->blocks.n * 64 + 4096,
		.site_first = calloc((size_t)b->funcs.n + 2, sizeof(uint32_t)),
		.sites = calloc((size_t)b->sites.n + 1, sizeof(uint32_t)),
		.todo = calloc((size_t)b->funcs.n + 1, sizeof(uint32_t)),
		.queued = calloc((size_t)b->funcs.n + 1, 1),
		.seen = calloc((size_t)b->blocks.n + 1, 1),
		.stack = calloc((size_t)b->blocks.n + 1, sizeof(uint32_t)),
	};
	bool ok = s.site_first && s.sites && s.todo && s.queued && s.seen && s.stack;
	if (ok) {
		group_sites(&s);
		for (uint32_t i = b->funcs.n; i-- > 0;)
			enqueue(&s, i);
		while (s.n_todo) {
			uint32_t func = s.todo[--s.n_todo];
			s.queued[func] = 0;
			bool done = b->funcs.at[func].flags & PUGMARK_FUNC_NORETURN;
			if (!done && (is_settled(&s, func) || !may_return(&s, func)))
				settle(&s, func);
		}
		cut_edges(&s);
	}
	free(s.site_first);
	free(s.sites);
	free(s.todo);
	free(s.queued);
	free(s.seen);
	free(s.stack);
	return ok ? 0 : -ENOMEM;
}
