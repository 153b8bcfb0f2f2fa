// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_decisions.c: what can follow what in a plan: each set of alternatives once, found again by
 * a hash of its nodes. */
#include "offline/plan/plan_build_impl.h"

#include <stdlib.h>
#include <string.h>

static void *grown(struct plan_builder *b, void *array, uint32_t n, uint32_t *cap, size_t size)
{
	if (n < *cap)
		return array;
	uint32_t more = *cap ? 2 * *cap : 256;
	void *bigger = realloc(array, more * size);
	if (!bigger) {
		b->failed = true;
		return array;
	}
	*cap = more;
	return bigger;
}

static uint32_t hash_nodes(const uint32_t *at, uint32_t n)
{
	uint32_t h = 2166136261u;
	for (uint32_t i = 0; i < n; i++)
		h = (h ^ at[i]) * 16777619u;
	return h;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* Most decisions are between few nodes. */
static void sort_nodes(struct vec_u32 *nodes)
{
	uint32_t *at = nodes->at;
	if (nodes->n > 16) {
		qsort(at, nodes->n, sizeof(*at), by_number);
		return;
	}
	for (uint32_t i = 1; i < nodes->n; i++) {
		uint32_t node = at[i], k = i;
		for (; k && at[k - 1] > node; k--)
			at[k] = at[k - 1];
		at[k] = node;
	}
}

static void rehash(struct plan_builder *b)
{
	uint32_t size = b->table_size ? 2 * b->table_size : 1024;
	uint32_t *table = calloc(size, sizeof(*table));
	if (!table) {
		b->failed = true;
		return;
	}
	for (uint32_t i = 0; i < b->plan.n_decisions; i++) {
		const struct pugmark_plan_decision *d = &b->decisions[i];
		uint32_t h = hash_nodes(b->alternatives.at + d->first, d->n);
		while (table[h & (size - 1)])
			h++;
		table[h & (size - 1)] = i + 1;
	}
	free(b->table);
	b->table = table;
	b->table_size = size;
}

uint32_t plan_builder_decision(struct plan_builder *b, struct decision d)
{
	struct vec_u32 *alts = &b->ch.alts;
	conflict_alternatives(&b->ch, d, alts);
	for (uint32_t i = 0; i < alts->n; i++)
		alts->at[i] = alts->at[i] == NODE_EXIT ? 0 : b->node_of[alts->at[i]];
	sort_nodes(alts);
	if (2 * b->plan.n_decisions >= b->table_size)
		rehash(b);
	if (b->failed)
		return PUGMARK_NONE;
	uint32_t h = hash_nodes(alts->at, alts->n);
	for (; b->table[h & (b->table_size - 1)]; h++) {
		uint32_t i = b->table[h & (b->table_size - 1)] - 1;
		const struct pugmark_plan_decision *e = &b->decisions[i];
		if (e->n == alts->n &&
		    !memcmp(b->alternatives.at + e->first, alts->at, alts->n * sizeof(uint32_t)))
			return i;
	}
	b->decisions = grown(b, b->decisions, b->plan.n_decisions, &b->cap_decisions,
			     sizeof(*b->decisions));
	uint32_t first = b->alternatives.n;
	for (uint32_t i = 0; i < alts->n; i++)
		b->failed |= !VEC_PUSH(&b->alternatives, alts->at[i]);
	if (b->failed)
		return PUGMARK_NONE;
	b->decisions[b->plan.n_decisions] = (struct pugmark_plan_decision){first, alts->n};
	b->table[h & (b->table_size - 1)] = b->plan.n_decisions + 1;
	return b->plan.n_decisions++;
}

static void add_targets(struct plan_builder *b, uint32_t block, struct pugmark_plan_node *n)
{
	const struct prog_block *pb = &b->prog->blocks[block];
	n->arm.targets.first = b->plan.n_targets;
	for (uint32_t i = 0; i < pb->n_succ; i++) {
		const struct prog_block *to = &b->prog->blocks[prog_succs(b->prog, block)[i]];
		uint32_t decision = plan_builder_decision(b, (struct decision){pb->func, block, i});
		b->targets = grown(b, b->targets, b->plan.n_targets, &b->cap_targets,
				   sizeof(*b->targets));
		if (b->failed)
			return;
		b->targets[b->plan.n_targets++] = (struct pugmark_plan_target){
			.addr = to->flags & PROG_VIRTUAL ? PUGMARK_PLAN_TARGET_ELSEWHERE : to->addr,
			.decision = decision,
		};
	}
	n->arm.targets.n = b->plan.n_targets - n->arm.targets.first;
}

void plan_builder_connect(struct plan_builder *b, uint32_t block)
{
	const struct prog_block *pb = &b->prog->blocks[block];
	struct pugmark_plan_node *n = &b->nodes[b->node_of[block]];
	if (n->kind == PUGMARK_NODE_KIND_TARGET) {
		add_targets(b, block, n);
	} else if (n->kind == PUGMARK_NODE_KIND_BRANCH) {
		n->arm.branch.next =
			plan_builder_decision(b, (struct decision){pb->func, block, 0});
		n->arm.branch.taken =
			plan_builder_decision(b, (struct decision){pb->func, block, 1});
	} else if (!(n->flags & PUGMARK_NODE_NORETURN)) {
		n->arm.other.next =
			plan_builder_decision(b, (struct decision){pb->func, block, WAY_ALL});
	}
}
