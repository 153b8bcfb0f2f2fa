// SPDX-License-Identifier: LGPL-2.1-or-later
/* attach.c: see attach.h. */
#include "user/patch/attach.h"

#include "offline/base/clock.h"
#include "user/patch/process/frames.h"
#include "user/patch/text/patches.h"
#include "user/patch/process/surgeon.h"
#include "user/patch/process/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>

enum { TCB_SELF = 0x10, TRIES = 8 };

struct attaching {
	struct patch_record *record;
	struct patches_midst *midst;
	pid_t pid;
	struct tracee_map *maps;
	int n_maps;
	struct attached *out;
};

/* Whether the thread has a control block as glibc makes them, with a word for its ring: the block
 * names itself, and nobody uses that word. */
static bool has_slot(const struct patch_record *record, const struct tracee *t,
		     const struct user_regs_struct *regs)
{
	uint64_t self, slot;

	return regs->fs_base && !tracee_read(t, regs->fs_base + TCB_SELF, &self, sizeof(self)) &&
	       self == regs->fs_base &&
	       !tracee_read(t, regs->fs_base + PATCH_SLOT, &slot, sizeof(slot)) &&
	       (!slot || slot - record->rings < record->rings_bytes);
}

static bool is_midst(void *ctx, uint64_t ip)
{
	const struct attaching *a = ctx;

	return patches_midst_has(a->midst, ip);
}

/* A thread is still there, or what a signal has interrupted, whose frame leads back there: the
 * patch is left out. */
static void leave_frame(void *ctx, uint64_t ip)
{
	const struct attaching *a = ctx;

	if (patches_midst_has(a->midst, ip))
		patches_leave(a->record, ip);
}

static int look_at(struct attaching *a, pid_t tid, const struct tracee *t)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
		return 0;
	if (!has_slot(a->record, t, &regs)) {
		a->out->why = "a thread of it has no control block of glibc";
		return -ENOTSUP;
	}
	leave_frame(a, regs.rip);
	frames_each(t, a->maps, a->n_maps, regs.rsp, leave_frame, a);
	return 0;
}

/* An operation of surgeon_run(). */
static int operate(void *ctx)
{
	struct attaching *a = ctx;
	struct attached *out = a->out;
	struct threads all = {0};
	struct tracee t = {.mem_fd = -1};
	int err = tracee_open(&t, a->pid);

	out->why = "its memory cannot be reached";
	if (!err) {
		out->why = "its threads cannot be stopped";
		err = threads_stop(&all, a->pid);
	}
	if (!err) /* a moment takes most threads out of the midst of a patch */
		err = threads_come_out(&all, &t, a->pid, is_midst, a);
	if (!err) {
		out->why = "what it has mapped cannot be read";
		a->n_maps = tracee_ranges(a->pid, &a->maps);
		err = a->n_maps < 0 ? a->n_maps : 0;
	}
	for (uint32_t i = 0; !err && i < all.n; i++)
		err = look_at(a, all.at[i].tid, &t);
	if (!err) {
		out->why = "its code cannot be written";
		a->record->patched_ns = clock_now_ns();
		int n = patches_write(a->record, &t);
		err = n < 0 ? n : 0;
		out->patched = n < 0 ? 0 : n;
		if (err) {
			patches_restore(a->record, &t);
			a->record->patched_ns = UINT64_MAX;
		}
	}
	uint64_t since_ns = all.since_ns;
	out->n_threads = all.n;
	threads_release(&all);
	out->stopped_ns = since_ns ? clock_now_ns() - since_ns : 0;
	tracee_close(&t);
	if (a->n_maps > 0)
		free(a->maps);
	return err;
}

int attach_process(struct patch_record *record, pid_t pid, struct attached *out)
{
	struct attaching a = {.record = record,
			      .midst = patches_midst_new(record),
			      .pid = pid,
			      .out = surgeon_memory(sizeof(*a.out))};
	int err = a.midst && a.out ? 0 : -ENOMEM;

	*out = (struct attached){.why = "out of memory"};
	if (!err) {
		a.out->why = "one of its threads sleeps where nothing interrupts it (vfork?)";
		err = threads_stuck(pid) ? -EBUSY : -ETIMEDOUT;
		for (int i = 0; i < TRIES && err == -ETIMEDOUT; i++)
			err = surgeon_run(operate, &a);
		*out = *a.out;
		if (err == -EINTR)
			out->why = "who was to patch it was killed";
	}
	for (uint32_t i = 0; i < record->n_entries; i++)
		out->left += record->entries[i].left;
	patches_midst_free(a.midst);
	surgeon_free(a.out, sizeof(*a.out));
	return err;
}
