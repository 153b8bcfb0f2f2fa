// SPDX-License-Identifier: LGPL-2.1-or-later
/* fold.c: see fold.h. */
#include "user/why/fold.h"

#include "offline/base/search.h"
#include "offline/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t hash_of(uint64_t ip, const char *name, uint8_t kind)
{
	return (ip ^ (uintptr_t)name ^ (uint64_t)kind << 56) * 0x9e3779b97f4a7c15 >> 32;
}

/* By what an instance is folded. An event without a name is one of its kind. */
static const char *name_of(const struct slice_step *step)
{
	if (step->insn)
		return NULL;
	return step->event->name ? step->event->name : "";
}

static uint8_t kind_of(const struct slice_step *step)
{
	return step->insn ? 0 : step->event->kind;
}

int fold_keep_members(struct fold *f)
{
	f->keeps_members = true;
	return slice_members_init(&f->members, f->trace);
}

static struct fold_entry *slot_of(struct fold_entry *at, size_t room, uint64_t ip, const char *name,
				  uint8_t kind)
{
	size_t i = hash_of(ip, name, kind) & (room - 1);
	while (at[i].times && (at[i].ip != ip || at[i].name != name || at[i].kind != kind))
		i = (i + 1) & (room - 1);
	return &at[i];
}

static bool make_room(struct fold *f)
{
	if (2 * (f->n + 1) <= f->room)
		return true;
	size_t room = f->room ? 2 * f->room : 1024;
	struct fold_entry *at = calloc(room, sizeof(*at));
	if (!at)
		return false;
	for (size_t i = 0; i < f->room; i++)
		if (f->at[i].times)
			*slot_of(at, room, f->at[i].ip, f->at[i].name, f->at[i].kind) = f->at[i];
	free(f->at);
	f->at = at;
	f->room = room;
	return true;
}

static void add_bytes(struct fold *f, int fd, bool output, uint64_t from, uint64_t n)
{
	struct fold_bytes *last = f->n_bytes ? &f->bytes[f->n_bytes - 1] : NULL;
	if (last && last->fd == fd && last->output == output && last->to == from) {
		last->to += n;
		return;
	}
	if (f->n_bytes == f->room_bytes) {
		size_t room = 2 * f->room_bytes + 16;
		struct fold_bytes *bytes = realloc(f->bytes, room * sizeof(*bytes));
		if (!bytes) {
			f->no_memory = true;
			return;
		}
		f->bytes = bytes;
		f->room_bytes = room;
	}
	f->bytes[f->n_bytes++] = (struct fold_bytes){fd, output, from, from + n};
}

void fold_add_input(struct fold *f, int fd, uint64_t from, uint64_t n)
{
	add_bytes(f, fd, false, from, n);
}

/* A run of bytes of input: where they come from is asked later. */
static void note_input(struct fold *f, const struct slice_step *step)
{
	const struct dep_event *e = step->event;
	struct fold_foreigns *to = f->foreign;
	uint64_t off = step->first - e->first_def, n = step->last - step->first + 1;
	if (!to) {
		add_bytes(f, e->fd, false, e->offset + off, n);
		return;
	}
	if (to->n_inputs == to->room_inputs) {
		size_t room = 2 * to->room_inputs + 64;
		struct fold_input *inputs = realloc(to->inputs, room * sizeof(*inputs));
		if (!inputs) {
			f->no_memory = true;
			return;
		}
		to->inputs = inputs;
		to->room_inputs = room;
	}
	to->inputs[to->n_inputs++] = (struct fold_input){e->order, off, n, e->fd, e->offset + off};
}

