// SPDX-License-Identifier: LGPL-2.1-or-later
/* maybe_taken.c: functions that somebody must call, since they are there, though no call, jump,
 * pointer or name leads to them: their addresses are then made of something that is not read as
 * one. What data may say is data_hints.c's.
 *
 * A function is explained if it is entered from outside (by its address or its name), or called by
 * one that is. Of those that are not, the ones that no other function calls are marked, which
 * explains what they call; what is left then calls itself in circles, and all of it is marked. */
#include "offline/code/maybe_taken.h"

#include "offline/code/builder.h"

#include <errno.h>
#include <stdlib.h>

struct callers {
	struct builder *b;
	bool *explained, *called; /* per function; @called: by another one */
	uint32_t *stack;
};

/* The function of this module that the call or jump at @site leads to, or PUGMARK_NONE. */
static uint32_t callee_of(struct builder *b, const struct pugmark_site *site)
{
	if (site->target != PUGMARK_NONE || site->import == PUGMARK_NONE)
		return site->target;
	uint64_t local = elf_image_import_local(b->image)[site->import];
	return local ? builder_func_starting(b, local) : PUGMARK_NONE;
}

static void explain(struct callers *c, uint32_t func)
{
	uint32_t n = 0;
	if (c->explained[func])
		return;
	c->explained[func] = true;
	c->stack[n++] = func;
	while (n) {
		const struct pugmark_func *f = &c->b->funcs.at[c->stack[--n]];
		for (uint32_t i = f->site; i < f->site + f->n_sites; i++) {
			uint32_t callee = callee_of(c->b, &c->b->sites.at[i]);
			if (callee == PUGMARK_NONE || c->explained[callee])
				continue;
			c->explained[callee] = true;
			c->stack[n++] = callee;
		}
	}
}

/* Whether it is what an assembler has put before another function: its FDE may begin there. */
static bool only_fills(const struct builder *b, const struct pugmark_func *f)
{
	const struct pugmark_block *block = &b->blocks.at[f->block];
	bool fills = f->n_blocks == 1;
	for (uint32_t i = 0; fills && i < block->n_insns; i++)
		fills = builder_is_padding(b, insn_addr(b, block->insn + i));
	return fills;
}

static void mark_unexplained(struct callers *c)
{
	const uint32_t entered = PUGMARK_FUNC_ADDRESS_TAKEN | PUGMARK_FUNC_MAYBE_TAKEN |
				 PUGMARK_FUNC_EXPORTED | PUGMARK_FUNC_IFUNC |
				 PUGMARK_FUNC_SIGNAL_FRAME;
	struct builder *b = c->b;
	for (uint32_t i = 0; i < b->sites.n; i++) {
		uint32_t callee = callee_of(b, &b->sites.at[i]);
		if (callee != PUGMARK_NONE)
			c->called[callee] |= b->sites.at[i].func != callee;
	}
	for (uint32_t f = 0; f < b->funcs.n; f++)
		if (b->funcs.at[f].flags & entered)
			explain(c, f);
	for (int circles = 0; circles < 2; circles++)
		for (uint32_t f = 0; f < b->funcs.n; f++) {
			if (c->explained[f] || (c->called[f] && !circles))
				continue;
			if (!only_fills(b, &b->funcs.at[f]))
				b->funcs.at[f].flags |= PUGMARK_FUNC_UNCALLED;
			if (!circles)
				explain(c, f);
		}
}

int maybe_taken_find(struct builder *b)
{
	struct callers c = {
		.b = b,
		.explained = calloc((size_t)b->funcs.n + 1, sizeof(bool)),
		.called = calloc((size_t)b->funcs.n + 1, sizeof(bool)),
		.stack = calloc((size_t)b->funcs.n + 1, sizeof(uint32_t)),
	};
	int err = c.explained && c.called && c.stack ? data_hints_find(b) : -ENOMEM;
	if (!err)
		mark_unexplained(&c);
	free(c.explained);
	free(c.called);
	free(c.stack);
	return err;
}
