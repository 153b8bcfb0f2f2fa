// SPDX-License-Identifier: LGPL-2.1-or-later
/* detach.c: see detach.h. First the text is restored, while all threads are stopped; then, a moment
 * later, what they have left is unmapped. */
#include "user/patch/detach.h"

#include "user/patch/frames.h"
#include "user/patch/holders.h"
#include "user/patch/patches.h"
#include "user/patch/surgeon.h"
#include "user/patch/threads.h"
#include "user/patch/unwinders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <time.h>

enum { STEPS_MAX = 100000, ROUNDS = 8, ROUND_NS = 2000000 };

struct detaching {
	struct patch_record *record;
	pid_t pid;
	struct tracee_map *maps;
	int n_maps;
	struct threads all;
	struct tracee t;
	struct detached *out;
	bool leads_back; /* found by frames_each() */
	bool last;	 /* nothing is tried behind this: even steps are taken */
};

/* All processes that are patched, which end together. */
struct detaching_all {
	struct area *const *areas;
	uint32_t n_areas;
	void (*stopped)(void *ctx);
	void (*noted)(void *ctx, const struct detached *each, uint32_t n);
	void *ctx;
	struct detaching *each; /* of the child alone */
	struct detached_all *out;
};

static bool is_code(const struct patch_record *record, uint64_t addr)
{
	for (uint32_t k = 0; k < record->n_regions; k++)
		if (addr - record->regions[k].code < record->regions[k].code_bytes)
			return true;
	return false;
}

/* Has the thread go on, step by step, as long as it is in what is about to go: @idle_only: bytes
 * that are idle otherwise. False: it does not come out. */
static bool step_out(const struct patch_record *record, struct threads *all, uint32_t i,
		     bool idle_only)
{
	struct user_regs_struct regs;

	for (int steps = 0; steps < STEPS_MAX; steps++) {
		if (ptrace(PTRACE_GETREGS, all->at[i].tid, NULL, &regs) ||
		    !patches_hold(record, regs.rip) || (idle_only && is_code(record, regs.rip)) ||
		    !threads_step(all, i))
			return true;
	}
	return false;
}

/* As ring_position() in bpf/lane.h. */
static uint64_t position(const struct tracee *t, const struct patch_ring *ring)
{
	uint64_t off = ring->next - ring->chunk;
	struct patch_chunk chunk;

	if (!ring->chunk || tracee_read(t, ring->chunk, &chunk, sizeof(chunk)))
		return PATCH_POSITION(ring->serial, PATCH_CHUNK);
	if (off >= PATCH_FILLED)
		off = PATCH_CHUNK;
	return PATCH_POSITION(chunk.serial, off);
}

/* Notes where the lane of the thread ends. */
static void note_end(const struct tracee *t, pid_t tid, struct detached *out)
{
	struct user_regs_struct regs;
	struct patch_ring ring;
	uint64_t at, zero = 0;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) || !regs.fs_base ||
	    tracee_read(t, regs.fs_base + PATCH_SLOT, &at, sizeof(at)) || !at)
		return;
	if (tracee_read(t, at, &ring, sizeof(ring)))
		return;
	tracee_write(t, regs.fs_base + PATCH_SLOT, &zero, sizeof(zero));
	if (!ring.lane || out->n_ends == PATCH_RINGS)
		return;
	out->ends[out->n_ends++] = (struct lane_end){tid, ring.lane, position(t, &ring), ring.lost};
}

static void look_back(void *ctx, uint64_t ip)
{
	struct detaching *d = ctx;

	d->leads_back |= is_code(d->record, ip);
}

/* Whether a thread is in a trampoline, or the frame of a signal leads back there. */
static bool is_needed(struct detaching *d, const struct threads *all, const struct tracee *t)
{
	struct user_regs_struct regs;

	d->leads_back = false;
	for (uint32_t i = 0; i < all->n; i++) {
		if (ptrace(PTRACE_GETREGS, all->at[i].tid, NULL, &regs))
			continue;
		look_back(d, regs.rip);
		frames_each(t, d->maps, d->n_maps, regs.rsp, look_back, d);
	}
	return d->leads_back;
}