/* A run of bytes of the parent's. */
static void note_born(struct fold *f, const struct slice_step *step)
{
	const struct dep_trace *t = f->trace;
	struct fold_foreigns *to = f->foreign;
	for (uint32_t i = 0; to && i < t->n_born; i++) {
		const struct dep_born *b = &t->born[i];
		uint32_t end = b->first_def + (uint32_t)b->len;
		uint32_t from = step->first > b->first_def ? step->first : b->first_def;
		uint32_t behind = step->last + 1 < end ? step->last + 1 : end;
		if (from >= behind)
			continue;
		if (to->n_born == to->room_born) {
			size_t room = 2 * to->room_born + 64;
			struct fold_born *born = realloc(to->born, room * sizeof(*born));
			if (!born) {
				f->no_memory = true;
				return;
			}
			to->born = born;
			to->room_born = room;
		}
		to->born[to->n_born++] =
			(struct fold_born){b->addr + (from - b->first_def), behind - from};
	}
}

int fold_foreigns_init(struct fold_foreigns *f, const struct dep_trace *t)
{
	*f = (struct fold_foreigns){.defs = calloc(t->n_spans + 1, sizeof(*f->defs))};
	size_t room = t->n_spans + 1;
	for (uint64_t i = 0; f->defs && i < t->n_events; i++) {
		if (t->events[i].kind != DEP_OTHERS)
			continue;
		if (f->n_defs == room) {
			uint32_t *more = realloc(f->defs, 2 * room * sizeof(*more));
			if (!more)
				return -ENOMEM;
			f->defs = more;
			room *= 2;
		}
		f->defs[f->n_defs++] = t->events[i].first_def;
	}
	return f->defs ? 0 : -ENOMEM;
}

void fold_foreigns_deinit(struct fold_foreigns *f)
{
	free(f->at);
	free(f->defs);
	free(f->inputs);
	free(f->born);
}

static bool is_foreign(const struct fold_foreigns *f, const uint32_t *defs, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		uint32_t def = defs[i];
		size_t at = SEARCH_FIRST_NOT(0, f->n_defs, k, f->defs[k] < def);
		if (at < f->n_defs && f->defs[at] == def)
			return true;
	}
	return false;
}

int fold_foreigns_ask(struct fold_foreigns *f, const uint32_t *defs, uint64_t n, uint64_t count,
		      uint64_t addr)
{
	struct fold_foreign all = {count, addr, (uint32_t)n};
	if (!is_foreign(f, defs, n))
		return 0;
	f->calls += !addr;
	return !addr || VEC_PUSH(f, all) ? 0 : -ENOMEM;
}

/* Of an event: a call, or a string instruction. */
static bool event_is_foreign(const struct fold *f, const struct slice_step *step)
{
	const struct dep_event *e = step->event;
	const uint32_t *sources = f->trace->sources.at;
	if (e->kind == DEP_OTHERS)
		return false;
	if (is_foreign(f->foreign, sources + e->first_read, e->n_reads))
		return true;
	return e->flags & DEP_COPIES && step->first &&
	       is_foreign(f->foreign, sources + e->first_source + (step->first - e->first_def),
			  step->last - step->first + 1);
}

static void note_foreign(struct fold *f, const struct slice_step *step)
{
	const struct dep_trace *t = f->trace;
	if (step->event)
		f->foreign->calls += event_is_foreign(f, step);
	if (!step->insn || !step->reads)
		return;
	uint64_t i = SEARCH_FIRST_NOT(0, t->n_foreign, k, t->foreign[k].load < step->load);
	for (; i < t->n_foreign && t->foreign[i].load < step->load + step->insn->n_loads; i++) {
		struct fold_foreign one = {step->count, t->foreign[i].addr, t->foreign[i].len};
		f->no_memory |= !VEC_PUSH(f->foreign, one);
	}
}

