// SPDX-License-Identifier: LGPL-2.1-or-later
/* profile_calls.c: see profile_calls.h. A table of pairs, which grows when it is half full. */
#include "user/plan/profile_calls.h"

#include <errno.h>
#include <stdlib.h>

struct pair {
	uint64_t key; /* caller and callee, plus one each; 0: free */
	uint64_t n;
};

struct profile_calls {
	const struct pugmark_model *model;
	bool *by_pointer; /* per block: a call at its end is */
	struct pair *table;
	uint32_t size, n; /* size: a power of two */
};

int profile_calls_new(const struct pugmark_model *model, struct profile_calls **out)
{
	struct profile_calls *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->model = model;
	c->size = 1024;
	c->by_pointer = malloc(model->n_blocks + 1);
	c->table = calloc(c->size, sizeof(*c->table));
	if (!c->by_pointer || !c->table) {
		profile_calls_free(c);
		return -ENOMEM;
	}
	for (uint32_t b = 0; b < model->n_blocks; b++)
		c->by_pointer[b] = true;
	for (uint32_t i = 0; i < model->n_sites; i++)
		if (model->sites[i].via == PUGMARK_VIA_DIRECT)
			c->by_pointer[model->sites[i].block] = false;
	*out = c;
	return 0;
}

void profile_calls_free(struct profile_calls *calls)
{
	if (!calls)
		return;
	free(calls->by_pointer);
	free(calls->table);
	free(calls);
}

static struct pair *find(struct pair *table, uint32_t size, uint64_t key)
{
	uint64_t h = (key * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
	while (table[h & (size - 1)].key && table[h & (size - 1)].key != key)
		h++;
	return &table[h & (size - 1)];
}

static int grow(struct profile_calls *c)
{
	struct pair *table = calloc(2 * (size_t)c->size, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->size; i++)
		if (c->table[i].key)
			*find(table, 2 * c->size, c->table[i].key) = c->table[i];
	free(c->table);
	c->table = table;
	c->size *= 2;
	return 0;
}

int profile_calls_count(struct profile_calls *calls, const struct pugmark_plan *plan,
			const struct pugmark_witness_event *event)
{
	const struct pugmark_model *m = calls->model;
	const struct pugmark_plan_site *site = &plan->sites[event->site];
	uint64_t ret = event->flags & PUGMARK_EVENT_HAS_RET ? pugmark_event_ret(event) : 0;
	if (!ret || site->kind == PUGMARK_WITNESS_RETURN || site->func >= m->n_funcs)
		return 0;
	const struct pugmark_func *callee = &m->funcs[site->func];
	uint32_t from = pugmark_model_block_at(m, ret - event->bias - 1);
	if (from == PUGMARK_NONE || !callee->n_blocks ||
	    pugmark_model_block_at(m, site->addr) != callee->block || !calls->by_pointer[from])
		return 0;
	uint64_t key = (uint64_t)(m->blocks[from].func + 1) << 32 | (site->func + 1);
	struct pair *pair = find(calls->table, calls->size, key);
	if (!pair->key) {
		int err = 2 * (++calls->n) > calls->size ? grow(calls) : 0;
		if (err)
			return err;
		pair = find(calls->table, calls->size, key);
	}
	pair->key = key;
	pair->n++;
	return 0;
}

static int by_functions(const void *x, const void *y)
{
	const struct share_call *a = x, *b = y;
	if (a->caller != b->caller)
		return a->caller < b->caller ? -1 : 1;
	return a->callee < b->callee ? -1 : a->callee > b->callee;
}

int profile_calls_list(const struct profile_calls *calls, struct share_call **out, uint32_t *n)
{
	struct share_call *all = malloc((calls->n + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	*n = 0;
	for (uint32_t i = 0; i < calls->size; i++)
		if (calls->table[i].key)
			all[(*n)++] = (struct share_call){(calls->table[i].key >> 32) - 1,
							  (uint32_t)calls->table[i].key - 1,
							  (double)calls->table[i].n};
	qsort(all, *n, sizeof(*all), by_functions);
	*out = all;
	return 0;
}
