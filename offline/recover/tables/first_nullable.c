// SPDX-License-Identifier: LGPL-2.1-or-later
/* first_nullable.c: see first_nullable.h. A decision is nullable if one of its alternatives is
 * empty. An alternative is empty if it has no witness, can return, its callee is nullable, and so
 * is the decision that follows it: the least fixpoint, of the decisions that are reached in this
 * way from the one that is asked about. Of a large program a short trace asks for few. Nothing is
 * allocated for an answer. */
#include "offline/recover/tables/first_nullable.h"

#include <errno.h>
#include <stdlib.h>

enum known { UNKNOWN, SHOWS, NULLABLE };

/* An alternative that makes its decision nullable once another decision is: the next, or the
 * callee's first. */
struct waiting {
	uint32_t decision, node;
	uint32_t next; /* that waits for the same; 0: none */
};

struct first_nullable {
	const struct pugmark_plan *plan;
	uint8_t *known;	     /* enum known: of each decision; SHOWS: as long as it is looked at */
	struct waiting *all; /* from 1 */
	uint32_t *first;     /* by what is waited for */
	uint32_t *found, *todo; /* decisions: nullable, and still to be looked at */
	uint32_t n, n_found, n_todo;
};

int first_nullable_new(const struct pugmark_plan *plan, struct first_nullable **out)
{
	struct first_nullable *s = calloc(1, sizeof(*s));
	uint64_t n = 0, n_decisions = plan->n_decisions + 1ull;
	if (!s)
		return -ENOMEM;
	for (uint32_t d = 0; d < plan->n_decisions; d++)
		n += plan->decisions[d].n;
	s->plan = plan;
	if (n < UINT32_MAX) { /* as in all plans that were made */
		s->known = calloc(n_decisions, sizeof(*s->known));
		s->all = malloc((n + 1) * sizeof(*s->all));
		s->first = calloc(n_decisions, sizeof(*s->first));
		s->found = malloc(n_decisions * sizeof(*s->found));
		s->todo = malloc(n_decisions * sizeof(*s->todo));
	}
	if (!s->known || !s->all || !s->first || !s->found || !s->todo) {
		first_nullable_free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void first_nullable_free(struct first_nullable *s)
{
	if (!s)
		return;
	free(s->known);
	free(s->all);
	free(s->first);
	free(s->found);
	free(s->todo);
	free(s);
}

/* What @n waits for; PUGMARK_NONE: nothing. */
static uint32_t waits_for(const struct first_nullable *s, const struct pugmark_plan_node *n)
{
	if (n->kind == PUGMARK_NODE_KIND_CALL) {
		uint32_t entry = s->plan->funcs[n->callee].entry;
		if (entry != PUGMARK_NONE && s->known[entry] != NULLABLE)
			return entry;
	}
	return parse_leaves(n) || s->known[pugmark_node_next(n)] == NULLABLE ? PUGMARK_NONE
									     : pugmark_node_next(n);
}

static void look_at(struct first_nullable *s, uint32_t waiting)
{
	struct waiting *w = &s->all[waiting];
	if (s->known[w->decision] == NULLABLE)
		return;
	uint32_t by = waits_for(s, &s->plan->nodes[w->node]);
	if (by == PUGMARK_NONE) {
		s->known[w->decision] = NULLABLE;
		s->found[s->n_found++] = w->decision;
		return;
	}
	if (s->known[by] == UNKNOWN) {
		s->known[by] = SHOWS;
		s->todo[s->n_todo++] = by;
	}
	w->next = s->first[by];
	s->first[by] = waiting;
}

/* Looks at each alternative that has no witness and can return. */
static void look_at_all(struct first_nullable *s, uint32_t decision)
{
	const struct pugmark_plan_decision *d = &s->plan->decisions[decision];
	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t node = s->plan->alternatives[d->first + i];
		const struct pugmark_plan_node *n = &s->plan->nodes[node];
		if (n->site != PUGMARK_NONE || n->flags & PUGMARK_NODE_NORETURN ||
		    (!parse_leaves(n) && pugmark_node_next(n) == PUGMARK_NONE))
			continue;
		s->all[++s->n] = (struct waiting){decision, node, 0};
		look_at(s, s->n);
	}
}

bool first_nullable_decision(struct first_nullable *s, uint32_t decision)
{
	if (s->known[decision] != UNKNOWN)
		return s->known[decision] == NULLABLE;
	s->known[decision] = SHOWS;
	s->todo[s->n_todo++] = decision;
	s->n = 0;
	while (s->n_todo || s->n_found) {
		if (!s->n_found) {
			look_at_all(s, s->todo[--s->n_todo]);
			continue;
		}
		for (uint32_t w = s->first[s->found[--s->n_found]], next; w; w = next) {
			next = s->all[w].next;
			look_at(s, w);
		}
	}
	return s->known[decision] == NULLABLE;
}
