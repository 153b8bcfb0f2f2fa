// SPDX-License-Identifier: LGPL-2.1-or-later
/* layout.c: see layout.h. */
#include "offline/match/layout.h"

#include "offline/base/vec.h"

#include <stdlib.h>

enum { LEAST_ADDRESS = 1 << 16 };

void match_layout_init(struct match_layout *l, struct value_run *run, uint64_t image_start,
		       uint64_t image_end)
{
	*l = (struct match_layout){.machine = value_run_machine(run),
				   .memory = value_machine_memory(value_run_machine(run)),
				   .image_start = image_start,
				   .image_end = image_end};
}

void match_layout_deinit(struct match_layout *l)
{
	free(l->at);
}

void match_layout_changed(struct match_layout *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		l->at[i].end = l->at[i].start; /* it is looked up when it is asked for again */
}

/* The mapping that was met at @start before; a new one. */
static struct match_mapping *meet(struct match_layout *l, const struct value_region *r)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->at[i].met == r->start) {
			l->at[i].start = r->start;
			l->at[i].end = r->end;
			return &l->at[i];
		}
	if (!VEC_RESERVE(l, 1)) {
		l->no_memory = true;
		return NULL;
	}
	struct match_mapping *m = &l->at[l->n++];
	*m = (struct match_mapping){.start = r->start,
				    .end = r->end,
				    .met = r->start,
				    .base = r->start,
				    .kind = MATCH_MAPPED};
	uint64_t sp = value_machine_state(l->machine)->gpr[VALUE_RSP];
	if (r->grows_to || sp - r->start < r->end - r->start)
		m->kind = MATCH_STACK;
	else if (r->start >= l->image_start && r->start < l->image_end)
		m->kind = MATCH_IMAGE;
	else if (r->source == VALUE_SOURCE_ZEROS)
		m->number = ++l->numbers;
	else
		m->base -= r->off;
	return m;
}

static const struct match_mapping *find(struct match_layout *l, uint64_t value)
{
	if (value < LEAST_ADDRESS || value >> 47)
		return NULL;
	if (l->last < l->n &&
	    value - l->at[l->last].start < l->at[l->last].end - l->at[l->last].start)
		return &l->at[l->last];
	for (uint32_t i = 0; i < l->n; i++)
		if (value - l->at[i].start < l->at[i].end - l->at[i].start) {
			l->last = i;
			return &l->at[i];
		}
	const struct value_region *r = value_memory_region(l->memory, value);
	return r ? meet(l, r) : NULL;
}

enum match_class match_layout_class(struct match_layout *l, uint64_t value)
{
	const struct match_mapping *m = find(l, value);
	return m ? m->kind : MATCH_NUMBER;
}

uint64_t match_layout_value(struct match_layout *l, uint64_t value, uint64_t *first)
{
	const uint64_t tag = (uint64_t)1 << 60;
	const struct match_mapping *m = find(l, value);
	if (!m)
		return value == (uint64_t)(int64_t)(int32_t)value ? (uint32_t)value : value;
	switch (m->kind) {
	case MATCH_STACK:
		return tag;
	case MATCH_IMAGE:
		*first = *first ? *first : value;
		return 2 * tag + value - *first;
	default:
		return 3 * tag + ((uint64_t)m->number << 40) + value - m->base;
	}
}
