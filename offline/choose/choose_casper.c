// SPDX-License-Identifier: LGPL-2.1-or-later
/* choose_casper.c: Algorithm 1 of "Casper: An Efficient Approach to Call Trace Collection"
 * (POPL 2016), section 4.2, for one function whose callees are chosen already: special marks
 * where a callee can be silent (the VC-transform condition), a greedy vertex cover of the call site
 * conflict graph, then the special marks taken away again where Definition 6 holds without them, in
 * reverse topological order. Call sites that are back edges of the call graph are marked for good:
 * those of functions that are not chosen for yet. */
#include "offline/choose/choose_casper.h"

#include "offline/choose/choose_modes.h"

#include <math.h>
#include <stdlib.h>

/* Whether the VC-transform condition is violated at @block: what is called there (nothing, at a
 * return) can run without an event. */
static bool callee_may_be_empty(const struct conflicts *ch, uint32_t block)
{
	const struct prog_block *b = &ch->prog->blocks[block];
	return b->call != CALL_DIRECT || ch->sums[b->callee].nullable;
}

/* Nodes of @func in postorder of its flow graph: successors before their predecessors, but for
 * loops. */
static void postorder(struct conflicts *ch, const struct prog_func *f, struct vec_u32 *out)
{
	uint8_t *state = calloc(f->n_blocks, 1);
	struct vec_u32 stack = {0};
	if (!state || !VEC_PUSH(&stack, f->block)) {
		ch->failed = true;
		free(state);
		return;
	}
	while (stack.n && !ch->failed) {
		uint32_t b = stack.at[stack.n - 1];
		uint8_t *s = &state[b - f->block];
		if (*s) {
			stack.n--;
			if (*s == 1 && conflict_is_node(ch, b) && !VEC_PUSH(out, b))
				ch->failed = true;
			*s = 2;
			continue;
		}
		*s = 1;
		for (uint32_t i = 0; i < ch->prog->blocks[b].n_succ; i++) {
			uint32_t next = prog_succs(ch->prog, b)[i];
			if (!state[next - f->block] && !VEC_PUSH(&stack, next))
				ch->failed = true;
		}
	}
	free(stack.at);
	free(state);
}

void choose_casper(struct conflicts *ch, uint32_t func)
{
	const struct prog_func *f = &ch->prog->funcs[func];
	if (!f->n_blocks)
		return;
	struct vec_u32 nodes = {0}, special = {0};
	postorder(ch, f, &nodes);
	for (uint32_t i = 0; i < nodes.n; i++) {
		const struct prog_block *b = &ch->prog->blocks[nodes.at[i]];
		if (b->call == CALL_DIRECT && !ch->sums[b->callee].known)
			casper_mark_site(ch, nodes.at[i]); /* a back edge of the call graph */
	}
	for (uint32_t i = 0; i < nodes.n; i++)
		if (!ch->marks[nodes.at[i]] && callee_may_be_empty(ch, nodes.at[i]) &&
		    !VEC_PUSH(&special, nodes.at[i]))
			ch->failed = true;
	for (uint32_t i = 0; i < special.n; i++)
		casper_mark_site(ch, special.at[i]);
	casper_cover_conflicts(ch, func);
	for (uint32_t i = 0; i < nodes.n; i++)
		if (!ch->marks[nodes.at[i]] && !conflict_progress_holds(ch, nodes.at[i]))
			casper_mark_site(ch, nodes.at[i]); /* an endless loop */
	conflict_keep(ch, func);
	conflict_watch(ch, func);
	for (uint32_t i = 0; i < special.n; i++)
		if (ch->marks[special.at[i]])
			conflict_do_without(ch, func, special.at[i]);
	conflict_keep_nothing(ch);
	free(nodes.at);
	free(special.at);
}
