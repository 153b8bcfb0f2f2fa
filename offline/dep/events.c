// SPDX-License-Identifier: LGPL-2.1-or-later
/* events.c: definitions, items and events are added to the trace here. */
#include "offline/base/search.h"
#include "offline/dep/build_impl.h"

#include <stdlib.h>

enum { MARK_EVERY = 1 << 14 };

uint32_t dep_new_defs(struct dep_build *b, uint32_t n)
{
	uint32_t first = b->trace.n_defs + 1;
	if (b->trace.n_defs + (uint64_t)n >= DEP_LOAD_MANY)
		b->no_memory = true;
	else
		b->trace.n_defs += n;
	return first;
}

/* That of a byte that the parent had. */
static uint32_t born_def(const struct dep_trace *t, uint64_t addr)
{
	uint32_t i = SEARCH_FIRST_NOT(0, t->n_born, k, t->born[k].addr <= addr);
	const struct dep_born *born = i ? &t->born[i - 1] : NULL;
	return born && addr - born->addr < born->len
		       ? born->first_def + (uint32_t)(addr - born->addr)
		       : 0;
}

/* What others may have written is theirs. */
uint32_t dep_def_at(struct dep_build *b, uint64_t addr)
{
	uint32_t def = shadow_get(&b->shadow, addr);
	if (!def && b->trace.n_born)
		def = born_def(&b->trace, addr);
	if (def >= b->others && !b->crowded)
		return def;
	if (b->theirs && !b->theirs(b->theirs_ctx, addr))
		return def;
	const struct value_region *region = def ? NULL : value_memory_region(b->memory, addr);
	return region && !(region->prot & VALUE_WRITE) ? 0 : b->others;
}

void dep_note_reads(struct dep_build *b, struct dep_words *to, uint64_t addr, uint64_t len)
{
	uint32_t last = 0;
	for (uint64_t i = 0; i < len; i++) {
		uint32_t def = dep_def_at(b, addr + i);
		if (def && def != last)
			dep_words_push(b, to, def);
		last = def;
	}
}

void dep_note_bytes(struct dep_build *b, struct dep_words *to, uint64_t addr, uint64_t len)
{
	for (uint64_t i = 0; i < len; i++)
		dep_words_push(b, to, dep_def_at(b, addr + i));
}

/* --- events ---------------------------------------------------------------------------------- */

struct dep_event *dep_keep_event(struct dep_build *b, const struct dep_event *e)
{
	struct dep_trace *t = &b->trace;
	if (t->n_events == t->room_events) {
		uint64_t room = t->room_events + t->room_events / 2 + 256;
		struct dep_event *events = large_realloc(t->events, room * sizeof(*events));
		if (!events || room >= DEP_ITEM_EVENT) {
			t->events = events ? events : t->events;
			b->no_memory = true;
			return NULL;
		}
		t->events = events;
		t->room_events = room;
	}
	struct dep_event *kept = &t->events[t->n_events++];
	*kept = *e;
	kept->first_def = t->n_defs + 1;
	kept->first_source = kept->first_read = t->sources.n;
	kept->first_run = t->n_runs;
	uint32_t n = kept->n_defs;
	kept->n_defs = 0;
	dep_more_defs(b, kept, n);
	return kept;
}

uint32_t dep_more_defs(struct dep_build *b, struct dep_event *e, uint32_t n)
{
	e->n_defs += n;
	return dep_new_defs(b, n);
}

static void mark(struct dep_build *b)
{
	struct dep_trace *t = &b->trace;
	if (t->n_marks == t->room_marks) {
		uint64_t room = 2 * t->room_marks + 64;
		struct dep_mark *marks = realloc(t->marks, room * sizeof(*marks));
		if (!marks) {
			b->no_memory = true;
			return;
		}
		t->marks = marks;
		t->room_marks = room;
	}
	t->marks[t->n_marks++] = (struct dep_mark){
		.item = t->items.n,
		.count = t->count,
		.load = t->loads.n,
		.def = t->n_defs,
		.string = t->strings.n,
	};
}

void dep_add_item(struct dep_build *b, uint32_t item)
{
	if (b->trace.items.n % MARK_EVERY == 0)
		mark(b);
	dep_words_push(b, &b->trace.items, item);
}

struct dep_event *dep_add_event(struct dep_build *b, const struct dep_event *e)
{
	dep_add_item(b, DEP_ITEM_EVENT | (uint32_t)b->trace.n_events);
	struct dep_event *kept = dep_keep_event(b, e);
	if (kept)
		kept->count = b->trace.count;
	if (kept && b->watch)
		b->watch(b->watch_ctx, &b->trace, NULL, NULL, kept, NULL, NULL);
	return kept;
}

void dep_copy_defs(struct dep_build *b, struct dep_event *e, uint64_t addr, const uint32_t *sources,
		   uint64_t n)
{
	if (!e)
		return;
	if (!(e->flags & DEP_COPIES))
		e->first_source = b->trace.sources.n;
	e->flags |= DEP_COPIES;
	for (uint64_t i = 0; i < n;) {
		uint64_t k = i + 1;
		while (k < n && sources[k] == sources[i])
			k++;
		uint32_t def = dep_more_defs(b, e, 1);
		dep_words_push(b, &b->trace.sources, sources[i]);
		shadow_set(&b->shadow, addr + i, k - i, def);
		i = k;
	}
}
