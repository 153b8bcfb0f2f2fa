// SPDX-License-Identifier: LGPL-2.1-or-later
/* tree.c: see tree.h. */
#include "user/request/tree.h"

#include <errno.h>
#include <stdlib.h>

int request_tree_init(struct request_tree *t)
{
	*t = (struct request_tree){.cap = 256, .n_slots = 1024, .n = 1};
	t->nodes = calloc(t->cap, sizeof(*t->nodes));
	t->slots = calloc(t->n_slots, sizeof(*t->slots));
	return t->nodes && t->slots ? 0 : -ENOMEM;
}

void request_tree_deinit(struct request_tree *t)
{
	free(t->nodes);
	free(t->slots);
	*t = (struct request_tree){0};
}

static uint32_t hash(uint32_t parent, uint32_t id)
{
	return (uint32_t)(((uint64_t)parent << 32 | id) * 0x9e3779b97f4a7c15u >> 32);
}

/* Where @id under @parent is, or where it goes. */
static uint32_t *slot_of(struct request_tree *t, uint32_t parent, uint32_t id)
{
	uint32_t at = hash(parent, id) & (t->n_slots - 1), i;
	while ((i = t->slots[at]) && (t->nodes[i].parent != parent || t->nodes[i].id != id))
		at = (at + 1) & (t->n_slots - 1);
	return &t->slots[at];
}

static int grow(struct request_tree *t)
{
	struct request_node *nodes = realloc(t->nodes, 2ul * t->cap * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	t->nodes = nodes;
	t->cap *= 2;
	uint32_t *slots = calloc(4ul * t->cap, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(t->slots);
	t->slots = slots;
	t->n_slots = 4 * t->cap;
	for (uint32_t i = 1; i < t->n; i++)
		*slot_of(t, nodes[i].parent, nodes[i].id) = i;
	return 0;
}

uint32_t request_tree_child(struct request_tree *t, uint32_t parent, uint32_t id)
{
	uint32_t last = t->nodes[parent].last;
	if (last && t->nodes[last].id == id)
		return last;
	if (t->n == t->cap && grow(t))
		return 0;
	uint32_t *slot = slot_of(t, parent, id);
	if (!*slot) {
		*slot = t->n++;
		t->nodes[*slot] = (struct request_node){.parent = parent, .id = id};
	}
	t->nodes[parent].last = *slot;
	return *slot;
}

int request_tree_add(struct request_tree *t, const struct request_tree *from)
{
	uint32_t *mine = calloc(from->n, sizeof(*mine)); /* by index in @from */
	if (!mine)
		return -ENOMEM;
	for (uint32_t i = 1; i < from->n; i++) {
		const struct request_node *node = &from->nodes[i];
		mine[i] = request_tree_child(t, mine[node->parent], node->id);
		if (!mine[i]) {
			free(mine);
			return -ENOMEM;
		}
		for (int c = 0; c < N_REQUEST_CLASSES; c++) {
			struct request_weight *w = &t->nodes[mine[i]].of[c];
			w->requests += node->of[c].requests;
			w->calls += node->of[c].calls;
			w->blocks += node->of[c].blocks;
			time_bounds_add(&w->total, node->of[c].total);
			time_bounds_add(&w->self, node->of[c].self);
		}
	}
	free(mine);
	return 0;
}

void request_tree_next_thread(struct request_tree *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		t->nodes[i].counted = t->nodes[i].total_to_ns = t->nodes[i].self_to_ns = 0;
}