/* The rings stay, empty: a thread's stack that is kept for another thread may still name one. */
static int empty_rings(const struct patch_record *record, const struct tracee *t)
{
	static const struct patch_ring empty[64];
	struct patch_ring rings[64];
	int err = 0;

	for (uint64_t at = 0; !err && at < record->rings_bytes; at += sizeof(empty)) {
		err = tracee_read(t, record->rings + at, rings, sizeof(rings));
		if (!err && !memcmp(rings, empty, sizeof(rings)))
			break; /* they are given out one behind the other */
		if (!err)
			err = tracee_write(t, record->rings + at, empty, sizeof(empty));
	}
	return err;
}

static void unmap(const struct tracee *t, uint64_t addr, uint64_t bytes)
{
	int64_t result;

	tracee_syscall(t, SYS_munmap, (uint64_t[]){addr, bytes, 0, 0, 0, 0}, &result);
}

/* The threads are in no trampoline any more: what leads unwinders to the code goes, the code goes,
 * and then, while the threads but one go on, what they wrote to. -EAGAIN: somebody else has come to
 * stand between the unwinders and the code. */
static int give_back(struct patch_record *record, struct threads *all, struct tracee *t)
{
	int err = unwinders_restore(record, t);

	if (err)
		return err < 0 ? err : -EAGAIN;
	err = empty_rings(record, t);
	t->pid = all->at[0].tid;
	for (uint32_t k = 0; !err && k < record->n_regions; k++)
		unmap(t, record->regions[k].code, record->regions[k].code_bytes);
	threads_release_others(all);
	if (!err)
		unmap(t, record->shared, record->chunks_bytes);
	return err;
}

static int restore(struct detaching *d)
{
	struct detached *out = d->out;
	uint32_t n_written = 0;
	int n = patches_restore(d->record, &d->t);

	for (uint32_t i = 0; i < d->record->n_entries; i++)
		n_written += d->record->entries[i].kind == PATCH_ENTRY_WITNESS &&
			     d->record->entries[i].written;
	if (n < 0)
		return n;
	out->restored = n;
	out->left = n_written - n;
	out->done = true;
	return 0;
}

static void release(struct detaching *d)
{
	uint64_t stopped_ns = d->all.since_ns ? threads_now_ns() - d->all.since_ns : 0;

	threads_release(&d->all);
	tracee_close(&d->t);
	if (stopped_ns > d->out->stopped_ns)
		d->out->stopped_ns = stopped_ns;
}

/* Stops the process where its text may change. */
static int stop(struct detaching *d)
{
	int err = tracee_open(&d->t, d->pid);

	if (!err)
		err = threads_stop(&d->all, d->pid);
	for (uint32_t i = d->all.n; !err && i-- > 0;)
		if (!step_out(d->record, &d->all, i, true))
			err = -ETIMEDOUT;
	if (!err && !d->all.n)
		err = -ESRCH;
	return err == -ENOENT || err == -EACCES ? -ESRCH : err;
}

/* Once nobody is in the code any more it goes. -EAGAIN: not yet. An operation of surgeon_run(). */
static int give_back_code(void *ctx)
{
	struct detaching *d = ctx;
	int err = stop(d);

	for (uint32_t i = d->all.n; !err && d->last && i-- > 0;)
		if (!step_out(d->record, &d->all, i, false))
			err = -ETIMEDOUT;
	if (!err)
		err = is_needed(d, &d->all, &d->t) ? -EAGAIN : give_back(d->record, &d->all, &d->t);
	release(d);
	return err;
}

/* The text is as it was: whoever is in a trampoline comes out of it and back no more. Each time
 * there is another child: a thread that does not stop in time is let go with that. */
static void give_back_soon(struct detached *out)
{
	struct detaching d = {.record = out->record, .pid = out->pid, .t.mem_fd = -1, .out = out};
	int err = -EAGAIN;

	d.n_maps = tracee_maps(d.pid, &d.maps);
	for (int i = 0; d.n_maps > 0 && err && err != -ESRCH && i < ROUNDS; i++) {
		nanosleep(&(struct timespec){.tv_nsec = ROUND_NS << i}, NULL);
		d.last = i + 1 == ROUNDS;
		err = surgeon_run(give_back_code, &d);
	}
	if (d.n_maps > 0)
		free(d.maps);
	out->kept = err && err != -ESRCH && d.n_maps > 0;
}

static bool is_stopped(const struct detaching_all *a, pid_t pid)
{
	for (uint32_t i = 0; i < a->out->n; i++)
		if (a->out->each[i].pid == pid)
			return true;
	return false;
}

