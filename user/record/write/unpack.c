// SPDX-License-Identifier: LGPL-2.1-or-later
/* unpack.c: what the rings said, task by task. A task's part of a chunk becomes a segment, or
 * several where its load bases change; or it is kept back, and goes on in the next chunk: what
 * repeats itself takes less in one segment than in two. */
#include "user/record/write/unpack_impl.h"

#include "user/record/write/recording_meta.h"
#include "user/stack/attach_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void task_free(struct task *t)
{
	if (!t)
		return;
	task_stacks_deinit(&t->stacks);
	free(t->waits.at);
	stack_copy_free(t->attached);
	free(t);
}

void unpacker_free(struct unpacker *u)
{
	if (!u)
		return;
	for (uint32_t i = 0; i < u->cap_tasks; i++)
		task_free(u->tasks[i]);
	free(u->tasks);
	free(u->words);
	free(u->untimed.at);
	attach_stacks_free(u->attach_stacks);
	segment_encoder_free(u->enc);
	segment_encoder_free(u->kept.enc);
	free(u);
}

int unpacker_new(const struct recorder_options *options, struct recording_totals *totals,
		 unpack_write write, void *ctx, struct unpacker **out)
{
	struct unpacker *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->write = write;
	u->ctx = ctx;
	u->totals = totals;
	u->times = options->time_unit_ns;
	u->hides = options->n_redact || options->no_memory;
	u->enc = segment_encoder_new(options->time_unit_ns);
	u->kept.enc = segment_encoder_new(options->time_unit_ns);
	int err = u->enc && u->kept.enc ? attach_stacks_new(options, &u->attach_stacks) : -ENOMEM;
	if (!err && recording_in_columns(options)) {
		segment_encoder_columns(u->enc);
		segment_encoder_columns(u->kept.enc);
	}
	if (err)
		unpacker_free(u);
	else
		*out = u;
	return err;
}

void unpacker_deaths(struct unpacker *u, unpack_died died)
{
	u->died = died;
}

int unpacker_change(struct unpacker *u, const struct recorder_options *options,
		    const struct text_span *spans, uint32_t *first)
{
	return generations_add(&u->generations, options, spans, first);
}

void unpacker_lanes(struct unpacker *u, struct lanes *lanes)
{
	u->lanes = lanes;
}

void unpacker_began(struct unpacker *u, uint64_t time_ns)
{
	generations_began(&u->generations, time_ns);
}

void unpacker_ended(struct unpacker *u, uint64_t time_ns)
{
	generations_ended(&u->generations, time_ns);
}

static struct task *task_get(struct unpacker *u, uint32_t number)
{
	if (number >= u->cap_tasks) {
		uint32_t cap = u->cap_tasks ? u->cap_tasks : 64;

		while (cap <= number)
			cap *= 2;
		struct task **tasks = realloc(u->tasks, cap * sizeof(*tasks));
		if (!tasks)
			return NULL;
		memset(tasks + u->cap_tasks, 0, (cap - u->cap_tasks) * sizeof(*tasks));
		u->tasks = tasks;
		u->cap_tasks = cap;
	}
	if (!u->tasks[number]) {
		u->tasks[number] = calloc(1, sizeof(struct task));
		atomic_fetch_add(&u->totals->tasks, 1);
	}
	return u->tasks[number];
}

/* What is kept becomes what is unpacked, and the other way round. */
static void exchange_kept(struct unpacker *u)
{
	struct kept was = {u->enc, u->task, u->number, u->witnesses};

	u->enc = u->kept.enc;
	u->task = u->kept.task;
	u->number = u->kept.number;
	u->witnesses = u->kept.witnesses;
	u->kept = was;
}

void unpacker_since(struct unpacker *u, uint64_t since_ns)
{
	attach_stacks_since(u->attach_stacks, since_ns);
}

int unpacker_begin(struct unpacker *u, uint32_t number)
{
	u->ended = false;
	u->task = NULL;
	if (u->kept.task && u->kept.number == number) {
		exchange_kept(u);
		return 0;
	}
	u->number = number;
	u->task = task_get(u, number);
	if (u->task)
		segment_encoder_reset(u->enc, u->task->bases, u->task->known);
	else
		unpack_fail(u, -ENOMEM);
	return u->task ? 0 : u->err;
}

void unpacker_add(struct unpacker *u, const void *data, uint32_t bytes)
{
	uint32_t kind = *(const uint32_t *)data;
	struct task *t = u->task;

	if (kind == RING_BATCH)
		unpack_batch(u, data, bytes);
	else if (kind == RING_SNAPSHOT)
		unpack_fail(u, task_stacks_snapshot(&t->stacks, data, bytes));
	else if (kind == RING_DEEP)
		unpack_fail(u, task_stacks_deep(&t->stacks, data, bytes));
	else if (kind == RING_SIGNAL)
		unpack_signal(u, data, bytes);
	else if (kind == RING_WAIT)
		unpack_wait(u, data, bytes);
	else if (kind == RING_ATTACH)
		unpack_fail(u, stack_copy_add(&t->attached, data, bytes));
	else
		unpack_process(u, data);
	u->ended |= kind == PROCESS_EXIT || kind == PROCESS_STOP;
}

int unpacker_end(struct unpacker *u, bool keep)
{
	if (keep && !u->ended) {
		exchange_kept(u);
		if (u->task) /* another one */
			unpack_finish(u);
		u->task = NULL;
		return u->err;
	}
	unpack_finish(u);
	if (u->ended) {
		task_free(u->task);
		u->tasks[u->number] = NULL;
	}
	u->task = NULL;
	return u->err;
}

int unpacker_settle(struct unpacker *u)
{
	if (!u->kept.task)
		return u->err;
	exchange_kept(u);
	return unpacker_end(u, false);
}

void unpacker_give_back(struct unpacker *u)
{
	for (uint32_t i = 0; i < u->cap_tasks; i++)
		if (u->tasks[i])
			task_stacks_give_back(&u->tasks[i]->stacks);
	attach_stacks_give_back(u->attach_stacks);
}

bool unpacker_keeps(const struct unpacker *u)
{
	return u->kept.task;
}
