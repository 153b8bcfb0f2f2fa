// SPDX-License-Identifier: LGPL-2.1-or-later
/* parser.c: makes, copies for a forked child, and releases a parser, whose state is a stack of
 * frames and a position in the innermost (state.h). Its event's way: feed.c asks what the event is,
 * first of all whether the grammar leads to it (grammar/find.c); then what was silent before it is
 * reported (grammar/derive.c, move.c, emit.c). Nothing is reported before it is known to have
 * happened. */
#include "offline/recover/parser.h"

#include "offline/recover/state/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A parser without tables is only kept, and needs none. */
static bool make_caches(struct parser *p)
{
	p->origins = calloc(ORIGINS, sizeof(*p->origins));
	p->moves = aligned_alloc(64, MOVES * sizeof(*p->moves));
	p->shortcuts = parser_shortcuts_new();
	if (!p->origins || !p->moves || !p->shortcuts)
		return false;
	for (uint32_t i = 0; i < MOVES; i++)
		p->moves[i].decision = PUGMARK_NONE;
	return true;
}

void parser_add_modules(struct parser *p, uint32_t n_modules)
{
	for (; p->n_modules < n_modules && p->n_modules < PARSER_MODULES_MAX; p->n_modules++) {
		const struct parse_tables *tables = p->tables[p->n_modules];
		p->unsure |= tables && tables->unsure_call;
	}
}

int parser_new(struct parse_tables *const *tables, const struct pugmark_plan *const *plans,
	       uint32_t n_modules, struct parser **out)
{
	struct parser *p = n_modules <= PARSER_MODULES_MAX ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return -ENOMEM;
	*p = (struct parser){
		.tables = tables,
		.plans = plans,
		.position = OUTSIDE,
		.last_hit.site = PUGMARK_NONE,
	};
	p->notes = &p->own_notes;
	parser_add_modules(p, n_modules);
	if (!make_caches(p) || !parser_grow_stack(p) || !parser_grow_interruptions(p)) {
		parser_free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

void parser_free(struct parser *p)
{
	if (!p)
		return;
	parser_forget_contexts(p);
	free(p->contexts);
	free(p->origins);
	free(p->moves);
	free(p->shortcuts);
	free(p->stack);
	free(p->interruptions);
	free(p->own_notes.settling);
	free(p->seen);
	free(p->out);
	free(p);
}

int parser_fork(const struct parser *parent, struct parse_tables *const *tables,
		struct parser **out)
{
	struct parser *p = malloc(sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = *parent;
	p->tables = tables;
	p->origins = NULL;
	p->moves = NULL;
	p->shortcuts = NULL;
	p->out = NULL;
	p->n_out = p->cap_out = 0;
	p->seen = NULL;
	p->own_notes = (struct notes){.failed = parent->notes->failed};
	p->notes = &p->own_notes;
	p->gaps = 0;
	p->lost = 0;
	p->last_hit = (struct hit){.site = PUGMARK_NONE};
	p->placed = false;
	p->begun = true;
	if (parser_copy_contexts(p, parent) || (tables && !make_caches(p))) {
		parser_free(p);
		return -ENOMEM;
	}
	/* The call that forks was made by the parent. */
	if (p->n && p->position == AT_CALL)
		p->stack[p->n - 1].announced = true;
	*out = p;
	return 0;
}

/* What was remembered while modules stayed where they are. */
static void forget_places(struct parser *p)
{
	if (p->origins)
		memset(p->origins, 0, ORIGINS * sizeof(*p->origins));
	p->notes->bottom_ret = 0;
	parser_forget_shortcuts(p);
}

void parser_set_bias(struct parser *p, uint16_t module, uint64_t bias)
{
	if (p->bias_known >> module & 1 && p->bias[module] == bias)
		return;
	p->bias[module] = bias;
	p->bias_known |= 1ull << module;
	forget_places(p);
}

void parser_forget_biases(struct parser *p)
{
	p->bias_known = 0;
	forget_places(p);
}
