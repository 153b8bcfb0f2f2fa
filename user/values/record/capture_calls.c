// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_calls.c: see capture_calls.h. */
#include "user/values/record/capture_calls.h"

#include "user/proc/living_thread.h"
#include "user/values/calls/call_threads.h"

#include <stdlib.h>
#include <string.h>

void capture_calls_find(struct capture_calls *c, pid_t pid)
{
	const char *why;

	if (c->stubs && call_patches_find(pid, &c->patches, &why))
		capture_calls_by_hooks(c, why);
}

void capture_calls_by_hooks(struct capture_calls *c, const char *why)
{
	if (c->stubs)
		snprintf(c->why_hooks, sizeof(c->why_hooks), "%s", why);
	call_patches_free(c->patches);
	c->patches = NULL;
}

/* Gives what the process makes its calls by to the thread of each task. */
static int bind_lanes(struct capture_calls *c, pid_t pid, const pid_t *tids, uint32_t n)
{
	struct task_number *tasks = NULL;
	uint32_t n_tasks = 0, task;
	int err = capture_programs_tasks(c->programs, &tasks, &n_tasks);

	for (uint32_t i = 0; !err && i < n; i++) {
		uint64_t owner = call_threads_pointer(tids[i]);

		if (owner && !task_number_of(tasks, n_tasks, tids[i], &task))
			capture_writer_bind(c->writer, owner, task, pid);
	}
	free(tasks);
	return err;
}

static int place(struct capture_calls *c, const struct clock_calls *clocks, pid_t pid,
		 const pid_t *tids, uint32_t n, const char **why)
{
	struct call_patches *patches = c->patches;
	int err = call_patches_give(patches, pid, tids, n,
				    clocks->area ? clocks->area + CLOCK_SLOTS : 0, why);

	if (err)
		return err;
	*why = "its memory cannot be shared";
	err = capture_writer_calls(c->writer, patches);
	if (!err)
		err = bind_lanes(c, pid, tids, n);
	if (!err) {
		*why = "this kernel places no probes in such memory";
		err = capture_programs_calls(c->programs, patches);
	}
	if (!err)
		err = call_patches_arm(patches, pid, CALL_ARMED);
	if (!err)
		err = call_patches_place(patches, pid, tids, n, why);
	else
		call_patches_take_back(patches, pid, tids);
	if (err) {
		capture_programs_no_calls(c->programs);
		capture_writer_calls(c->writer, NULL);
		return err;
	}
	c->pid = pid;
	return 0;
}

int capture_calls_begin(struct capture_calls *c, const struct clock_calls *clocks, pid_t pid,
			const pid_t *tids, uint32_t n, struct pugmark_diag *diag)
{
	const char *why;

	if (!c->stubs)
		return 0;
	if (c->patches && !place(c, clocks, pid, tids, n, &why))
		return 0;
	if (c->patches)
		capture_calls_by_hooks(c, why);
	int err = capture_programs_hooks(c->programs);
	return err ? pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
				      "attaching to system calls: %s", strerror(-err))
		   : 0;
}

void capture_calls_stop(struct capture_calls *c)
{
	if (!c->pid)
		return;
	call_patches_arm(c->patches, living_thread(c->pid), CALL_ENDING);
	capture_writer_calls_stop(c->writer);
}

void capture_calls_end(struct capture_calls *c, FILE *out)
{
	if (!c->pid)
		return;
	unsigned left = call_removal(c->patches, c->pid, &c->waiting, &c->n_waiting);
	if (left && out)
		fprintf(out,
			"what system calls were made by stays in %u process%s, which a thread "
			"stands in, a system call filter guards or a debugger holds, which have "
			"one memory, or which could not be looked at; ",
			left, left == 1 ? "" : "es");
	capture_programs_no_calls(c->programs);
	c->pid = 0;
}

/* Of a thread that sleeps in a call that it notes itself nothing else tells that it does. */
static void write_waiting(struct capture_calls *c)
{
	struct task_number *tasks = NULL;
	uint32_t n = 0, task;

	if (!c->n_waiting || capture_programs_tasks(c->programs, &tasks, &n))
		return;
	for (uint32_t i = 0; i < c->n_waiting; i++)
		if (!task_number_of(tasks, n, c->waiting[i].tid, &task))
			capture_writer_waits(c->writer, task, &c->waiting[i].regs);
	free(tasks);
}

void capture_calls_finish(struct capture_calls *c, FILE *out)
{
	write_waiting(c);
	uint32_t closed = capture_writer_calls_closed(c->writer);
	if (closed)
		fprintf(out,
			"system calls of %u thread%s were seen by probes from some time on: two "
			"tasks have one thread pointer, handlers were left by siglongjmp(), or "
			"something wrote to where they are noted; ",
			closed, closed == 1 ? "" : "s");
	if (*c->why_hooks)
		fprintf(out, "system calls were seen by the kernel's hooks: %s; ", c->why_hooks);
}

void capture_calls_deinit(struct capture_calls *c)
{
	call_patches_free(c->patches);
	free(c->waiting);
}
