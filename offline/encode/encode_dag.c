// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_dag.c: see encode_dag.h. What is open is a stack of frames, and their callees so far are
 * one stack of items: those of the innermost frame are on top. When a call closes, its items are
 * looked up among the nodes (hash-consing) and leave the stack; the node becomes an item of the
 * frame below. A node without callees is found by its symbol alone. */
#include "offline/encode/encode_dag.h"

#include "offline/base/hash.h"
#include "offline/base/vec.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

struct frame {
	struct tree_time time;
	uint32_t symbol, first;
};

struct slot {
	uint32_t hash, node; /* node + 1, or 0 */
};

struct dag {
	uint32_t k;
	VEC(struct dag_node) nodes;
	VEC(struct dag_item) items;
	VEC(struct dag_root) roots;
	VEC(struct frame) frames;
	VEC(struct dag_item) pending;
	VEC(uint32_t) leaves; /* by symbol and token: node + 1, or 0 */
	struct slot *slots;
	uint32_t mask, used;
	uint64_t calls;
};

int dag_new(uint32_t k, struct dag **out)
{
	struct dag *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->k = k;
	d->mask = FIRST_SLOTS - 1;
	d->slots = calloc(FIRST_SLOTS, sizeof(*d->slots));
	if (!d->slots) {
		free(d);
		return -ENOMEM;
	}
	*out = d;
	return 0;
}

void dag_free(struct dag *d)
{
	if (!d)
		return;
	VEC_FREE(&d->nodes);
	VEC_FREE(&d->items);
	VEC_FREE(&d->roots);
	VEC_FREE(&d->frames);
	VEC_FREE(&d->pending);
	VEC_FREE(&d->leaves);
	free(d->slots);
	free(d);
}

size_t dag_bytes(const struct dag *d)
{
	return d->nodes.max * sizeof(struct dag_node) + d->items.max * sizeof(struct dag_item) +
	       d->roots.max * sizeof(struct dag_root) + d->frames.max * sizeof(struct frame) +
	       d->pending.max * sizeof(struct dag_item) + d->leaves.max * sizeof(uint32_t) +
	       ((size_t)d->mask + 1) * sizeof(*d->slots);
}

uint64_t dag_calls(const struct dag *d)
{
	return d->calls;
}

const struct dag_node *dag_nodes(const struct dag *d, uint32_t *n)
{
	*n = d->nodes.n;
	return d->nodes.at;
}

const struct dag_root *dag_roots(const struct dag *d, uint32_t *n)
{
	*n = d->roots.n;
	return d->roots.at;
}

const struct dag_item *dag_items(const struct dag *d, uint32_t *n)
{
	*n = d->items.n;
	return d->items.at;
}

/* ---- nodes ---- */

static int add_node(struct dag *d, uint32_t symbol, uint32_t token, const struct dag_item *items,
		    uint32_t n, uint32_t *node)
{
	if (!VEC_RESERVE(&d->items, n) ||
	    !VEC_PUSH(&d->nodes, (struct dag_node){.symbol = symbol, .token = token, .n = n}))
		return -ENOMEM;
	*node = d->nodes.n - 1;
	d->nodes.at[*node].first = d->items.n;
	if (n)
		memcpy(d->items.at + d->items.n, items, n * sizeof(*items));
	d->items.n += n;
	return 0;
}

static int leaf_node(struct dag *d, uint32_t symbol, uint32_t token, uint32_t *node)
{
	uint32_t at = symbol << 2 | token;
	if (at >= d->leaves.n) {
		uint32_t missing = at + 1 - d->leaves.n;
		if (!VEC_RESERVE(&d->leaves, missing))
			return -ENOMEM;
		memset(d->leaves.at + d->leaves.n, 0, missing * sizeof(*d->leaves.at));
		d->leaves.n += missing;
	}
	if (!d->leaves.at[at]) {
		uint32_t added;
		int err = add_node(d, symbol, token, NULL, 0, &added);
		if (err)
			return err;
		d->leaves.at[at] = added + 1;
	}
	*node = d->leaves.at[at] - 1;
	return 0;
}

static int grow_slots(struct dag *d)
{
	uint32_t mask = 2 * d->mask + 1;
	struct slot *slots = calloc((size_t)mask + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i <= d->mask; i++) {
		if (!d->slots[i].node)
			continue;
		uint32_t k = d->slots[i].hash & mask;
		while (slots[k].node)
			k = (k + 1) & mask;
		slots[k] = d->slots[i];
	}
	free(d->slots);
	d->slots = slots;
	d->mask = mask;
	return 0;
}