void fold_visit(void *ctx, const struct slice_step *step)
{
	struct fold *f = ctx;
	const struct dep_event *e = step->insn ? NULL : step->event;
	if (!make_room(f)) {
		f->no_memory = true;
		return;
	}
	if (e && e->flags & DEP_INPUT && step->first)
		note_input(f, step);
	if (e && e->kind == DEP_BORN)
		note_born(f, step);
	f->instances += !e;
	if (f->foreign)
		note_foreign(f, step);
	if (f->keeps_members)
		slice_members_add(&f->members, f->trace, step);
	const char *name = name_of(step);
	uint8_t kind = kind_of(step);
	struct fold_entry *entry = slot_of(f->at, f->room, step->ip, name, kind);
	if (!entry->times) {
		f->n++;
		*entry = (struct fold_entry){.ip = step->ip,
					     .name = name,
					     .kind = kind,
					     .first = step->count,
					     .last = step->count,
					     .near = UINT64_MAX,
					     .order = f->n};
	}
	for (size_t i = 0; i < f->n_centers; i++) {
		uint64_t at = f->centers[i];
		uint64_t off = step->count > at ? step->count - at : at - step->count;
		entry->near = off < entry->near ? off : entry->near;
	}
	entry->times++;
	if (f->pinned && !e)
		entry->pinned += f->pinned[step->count / 64] >> step->count % 64 & 1;
	entry->ends |= step->ends;
	entry->first = step->count < entry->first ? step->count : entry->first;
	entry->last = step->count > entry->last ? step->count : entry->last;
}

void fold_add_beside(struct fold *f, const struct slice_step *step)
{
	if (!make_room(f)) {
		f->no_memory = true;
		return;
	}
	if (slot_of(f->at, f->room, step->ip, NULL, 0)->times)
		return;
	uint64_t instances = f->instances;
	bool keeps = f->keeps_members;
	f->keeps_members = false;
	fold_visit(f, step);
	f->keeps_members = keeps;
	f->instances = instances;
	slot_of(f->at, f->room, step->ip, NULL, 0)->beside = true;
}

static int by_place(const void *a, const void *b)
{
	const struct fold_bytes *x = a, *y = b;
	if (x->output != y->output)
		return x->output - y->output;
	if (x->fd != y->fd)
		return x->fd < y->fd ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static void make_index(struct fold *f)
{
	f->index = calloc(f->room + 1, sizeof(*f->index));
	if (!f->index) {
		f->no_memory = true;
		return;
	}
	for (size_t k = 0; k < f->n; k++) {
		size_t i = hash_of(f->at[k].ip, f->at[k].name, f->at[k].kind) & (f->room - 1);
		while (f->index[i])
			i = (i + 1) & (f->room - 1);
		f->index[i] = (uint32_t)k + 1;
	}
}

static const struct fold_entry *find(const struct fold *f, uint64_t ip, const char *name,
				     uint8_t kind)
{
	if (!f->index || !f->room)
		return NULL;
	for (size_t i = hash_of(ip, name, kind) & (f->room - 1); f->index[i];
	     i = (i + 1) & (f->room - 1)) {
		const struct fold_entry *e = &f->at[f->index[i] - 1];
		if (e->ip == ip && e->name == name && e->kind == kind)
			return e;
	}
	return NULL;
}

const struct fold_entry *fold_find(const struct fold *f, const struct slice_step *step)
{
	return find(f, step->ip, name_of(step), kind_of(step));
}

const struct fold_entry *fold_like(const struct fold *f, const struct fold_entry *other)
{
	return find(f, other->ip, other->name, other->kind);
}

void fold_finish(struct fold *f)
{
	size_t n = 0;
	for (size_t i = 0; i < f->room; i++)
		if (f->at[i].times)
			f->at[n++] = f->at[i];
	f->n = n;
	if (f->keeps_members)
		make_index(f);
	if (f->n_bytes)
		qsort(f->bytes, f->n_bytes, sizeof(*f->bytes), by_place);
	size_t k = 0;
	for (size_t i = 0; i < f->n_bytes; i++) {
		struct fold_bytes *last = k ? &f->bytes[k - 1] : NULL;
		if (last && last->fd == f->bytes[i].fd && last->output == f->bytes[i].output &&
		    last->to >= f->bytes[i].from)
			last->to = f->bytes[i].to > last->to ? f->bytes[i].to : last->to;
		else
			f->bytes[k++] = f->bytes[i];
	}
	f->n_bytes = k;
}

void fold_deinit(struct fold *f)
{
	slice_members_deinit(&f->members);
	free(f->index);
	free(f->at);
	free(f->bytes);
}
