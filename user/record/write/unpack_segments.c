// SPDX-License-Identifier: LGPL-2.1-or-later
/* unpack_segments.c: events of the task that is unpacked, into the segment that is being made of
 * them; and what a task says of itself as a whole: what it lost, which programs it went through,
 * where its modules are. */
#include "user/record/write/unpack_impl.h"

#include <errno.h>
#include <stdlib.h>

void unpack_finish(struct unpacker *u)
{
	struct task *t = u->task;
	struct segment_header header = {.task = u->number, .first_event = t->n_events};

	if (segment_encoder_count(u->enc)) {
		const uint8_t *payload = segment_encoder_finish(u->enc, &header);

		unpack_fail(u, payload ? u->write(u->ctx, &header, payload) : -ENOMEM);
		t->n_events += header.n;
		atomic_fetch_add(u->err ? &u->totals->lost : &u->totals->events, u->witnesses);
		u->witnesses = 0;
	}
	segment_encoder_reset(u->enc, t->bases, t->known);
}

void unpack_event(struct unpacker *u, const struct pugmark_witness_event *event)
{
	int err = segment_encoder_add(u->enc, event);

	if (err == -ENOSPC) {
		unpack_finish(u);
		err = segment_encoder_add(u->enc, event);
	}
	unpack_fail(u, err);
}

void unpack_plain(struct unpacker *u, enum pugmark_event_kind kind, uint64_t value)
{
	struct pugmark_witness_event event = {
		.kind = kind, .time_ns = u->task->time_ns, .lost = value};

	if (kind == PUGMARK_EVENT_FORK)
		event.arm.fork.child = value;
	unpack_event(u, &event);
}

void unpack_lost(struct unpacker *u, uint64_t lost)
{
	if (!lost)
		return;
	unpack_plain(u, PUGMARK_EVENT_LOST, lost);
	atomic_fetch_add(&u->totals->lost, lost);
}

void unpack_note_task(struct unpacker *u, uint64_t lost, uint32_t execs)
{
	struct task *t = u->task;

	if (lost > t->lost) {
		unpack_lost(u, lost - t->lost);
		t->lost = lost;
	}
	for (; t->execs != execs; t->execs++) {
		unpack_plain(u, PUGMARK_EVENT_EXEC, 0);
		t->known = 0;
	}
}

uint64_t *unpack_stack_room(struct unpacker *u)
{
	if (!u->words)
		u->words = malloc(DEEP_WORDS * sizeof(*u->words));
	return u->words;
}

void unpack_base(struct unpacker *u, const struct generation *g, uint32_t slot, uint64_t addr)
{
	struct task *t = u->task;
	uint32_t m = g->first + slot;
	uint64_t bias = addr - g->text_addr[slot];

	if (t->known >> m & 1 && t->bases[m] == bias)
		return;
	unpack_finish(u);
	t->bases[m] = bias;
	t->known |= 1ull << m;
	segment_encoder_reset(u->enc, t->bases, t->known);
}
