// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_marks.c: see share_marks.h. A block ends with the cheapest mark that says most: a
 * conditional jump that is as cheap as any other instruction of its block is read with its way. */
#include "offline/share/share_marks.h"

#include "offline/plan/plan_build.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static bool probeable(const struct prog_probe *probe)
{
	return isfinite(probe->cost_ns);
}

static uint8_t cheapest_mark(const struct prog_block *b)
{
	const uint16_t jump = PROG_TAIL | PROG_INDIRECT;
	/* What it enters looks like what its caller calls: only its target tells them apart. */
	if (b->call == CALL_UNKNOWN && (b->flags & jump) == jump && probeable(&b->last))
		return MARK_TARGET;
	if (b->flags & PROG_BRANCH && probeable(&b->last) && b->last.cost_ns <= b->any.cost_ns)
		return MARK_BRANCH;
	if (probeable(&b->any))
		return MARK_BLOCK;
	return probeable(&b->last) ? MARK_LAST : MARK_NONE;
}

/* What leads to a jump that has no instruction of its own is read. */
static void mark_before(const struct program *prog, const struct prog_func *f, uint8_t *marks)
{
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		const struct prog_block *from = &prog->blocks[b];
		for (uint32_t i = 0; i < from->n_succ; i++) {
			const struct prog_block *to = &prog->blocks[prog_succs(prog, b)[i]];
			if (to->flags & PROG_VIRTUAL && from->flags & PROG_BRANCH &&
			    probeable(&from->last))
				marks[b] = MARK_BRANCH;
		}
	}
}

/* Whether a loop of @f comes back to its entry: what marks the entry then tells no activation from
 * a round. */
static bool loops_at_entry(const struct program *prog, const struct prog_func *f)
{
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++)
		for (uint32_t i = 0; i < prog->blocks[b].n_succ; i++)
			if (prog_succs(prog, b)[i] == f->block)
				return true;
	return false;
}

static void mark_function(const struct program *prog, const struct prog_func *f, bool paths,
			  uint8_t *marks)
{
	bool all = paths || loops_at_entry(prog, f);
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		const struct prog_block *block = &prog->blocks[b];
		if (!(block->flags & PROG_REACHED) || block->flags & PROG_VIRTUAL)
			continue;
		/* The entry as well: it tells one activation from the next, which may call nothing.
		 */
		if (all || block->call != CALL_NONE || b == f->block)
			marks[b] = cheapest_mark(block);
	}
	mark_before(prog, f, marks);
}

/* What a hit of the site of @block costs, and how often it is expected. */
static void weigh_site(const struct program *prog, uint32_t block, uint8_t mark, float *ns)
{
	const struct prog_block *b = &prog->blocks[block];
	float cost = mark == MARK_BLOCK ? b->any.cost_ns : b->last.cost_ns;
	*ns = (isfinite(cost) ? cost : 0) * b->freq * prog->funcs[b->func].freq;
}

/* The jumps whose way leads to a call without an instruction tell what that call tells. */
static void mark_events_before(const struct program *prog, uint32_t block, const uint32_t *node_of,
			       struct share_whole *w)
{
	const struct prog_func *f = &prog->funcs[prog->blocks[block].func];
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++)
		for (uint32_t i = 0; i < prog->blocks[b].n_succ; i++) {
			uint32_t site = node_of[b] ? w->plan->nodes[node_of[b]].site : PUGMARK_NONE;
			if (prog_succs(prog, b)[i] == block && site != PUGMARK_NONE)
				w->events[site] = 1;
		}
}

static void classify(const struct program *prog, const struct choice *choice,
		     const uint32_t *node_of, struct share_whole *w)
{
	for (uint32_t b = 0; b < prog->n_blocks; b++) {
		const struct prog_block *block = &prog->blocks[b];
		const struct prog_func *f = &prog->funcs[block->func];
		if (!node_of[b])
			continue;
		const struct pugmark_plan_node *n = &w->plan->nodes[node_of[b]];
		bool unknown = n->kind == PUGMARK_NODE_KIND_UNKNOWN;
		bool entry = f->flags & PROG_ENTRY_WITNESS && b == f->block;
		if (n->site == PUGMARK_NONE) {
			if (unknown && block->flags & PROG_VIRTUAL)
				mark_events_before(prog, b, node_of, w);
			continue;
		}
		weigh_site(prog, b, choice->marks[b], &w->site_ns[n->site]);
		w->events[n->site] |= unknown || entry;
		w->all[n->site] =
			n->flags & (PUGMARK_NODE_ROOT | PUGMARK_NODE_SWITCHES) ||
			block->flags & PROG_FORKS ||
			(entry && w->plan->funcs[n->func].flags & PUGMARK_PLAN_FUNC_START);
		w->some[n->site] = w->plan->sites[n->site].kind == PUGMARK_WITNESS_TARGET ||
				   n->flags & PUGMARK_NODE_CALLEE_CFA ||
				   w->plan->sites[n->site].reads;
	}
}

/* What is known of the sites beside the plan. 0 or -ENOMEM. */
static int make_lists(struct share_whole *out)
{
	uint32_t n = out->plan->n_sites + 1;
	out->site_ns = calloc(n, sizeof(*out->site_ns));
	out->events = calloc(3 * (size_t)n, 1);
	if (!out->site_ns || !out->events)
		return -ENOMEM;
	out->all = out->events + n;
	out->some = out->all + n;
	return 0;
}

int share_whole_make(const struct program *prog, const struct pugmark_model *model, bool paths,
		     const uint8_t *given, struct share_whole *out)
{
	uint8_t *marks = calloc(prog->n_blocks + 1, 1);
	struct choice choice = {0};
	uint32_t unresolved;
	*out = (struct share_whole){
		.node_of = calloc(prog->n_blocks + 1, sizeof(*out->node_of)),
	};
	int err = marks && out->node_of ? 0 : -ENOMEM;
	for (uint32_t f = 0; f < prog->n_funcs && !err && !given; f++)
		mark_function(prog, &prog->funcs[f], paths, marks);
	if (!err)
		err = choose_witnesses_given(prog, given ? given : marks, &choice, &unresolved);
	if (err == -EDOM)
		err = 0; /* what nothing can tell is named in the plan */
	enum plan_mode mode = !paths ? MODE_BEST : given ? MODE_PATHS_BEST : MODE_PATHS_BLOCKS;
	if (!err)
		err = plan_build_mapped(prog, &choice, mode, model, out->node_of, &out->plan);
	if (!err)
		err = make_lists(out);
	if (!err) {
		classify(prog, &choice, out->node_of, out);
		out->marks = choice.marks;
		choice.marks = NULL;
	}
	choice_deinit(&choice);
	free(marks);
	if (err)
		share_whole_deinit(out);
	return err;
}

void share_whole_deinit(struct share_whole *w)
{
	pugmark_plan_free(w->plan);
	free(w->site_ns);
	free(w->events);
	free(w->marks);
	free(w->node_of);
	*w = (struct share_whole){0};
}