static int inner_node(struct dag *d, uint32_t symbol, uint32_t token, const struct dag_item *items,
		      uint32_t n, uint32_t *node)
{
	uint64_t h = hash_pair(symbol, token);
	for (uint32_t i = 0; i < n; i++)
		h = hash_more(h, (uint64_t)items[i].node << 32 | items[i].count);
	uint32_t hash = (uint32_t)h, i = hash & d->mask;
	for (; d->slots[i].node; i = (i + 1) & d->mask) {
		if (d->slots[i].hash != hash)
			continue;
		const struct dag_node *known = &d->nodes.at[d->slots[i].node - 1];
		if (known->symbol == symbol && known->token == token && known->n == n &&
		    !memcmp(d->items.at + known->first, items, n * sizeof(*items))) {
			*node = d->slots[i].node - 1;
			return 0;
		}
	}
	int err = add_node(d, symbol, token, items, n, node);
	if (err)
		return err;
	d->slots[i] = (struct slot){hash, *node + 1};
	return ++d->used > d->mask / 2 ? grow_slots(d) : 0;
}

/* ---- the walk ---- */

int dag_begin(struct dag *d)
{
	d->pending.n = d->frames.n = 0;
	return 0;
}

int dag_open(struct dag *d, const struct tree_call *call)
{
	return VEC_PUSH(&d->frames, (struct frame){call->time, call->symbol, d->pending.n})
		       ? 0
		       : -ENOMEM;
}

/* Adds @node to the callees of the innermost frame. */
static int add_callee(struct dag *d, uint32_t node)
{
	uint32_t first = d->frames.n ? d->frames.at[d->frames.n - 1].first : 0;
	struct dag_item *last = d->pending.n > first ? &d->pending.at[d->pending.n - 1] : NULL;
	if (last && last->node == node && last->count >= DAG_MANY - 1 && d->k)
		return 0;
	if (last && last->node == node && last->count < DAG_MANY - 1) {
		last->count = d->k && last->count >= d->k ? DAG_MANY : last->count + 1;
		return 0;
	}
	return VEC_PUSH(&d->pending, (struct dag_item){node, 1}) ? 0 : -ENOMEM;
}

void dag_times_add(struct dag_times *t, const struct tree_time *open, const struct tree_time *close)
{
	double min = close->from_ns > open->to_ns ? (double)(close->from_ns - open->to_ns) : 0;
	double max = close->to_ns > open->from_ns ? (double)(close->to_ns - open->from_ns) : 0;
	double middle = (min + max) / 2;
	t->min += min;
	t->max += max;
	t->squares += middle * middle;
}

double dag_times_deviation(const struct dag_times *t, uint64_t count)
{
	double mean = (t->min + t->max) / 2 / (double)count;
	double variance = t->squares / (double)count - mean * mean;
	return variance > 0 ? sqrt(variance) : 0;
}

int dag_close(struct dag *d, const struct tree_return *ret)
{
	struct frame f = d->frames.at[d->frames.n - 1];
	uint32_t node, n = d->pending.n - f.first;
	int err = n ? inner_node(d, f.symbol, ret->token, d->pending.at + f.first, n, &node)
		    : leaf_node(d, f.symbol, ret->token, &node);
	if (err)
		return err;
	d->calls++;
	d->nodes.at[node].count++;
	dag_times_add(&d->nodes.at[node].times, &f.time, &ret->time);
	d->frames.n--;
	d->pending.n = f.first;
	return add_callee(d, node);
}

int dag_end(struct dag *d)
{
	uint32_t n = d->pending.n;
	if (!VEC_RESERVE(&d->items, n) || !VEC_PUSH(&d->roots, (struct dag_root){d->items.n, n}))
		return -ENOMEM;
	if (n)
		memcpy(d->items.at + d->items.n, d->pending.at, n * sizeof(*d->pending.at));
	d->items.n += n;
	d->pending.n = 0;
	return 0;
}

/* ---- what the graph says ---- */

struct place {
	uint32_t item, end, left, token; /* items to go on with; what closes them after that */
};

int dag_expand(const struct dag *d, uint32_t root,
	       int (*sink)(void *ctx, const uint32_t *symbols, size_t n), void *ctx)
{
	VEC(struct place) stack = {0};
	struct dag_root r = d->roots.at[root];
	int err = VEC_PUSH(&stack, (struct place){r.first, r.first + r.n, 0, 0}) ? 0 : -ENOMEM;
	while (!err && stack.n) {
		struct place *p = &stack.at[stack.n - 1];
		if (p->item == p->end) {
			uint32_t token = p->token;
			if (--stack.n)
				err = sink(ctx, &token, 1);
			continue;
		}
		struct dag_item item = d->items.at[p->item];
		if (item.count == DAG_MANY) {
			err = -EDOM;
			break;
		}
		if (!p->left)
			p->left = item.count;
		if (!--p->left)
			p->item++;
		const struct dag_node *node = &d->nodes.at[item.node];
		err = sink(ctx, &node->symbol, 1);
		if (!err && !VEC_PUSH(&stack, (struct place){node->first, node->first + node->n, 0,
							     node->token}))
			err = -ENOMEM;
	}
	VEC_FREE(&stack);
	return err;
}
