// SPDX-License-Identifier: LGPL-2.1-or-later
/* unpack_bounds.c: the times of what patched instructions have written. No record of a lane has
 * one; the lane has stamps, and is noted with a time where the kernel looks at it: when a probe is
 * hit, a signal comes, the thread stops and goes on. An event gets the first time that is told
 * behind it: it had happened by then. After which it happened is the last time told before, as that
 * is the time of the events before; but a time with no event before it, since when the thread had
 * waited, is an event of its own. */
#include "user/record/write/unpack_impl.h"

#include <errno.h>
#include <stdlib.h>

/* What a thread has waited since its lane was last read; and how many events wait for a time. */
enum { WAITS_MAX = 1 << 18, UNTIMED_MAX = 1 << 16 };

/* Doubles an array of elements of @size. Returns it, or NULL: it is as it was. */
static void *grow(void *at, uint32_t *cap, size_t size)
{
	uint32_t more = *cap ? 2 * *cap : 64;
	void *grown = realloc(at, more * size);

	if (grown)
		*cap = more;
	return grown;
}

void unpack_untimed(struct unpacker *u, const struct pugmark_witness_event *e, uint64_t end_ns)
{
	struct unpack_untimed *list = &u->untimed;

	if (list->n == list->cap) {
		void *grown = grow(list->at, &list->cap, sizeof(*list->at));

		if (!grown) {
			unpack_fail(u, -ENOMEM);
			return;
		}
		list->at = grown;
	}
	list->at[list->n++] = *e;
	if (!u->times)
		unpack_bound(u, 0);
	else if (list->n >= UNTIMED_MAX) /* no stamp comes: the kernel's clock is another one */
		unpack_bound(u, unpack_next_wait(u->task, end_ns));
}

void unpack_bound(struct unpacker *u, uint64_t time_ns)
{
	struct task *t = u->task;

	if (time_ns > t->time_ns)
		t->time_ns = time_ns;
	for (uint32_t i = 0; i < u->untimed.n; i++) {
		struct pugmark_witness_event *e = &u->untimed.at[i];

		e->time_ns = t->time_ns;
		unpack_event(u, e);
		u->witnesses++;
		last_hits_add(&t->last, e->module, e->site, e->time_ns);
	}
	u->untimed.n = 0;
}

void unpack_wait(struct unpacker *u, const struct wait_note *note, uint32_t bytes)
{
	struct unpack_waits *list = &u->task->waits;

	if (bytes != sizeof(*note))
		return;
	if (list->next == list->n)
		list->next = list->n = 0;
	if (list->n == WAITS_MAX)
		return; /* less is known of times */
	if (list->n == list->cap) {
		void *grown = grow(list->at, &list->cap, sizeof(*list->at));

		if (!grown)
			return; /* less is known of times */
		list->at = grown;
	}
	list->at[list->n++] = *note;
}

static bool is_of_lane(const struct task *t, const struct wait_note *note)
{
	return note->area == t->area && note->lane == t->lane;
}

void unpack_waits(struct unpacker *u, uint64_t pos, uint64_t end_ns)
{
	struct task *t = u->task;
	struct unpack_waits *list = &t->waits;

	for (; list->next < list->n; list->next++) {
		const struct wait_note *note = &list->at[list->next];

		if (!is_of_lane(t, note))
			continue;
		if (note->pos > pos || note->from_ns >= end_ns)
			break; /* the lane had come no further when the thread waited later */
		if (note->to_ns <= t->time_ns)
			continue;
		unpack_bound(u, note->from_ns);
		t->time_ns = note->to_ns;
		unpack_plain(u, PUGMARK_EVENT_TIME, 0);
	}
}

uint64_t unpack_next_wait(const struct task *t, uint64_t end_ns)
{
	for (uint32_t i = t->waits.next; i < t->waits.n; i++)
		if (is_of_lane(t, &t->waits.at[i]))
			return t->waits.at[i].from_ns < end_ns ? t->waits.at[i].from_ns : end_ns;
	return end_ns;
}
