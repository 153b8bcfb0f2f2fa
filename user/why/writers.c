// SPDX-License-Identifier: LGPL-2.1-or-later
/* writers.c: see writers.h. Stores of blocks tell their addresses; behind calls, and blocks with
 * string instructions, all bytes are asked for. */
#include "user/why/writers.h"

#include "offline/base/search.h"

#include <errno.h>

struct look {
	struct dep_build *build;
	uint32_t task;
	struct written_byte *bytes;
	size_t n;
	bool events;   /* something happened since the last block */
	uint64_t from; /* of the span of the last block */
};

static void wrote(const struct look *l, struct written_byte *b, uint32_t def, uint64_t count,
		  uint64_t from, uint64_t to)
{
	struct writer w = {l->task, def, count, from, to};
	b->known = def;
	if (l->task == b->task && count > b->count)
		return;
	if (l->task != b->task && from >= b->to)
		return; /* behind the read */
	if (l->task != b->task && to > b->from) {
		b->beside = l->task;
		return;
	}
	uint32_t i = 0;
	while (i < b->n && b->by[i].task != l->task)
		i++;
	if (i == WRITERS_MAX) {
		b->beside = l->task;
		return;
	}
	b->n += i == b->n;
	b->by[i] = w;
}

/* Whatever has been written since it was asked last. */
static void ask_all(struct look *l, uint64_t count, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < l->n; i++) {
		uint32_t def = dep_build_own_def(l->build, l->bytes[i].addr);
		if (def && def != l->bytes[i].known)
			wrote(l, &l->bytes[i], def, count, from, to);
	}
}

static void take_store(struct look *l, uint64_t addr, uint64_t len, uint32_t def, uint64_t count,
		       const struct dep_span *span)
{
	size_t i = SEARCH_FIRST_NOT(0, l->n, k, l->bytes[k].addr < addr);
	for (; i < l->n && l->bytes[i].addr - addr < len; i++)
		wrote(l, &l->bytes[i], def, count, span->from, span->to);
}

static void watch(void *ctx, const struct dep_trace *t, const struct dep_mark *before,
		  const struct dep_block *block, const struct dep_event *event,
		  const uint64_t *addresses, const uint64_t *results)
{
	struct look *l = ctx;
	static const struct dep_span whole = {0, 0, UINT64_MAX};
	const struct dep_span *span = t->n_spans ? &t->spans[t->n_spans - 1] : &whole;
	(void)results;
	l->events |= event != NULL;
	if (!block)
		return;
	if (l->events)
		ask_all(l, before->count, l->from, span->from);
	l->events = false;
	l->from = span->from;
	uint64_t behind = before->count + block->n_insns;
	uint32_t def = before->def;
	if (block->slow)
		ask_all(l, behind, span->from, span->to);
	const struct dep_access *a = block->accesses;
	for (unsigned i = 0; i < block->n_insns && !block->slow; i++)
		for (int k = block->insns[i].n_loads + block->insns[i].n_stores; k; k--, a++)
			if (a->store)
				take_store(l, addresses[a->address], a->len, ++def,
					   before->count + i + 1, span);
}

int writers_look(struct dep_build *build, uint32_t task, struct written_byte *bytes, size_t n)
{
	struct look l = {.build = build, .task = task, .bytes = bytes, .n = n};
	const struct dep_trace *t = dep_build_trace(build);
	for (size_t i = 0; i < n; i++)
		bytes[i].known = 0;
	dep_build_watch(build, watch, &l);
	enum value_replay_stop stop = dep_build_forward(build, UINT64_MAX / 4);
	dep_build_watch(build, NULL, NULL);
	ask_all(&l, t->count, l.from, UINT64_MAX);
	uint64_t known_to = t->n_spans ? t->spans[t->n_spans - 1].from : 0;
	for (size_t i = 0; i < n && stop == VALUE_REPLAY_GAP; i++)
		if (bytes[i].to > known_to)
			bytes[i].untold = task;
	return stop == VALUE_REPLAY_NO_MEMORY ? -ENOMEM : 0;
}

const struct writer *writers_last(struct written_byte *b, bool *sure)
{
	const struct writer *last = b->n ? &b->by[0] : NULL;
	for (uint32_t i = 1; i < b->n; i++)
		last = b->by[i].from > last->from ? &b->by[i] : last;
	for (uint32_t i = 0; i < b->n && !b->beside; i++)
		if (&b->by[i] != last && b->by[i].to > last->from)
			b->beside = b->by[i].task;
	*sure = !b->beside && !b->untold;
	return *sure ? last : NULL;
}
