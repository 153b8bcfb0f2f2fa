// SPDX-License-Identifier: LGPL-2.1-or-later
/* callgraph.c: Tarjan's strongly connected components of the direct calls, with an explicit stack,
 * since call graphs are deep. Components come out callees first, which is the order in which
 * witnesses are chosen. Within a component functions come in the order in which the search leaves
 * them: so a call of a function that is not before its caller is a back edge of the search. */
#include "offline/program/callgraph.h"

#include <errno.h>
#include <stdlib.h>

struct visit {
	uint32_t func, block; /* next block of func to look at */
};

struct tarjan {
	const struct program *prog;
	uint32_t *index, *low, *order, *component;
	uint32_t *stack; /* left, and in no component yet */
	struct visit *visits;
	uint32_t n_stack, n_visits, n_order, n_components, next;
};

static void enter(struct tarjan *t, uint32_t func)
{
	t->index[func] = t->low[func] = ++t->next;
	t->visits[t->n_visits++] = (struct visit){func, t->prog->funcs[func].block};
}

static void leave(struct tarjan *t, uint32_t func)
{
	t->stack[t->n_stack++] = func;
	if (t->low[func] == t->index[func]) {
		uint32_t first = t->n_stack;
		while (first && t->index[t->stack[first - 1]] >= t->index[func])
			first--;
		for (uint32_t i = first; i < t->n_stack; i++) {
			t->component[t->stack[i]] = t->n_components;
			t->order[t->n_order++] = t->stack[i];
		}
		t->n_stack = first;
		t->n_components++;
	}
	t->n_visits--;
	if (t->n_visits) {
		uint32_t parent = t->visits[t->n_visits - 1].func;
		if (t->low[func] < t->low[parent])
			t->low[parent] = t->low[func];
	}
}

static void visit_from(struct tarjan *t, uint32_t root)
{
	enter(t, root);
	while (t->n_visits) {
		struct visit *v = &t->visits[t->n_visits - 1];
		const struct prog_func *f = &t->prog->funcs[v->func];
		if (v->block == f->block + f->n_blocks) {
			leave(t, v->func);
			continue;
		}
		const struct prog_block *b = &t->prog->blocks[v->block++];
		if (b->call != CALL_DIRECT)
			continue;
		if (!t->index[b->callee])
			enter(t, b->callee);
		else if (t->component[b->callee] == PUGMARK_NONE &&
			 t->index[b->callee] < t->low[v->func])
			t->low[v->func] = t->index[b->callee];
	}
}

int callgraph_order(const struct program *prog, uint32_t *order, uint32_t *component)
{
	uint32_t n = prog->n_funcs;
	struct tarjan t = {.prog = prog, .order = order, .component = component};
	t.index = calloc(3 * (size_t)n + 1, sizeof(uint32_t));
	t.visits = calloc(n + 1, sizeof(*t.visits));
	int err = t.index && t.visits ? 0 : -ENOMEM;
	if (!err) {
		t.low = t.index + n;
		t.stack = t.low + n;
		for (uint32_t f = 0; f < n; f++)
			component[f] = PUGMARK_NONE;
		for (uint32_t f = 0; f < n; f++)
			if (!t.index[f])
				visit_from(&t, f);
	}
	free(t.index);
	free(t.visits);
	return err;
}

int callgraph_callers(const struct program *prog, uint32_t *at, uint32_t **callers)
{
	for (uint32_t f = 0; f < prog->n_funcs + 2; f++)
		at[f] = 0;
	for (uint32_t b = 0; b < prog->n_blocks; b++)
		if (prog->blocks[b].call == CALL_DIRECT)
			at[prog->blocks[b].callee + 2]++;
	for (uint32_t f = 0; f < prog->n_funcs; f++)
		at[f + 2] += at[f + 1];
	uint32_t *of = malloc(((size_t)at[prog->n_funcs + 1] + 1) * sizeof(*of));
	if (!of)
		return -ENOMEM;
	for (uint32_t b = 0; b < prog->n_blocks; b++)
		if (prog->blocks[b].call == CALL_DIRECT)
			of[at[prog->blocks[b].callee + 1]++] = prog->blocks[b].func;
	*callers = of;
	return 0;
}