/* Stops the processes of an area that are not stopped yet. Returns how many. */
static uint32_t stop_holders(struct detaching_all *a, uint32_t area)
{
	pid_t *pids;
	int n = a->areas[area]->number ? holders_find(a->areas[area], &pids) : 0;
	uint32_t found = 0;

	for (int i = 0; i < n; i++) {
		if (is_stopped(a, pids[i]) || a->out->n == DETACHED_MAX)
			continue;
		struct detaching *d = &a->each[a->out->n];

		*d = (struct detaching){.record = a->areas[area]->record,
					.pid = pids[i],
					.t.mem_fd = -1,
					.out = &a->out->each[a->out->n++]};
		d->out->pid = pids[i];
		d->out->area = a->areas[area]->number;
		d->out->record = d->record;
		d->out->err = stop(d);
		found++;
	}
	if (n > 0)
		free(pids);
	return found;
}

/* In the moment in which all are stopped probes end as well, for what one of them tells belongs to
 * what its patches told before. An operation of surgeon_run_telling(). */
static int restore_all(void *ctx)
{
	struct detaching_all *a = ctx;
	uint32_t found = 1;

	a->each = calloc(DETACHED_MAX, sizeof(*a->each));
	if (!a->each)
		return -ENOMEM;
	while (found) { /* what was forked meanwhile */
		found = 0;
		for (uint32_t i = 0; i < a->n_areas; i++)
			found += stop_holders(a, i);
	}
	a->stopped(a->ctx);
	for (uint32_t k = 0; k < a->out->n; k++) {
		struct detaching *d = &a->each[k];

		for (uint32_t i = 0; !d->out->err && i < d->all.n; i++)
			note_end(&d->t, d->all.at[i].tid, d->out);
	}
	surgeon_tell(); /* before anybody goes on, and may end */
	for (uint32_t k = 0; k < a->out->n; k++) {
		struct detaching *d = &a->each[k];

		if (!d->out->err)
			d->out->err = restore(d);
		release(d);
	}
	return 0;
}

static void note_all(void *ctx)
{
	const struct detaching_all *a = ctx;

	a->noted(a->ctx, a->out->each, a->out->n);
}

int detach_all(struct area *const *areas, uint32_t n, void (*stopped)(void *ctx),
	       void (*noted)(void *ctx, const struct detached *each, uint32_t n), void *ctx,
	       struct detached_all **out)
{
	struct detaching_all a = {.areas = areas,
				  .n_areas = n,
				  .stopped = stopped,
				  .noted = noted,
				  .ctx = ctx,
				  .out = surgeon_memory(sizeof(*a.out))};

	if (!a.out)
		return -ENOMEM;
	int err = surgeon_run_telling(restore_all, note_all, &a);
	for (uint32_t i = 0; i < a.out->n; i++) {
		struct detached *d = &a.out->each[i];

		if (!d->err && !d->done)
			d->err = -EINTR;
		d->kept = d->err && d->err != -ESRCH;
		if (!d->err && !d->left)
			give_back_soon(d);
		else if (!d->err)
			d->kept = true;
	}
	*out = a.out;
	return err;
}

static int restore_one(void *ctx)
{
	struct detaching *d = ctx;
	int err = stop(d);

	for (uint32_t i = 0; !err && i < d->all.n; i++)
		note_end(&d->t, d->all.at[i].tid, d->out);
	if (!err)
		err = restore(d);
	release(d);
	return err;
}

int detach_process(struct patch_record *record, pid_t pid, struct detached **out)
{
	struct detaching d = {.record = record,
			      .pid = pid,
			      .t.mem_fd = -1,
			      .out = surgeon_memory(sizeof(*d.out))};
	int err = -ETIMEDOUT;

	if (!d.out)
		return -ENOMEM;
	d.out->record = record;
	d.out->pid = pid;
	d.out->kept = true;
	for (int i = 0; i < ROUNDS && err == -ETIMEDOUT; i++)
		err = surgeon_run(restore_one, &d);
	if (!err && !d.out->left)
		give_back_soon(d.out);
	*out = d.out;
	return err;
}

void detached_free(struct detached *detached)
{
	surgeon_free(detached, sizeof(*detached));
}

void detached_all_free(struct detached_all *all)
{
	surgeon_free(all, sizeof(*all));
}
