// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_tasks.c: see capture_tasks.h. */
#include "user/values/write/capture_tasks.h"

#include "offline/capture/capture_code.h"
#include "offline/log/segment.h"
#include "user/values/write/clock_notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void capture_tasks_fail(struct capture_tasks *all, int err)
{
	segments_out_fail(all->out, err);
}

/* Room for the task of that number. */
static bool grow(struct capture_tasks *all, uint32_t task)
{
	uint32_t n = task < 64 ? 64 : 2 * task;
	struct capture_task **tasks = realloc(all->tasks, n * sizeof(*tasks));

	if (!tasks)
		return false;
	memset(tasks + all->n, 0, (n - all->n) * sizeof(*tasks));
	all->tasks = tasks;
	all->n = n;
	return true;
}

struct capture_task *capture_tasks_of(struct capture_tasks *all, uint32_t task)
{
	if (task >= all->n && !grow(all, task)) {
		capture_tasks_fail(all, -ENOMEM);
		return NULL;
	}
	if (!all->tasks[task]) {
		struct capture_task *t = calloc(1, sizeof(*t));

		if (t)
			t->task = task;
		else
			capture_tasks_fail(all, -ENOMEM);
		all->tasks[task] = t;
	}
	return all->tasks[task];
}

static void finish_channels(struct capture_tasks *all, struct capture_task *t)
{
	struct segment_header h = {
		.kind = CAPTURE_SEGMENT_CHANNELS,
		.task = t->task,
		.first_event = t->channels_before,
		.n = t->n_channels,
		.raw_bytes = t->channels.len,
	};

	if (t->channels.failed)
		capture_tasks_fail(all, -ENOMEM);
	else if (h.n)
		segments_out_append(all->out, &h, t->channels.data);
	t->channels_before += t->n_channels;
	t->n_channels = 0;
	t->channels.len = 0;
	t->last_channel = (struct channel_note){0};
}

void capture_tasks_add_channel(struct capture_tasks *all, struct capture_task *t,
			       const struct channel_note *note)
{
	channel_note_put(&t->channels, &t->last_channel, note);
	t->last_channel = *note;
	t->n_channels++;
	if (t->channels.len >= CAPTURE_SEGMENT_BYTES)
		finish_channels(all, t);
}

static void finish_segment(struct capture_tasks *all, struct capture_task *t)
{
	struct segment_header h = {
		.kind = CAPTURE_SEGMENT_RECORDS,
		.task = t->task,
		.first_event = t->records,
		.n = t->encoder ? capture_encoder_count(t->encoder) : 0,
		.first_ns = t->first_ns,
		.last_ns = t->last_ns,
	};

	if (!h.n)
		return;
	const uint8_t *payload = capture_encoder_finish(t->encoder, &h.raw_bytes);
	t->records += h.n;
	if (payload)
		segments_out_append(all->out, &h, payload);
	else
		capture_tasks_fail(all, -ENOMEM);
}

void capture_tasks_flush(struct capture_tasks *all, struct capture_task *t)
{
	finish_segment(all, t);
	finish_channels(all, t);
}

void capture_tasks_finish(struct capture_tasks *all, struct capture_task *t)
{
	capture_tasks_flush(all, t);
	bytes_deinit(&t->channels);
	capture_ranges_deinit(&t->ranges);
	capture_encoder_free(t->encoder);
	clock_notes_free(t->clocks);
	t->clocks = NULL;
	t->channels = (struct bytes){0};
	t->ranges = (struct capture_ranges){0};
	t->encoder = NULL;
}

void capture_tasks_add(struct capture_tasks *all, struct capture_task *t, const struct capture *c)
{
	if (!t->encoder && !(t->encoder = capture_encoder_new())) {
		capture_tasks_fail(all, -ENOMEM);
		return;
	}
	if (!capture_encoder_count(t->encoder))
		t->first_ns = c->time_ns;
	t->last_ns = c->time_ns;
	if (c->order < CAPTURE_NEVER && c->order > t->last_order)
		t->last_order = c->order;
	if (capture_encoder_add(t->encoder, c))
		capture_tasks_fail(all, -ENOMEM);
	all->records++;
	if (capture_encoder_bytes(t->encoder) >= CAPTURE_SEGMENT_BYTES)
		finish_segment(all, t);
}

void capture_tasks_add_lost(struct capture_tasks *all, struct capture_task *t, uint64_t n,
			    uint64_t order, uint64_t time_ns)
{
	struct capture lost = {
		.kind = CAPTURE_LOST,
		.place = CAPTURE_NONE,
		.map_file = CAPTURE_NONE,
		.order = order,
		.time_ns = time_ns,
		.lost = n,
	};

	capture_ranges_forget(&t->ranges);
	t->shown = false; /* what said so may have been of a call that is lost */
	capture_tasks_add(all, t, &lost);
	uint64_t last = t->last_channel.order > order ? t->last_channel.order : order;
	capture_tasks_add_channel(
		all, t,
		&(struct channel_note){.what = CHANNEL_MISSED, .order = last, .entered = last});
}

void capture_tasks_number(struct capture_tasks *all, struct capture_task *t, uint64_t number,
			  uint64_t order, uint64_t time_ns)
{
	const uint64_t before = t->ring_number;

	t->ring_number = number + 1;
	if (number <= before)
		return;
	all->lost_told += number - before;
	capture_tasks_add_lost(all, t, number - before, order, time_ns);
}

void capture_tasks_deinit(struct capture_tasks *all)
{
	for (uint32_t i = 0; i < all->n; i++)
		free(all->tasks[i]);
	free(all->tasks);
}
