// SPDX-License-Identifier: LGPL-2.1-or-later
/* scan.c: see scan.h. */
#include "offline/slice/scan.h"

#include <stdlib.h>

bool scan_init(struct scan *s, const struct dep_trace *t, unsigned follow,
	       const struct slice_control *control, slice_visit_fn *visit, void *ctx)
{
	*s = (struct scan){
		.t = t, .follow = follow, .control = control, .visit = visit, .ctx = ctx};
	s->defs = calloc((uint64_t)t->n_defs / 64 + 1, sizeof(*s->defs));
	s->decisive = control ? calloc(t->items.n / 64 + 1, sizeof(*s->decisive)) : NULL;
	return s->defs && !control == !s->decisive;
}

void scan_deinit(struct scan *s)
{
	free(s->defs);
	free(s->decisive);
	free(s->aside);
}

static void pass(struct scan *s)
{
	const struct dep_trace *t = s->t;
	uint32_t item = t->items.at[s->at.item++];
	s->at.parent += s->control ? control_words(s->control, item) : 0;
	if (item & DEP_ITEM_EVENT) {
		const struct dep_event *e = &t->events[item & ~DEP_ITEM_EVENT];
		s->at.count = e->count;
		s->at.def += e->n_defs;
		return;
	}
	const struct dep_block *b = t->blocks[item];
	s->at = scan_within(s, b, b->n_insns);
}

struct scan_place scan_within(const struct scan *s, const struct dep_block *b, unsigned n)
{
	struct scan_place p = s->at;
	for (unsigned i = 0; i < n; i++) {
		if (b->insns[i].string)
			p.def += s->t->events[s->t->strings.at[p.string++]].n_defs;
		p.load += b->insns[i].n_loads;
		p.def += b->insns[i].n_stores;
	}
	p.count += n;
	return p;
}

unsigned scan_seek(struct scan *s, uint64_t count, bool events)
{
	const struct dep_trace *t = s->t;
	const struct dep_mark *m = dep_trace_mark(t, events && count ? count - 1 : count);
	if (count >= t->count && !events) {
		s->at = (struct scan_place){
			t->items.n, t->count,	  t->loads.n,
			t->n_defs,  t->strings.n, s->control ? s->control->n_parents - 1 : 0};
		return 0;
	}
	s->at = m ? (struct scan_place){m->item, m->count, m->load, m->def, m->string, 0}
		  : (struct scan_place){0};
	if (s->control)
		s->at.parent = control_words_before(s->control, s->at.item);
	while (s->at.item < t->items.n) {
		uint32_t item = t->items.at[s->at.item];
		if (!(item & DEP_ITEM_EVENT) && s->at.count + t->blocks[item]->n_insns > count)
			return count - s->at.count;
		if (item & DEP_ITEM_EVENT &&
		    t->events[item & ~DEP_ITEM_EVENT].count + events > count)
			return 0;
		pass(s);
	}
	return 0;
}

void scan_put_aside(struct scan *s, uint32_t id, const struct dep_units *units)
{
	struct scan_aside *aside = realloc(s->aside, (s->n_aside + 1) * sizeof(*aside));
	if (!aside) {
		s->no_memory = true;
		return;
	}
	s->aside = aside;
	s->aside[s->n_aside++] = (struct scan_aside){id, *units};
}

bool scan_take_back(struct scan *s, uint32_t id, struct dep_units *units)
{
	for (size_t i = s->n_aside; i-- > 0;)
		if (s->aside[i].id == id) {
			*units = s->aside[i].units;
			s->n_aside = i;
			return true;
		}
	return false;
}
