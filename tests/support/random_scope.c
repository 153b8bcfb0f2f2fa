// SPDX-License-Identifier: LGPL-2.1-or-later
/* random_scope.c: see random_program.h. What -N does to the program of a binary is done here to one
 * made at random: functions lose their blocks, and leave their calls. These are at known heights:
 * else it may be that nothing tells which of two activations has called back. */
#include "tests/support/random_program.h"

#include <stdlib.h>
#include <string.h>

static void leave_calls(struct program *p, uint32_t func)
{
	const struct prog_func *f = &p->funcs[func];
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		struct prog_block *b = &p->blocks[i];
		if (b->height == PUGMARK_HEIGHT_UNKNOWN)
			b->height = 16;
		if (!(b->flags & PROG_REACHED) || b->call == CALL_NONE || b->call == CALL_LEAF)
			continue;
		bool direct = b->call == CALL_DIRECT;
		p->opaque_calls[p->n_opaque_calls++] = (struct prog_opaque_call){
			.addr = prog_call_addr(b),
			.func = func,
			.callee = direct ? b->callee : PUGMARK_NONE,
			.height = b->flags & PROG_TAIL ? 0 : b->height,
			.above_bp = PUGMARK_NONE,
			.flags = b->flags & (PROG_TAIL | PROG_NORETURN),
			.bp = PUGMARK_BP_UNKNOWN,
			.len = b->call_len,
		};
		if (direct && !(p->funcs[b->callee].flags & PROG_OPAQUE))
			p->funcs[b->callee].flags |= PROG_ENTRY_WITNESS;
	}
}

struct program *random_scope(struct program *p, uint64_t seed)
{
	struct program *whole = malloc(sizeof(*whole));
	uint32_t chance = 10 + random_below(&seed, 60);
	for (uint32_t f = 1; f < p->n_funcs; f++)
		if (random_chance(&seed, chance))
			p->funcs[f].flags |= PROG_OPAQUE;
	p->opaque_calls = calloc(p->n_blocks + 1, sizeof(*p->opaque_calls));
	for (uint32_t f = 0; f < p->n_funcs; f++)
		if (p->funcs[f].flags & PROG_OPAQUE)
			leave_calls(p, f);
	*whole = *p;
	whole->funcs = malloc(p->n_funcs * sizeof(*p->funcs));
	memcpy(whole->funcs, p->funcs, p->n_funcs * sizeof(*p->funcs));
	for (uint32_t f = 0; f < p->n_funcs; f++) {
		struct prog_func *func = &p->funcs[f];
		func->flags &= ~PROG_ENTERED_TAIL;
		if (!(func->flags & PROG_OPAQUE))
			continue;
		for (uint32_t i = 0; i < func->n_blocks; i++)
			p->blocks[func->block + i].flags &= ~PROG_REACHED;
		func->n_blocks = 0;
	}
	if (program_settle_opaque(p))
		abort();
	program_mark_entered_tails(p);
	return whole;
}

void random_scope_free(struct program *whole)
{
	free(whole->funcs);
	free(whole);
}
