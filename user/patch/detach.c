// SPDX-License-Identifier: LGPL-2.1-or-later
/* detach.c: see detach.h. First the text is restored, while all threads are stopped; then, a moment
 * later, what they have left is unmapped. */
#include "user/patch/detach.h"

#include "offline/base/clock.h"
#include "user/patch/process/filters.h"
#include "user/patch/process/frames.h"
#include "user/patch/holders.h"
#include "user/patch/text/patches.h"
#include "user/patch/process/surgeon.h"
#include "user/patch/process/threads.h"
#include "user/patch/process/tracee_call.h"
#include "user/patch/text/unwinders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <time.h>

enum { ROUNDS = 8, ROUND_NS = 2000000, JUMP = 0xe9, JUMP_BYTES = 5 };

struct detaching {
	struct patch_record *record;
	const struct patches_islands *islands; /* of the record */
	pid_t pid;
	struct tracee_map *maps;
	int n_maps;
	struct threads all;
	struct tracee t;
	struct detached *out;
	bool leads_back; /* found by frames_each() */
	bool last;	 /* nothing is tried behind this: threads go on for moments */
};

/* All processes that are patched, which end together. */
struct detaching_all {
	struct area *const *areas;
	uint32_t n_areas;
	void (*stopped)(void *ctx);
	void (*noted)(void *ctx, const struct detached *each, uint32_t n);
	void *ctx;
	/* Of the child alone: */
	struct patches_islands *islands[AREAS_MAX]; /* by area */
	struct detaching *each;
	struct detached_all *out;
};

static bool is_code(const struct patch_record *record, uint64_t addr)
{
	for (uint32_t k = 0; k < record->n_regions; k++)
		if (addr - record->regions[k].code < record->regions[k].code_bytes)
			return true;
	return false;
}

static bool is_in_code(void *ctx, uint64_t ip)
{
	const struct detaching *d = ctx;

	return is_code(d->record, ip);
}

/* A thread that is to execute the jump of an island has done so. */
static void leave_island(const struct detaching *d, pid_t tid)
{
	struct user_regs_struct regs;
	uint8_t bytes[JUMP_BYTES];
	int32_t by;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) ||
	    !patches_islands_has(d->islands, regs.rip) ||
	    tracee_read(&d->t, regs.rip, bytes, sizeof(bytes)) || bytes[0] != JUMP)
		return;
	memcpy(&by, bytes + 1, sizeof(by));
	regs.rip += JUMP_BYTES + by;
	ptrace(PTRACE_SETREGS, tid, NULL, &regs);
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

/* Reads what the stopped process has mapped; with @files, of which files. */
static int read_maps(struct detaching *d, bool files)
{
	d->n_maps = files ? tracee_maps(d->pid, &d->maps) : tracee_ranges(d->pid, &d->maps);
	return d->n_maps < 0 ? d->n_maps : 0;
}

/* Calls @frame with @d for where threads are, and whatever the frames of signals lead back to. */
static void each_place(struct detaching *d, void (*frame)(void *ctx, uint64_t ip))
{
	struct user_regs_struct regs;

	for (uint32_t i = 0; i < d->all.n; i++) {
		if (ptrace(PTRACE_GETREGS, d->all.at[i].tid, NULL, &regs))
			continue;
		frame(d, regs.rip);
		frames_each(&d->t, d->maps, d->n_maps, regs.rsp, frame, d);
	}
}

static void look_back(void *ctx, uint64_t ip)
{
	struct detaching *d = ctx;

	d->leads_back |= is_code(d->record, ip);
}

/* Whether a thread is in a trampoline, or the frame of a signal leads back there. */
static bool is_needed(struct detaching *d)
{
	d->leads_back = false;
	each_place(d, look_back);
	return d->leads_back;
}

static void keep_island(void *ctx, uint64_t ip)
{
	struct detaching *d = ctx;

	if (!patches_islands_has(d->islands, ip))
		return;
	patches_keep_island(d->record, ip);
	d->out->left++;
}

/* Islands that a thread is still at, or the frame of a signal leads back to, are to stay as they
 * are. */
static int keep_islands(struct detaching *d)
{
	int err = d->islands->n ? read_maps(d, false) : 0;

	if (!err && d->islands->n)
		each_place(d, keep_island);
	return err;
}

/* The rings stay, empty: a thread's stack that is kept for another thread may still name one. */
static int empty_rings(const struct patch_record *record, const struct tracee *t)
{
	static const struct patch_ring empty;
	struct patch_local local = {0};
	int err = record->rings
			  ? tracee_read(t, record->rings - PATCH_LOCAL_BYTES, &local, sizeof(local))
			  : 0;

	for (uint64_t i = 0; !err && i < local.n_rings && i < PATCH_RINGS; i++)
		err = tracee_write(t, record->rings + i * PATCH_RING_BYTES, &empty, sizeof(empty));
	return err;
}

/* Unmaps what the process has of the memory that it was given: the code, or all else. */
static void unmap(const struct detaching *d, bool code)
{
	int64_t result;

	for (int i = 0; i < d->n_maps; i++) {
		const struct tracee_map *map = &d->maps[i];

		if (map->dev == d->out->dev && map->executable == code &&
		    (map->ino == d->out->ino || map->ino == d->record->chunks_ino))
			tracee_syscall(&d->t, SYS_munmap,
				       (uint64_t[]){map->start, map->end - map->start, 0, 0, 0, 0},
				       &result);
	}
}

/* The first thread is one that no filter of its own may end the process for what it unmaps; false:
 * there is none. Filters may have come since the process was patched. */
static bool put_free_first(struct threads *all)
{
	for (uint32_t i = 0; i < all->n; i++) {
		struct thread t = all->at[i];

		if (filters_forbid(t.tid))
			continue;
		all->at[i] = all->at[0];
		all->at[0] = t;
		return true;
	}
	return false;
}

/* The threads are in no trampoline any more: what leads unwinders to the code goes, the code goes,
 * and then, while the threads but one go on, what they wrote to. -EAGAIN: somebody else has come to
 * stand between the unwinders and the code. */
static int give_back(struct detaching *d)
{
	int err = unwinders_restore(d->record, &d->t);

	if (err)
		return err < 0 ? err : -EAGAIN;
	err = empty_rings(d->record, &d->t);
	if (!err && !put_free_first(&d->all))
		err = -EPERM;
	d->t.pid = d->all.at[0].tid;
	if (!err)
		unmap(d, true);
	threads_release_others(&d->all);
	if (!err)
		unmap(d, false);
	return err;
}

static int restore(struct detaching *d)
{
	struct detached *out = d->out;
	uint32_t n_written = 0;
	int err = keep_islands(d), n = err ? err : patches_restore(d->record, &d->t);

	patches_keep_none(d->record);
	for (uint32_t i = 0; i < d->record->n_entries; i++)
		n_written += d->record->entries[i].kind == PATCH_ENTRY_WITNESS &&
			     d->record->entries[i].written;
	if (n < 0)
		return n;
	out->restored = n;
	out->left += n_written - n;
	out->done = true;
	return 0;
}

static void release(struct detaching *d)
{
	uint64_t stopped_ns = d->all.since_ns ? clock_now_ns() - d->all.since_ns : 0;

	threads_release(&d->all);
	tracee_close(&d->t);
	if (d->n_maps > 0)
		free(d->maps);
	d->n_maps = 0;
	if (stopped_ns > d->out->stopped_ns)
		d->out->stopped_ns = stopped_ns;
}

/* Stops the process where its text may change. */
static int stop(struct detaching *d)
{
	int err = tracee_open(&d->t, d->pid);

	if (!err)
		err = threads_stop(&d->all, d->pid);
	for (uint32_t i = 0; !err && i < d->all.n; i++)
		leave_island(d, d->all.at[i].tid);
	if (!err && !d->all.n)
		err = -ESRCH;
	return err == -ENOENT || err == -EACCES ? -ESRCH : err;
}

/* Once nobody is in the code any more it goes. -EAGAIN: not yet. An operation of surgeon_run(). */
static int give_back_code(void *ctx)
{
	struct detaching *d = ctx;
	int err = stop(d);

	if (!err && d->last)
		err = threads_come_out(&d->all, &d->t, d->pid, is_in_code, d);
	if (!err)
		err = read_maps(d, true);
	if (!err)
		err = is_needed(d) ? -EAGAIN : give_back(d);
	release(d);
	return err;
}

/* The text is as it was: whoever is in a trampoline comes out of it and back no more. Each time
 * there is another child: a thread that does not stop in time is let go with that. */
static void give_back_soon(struct detached *out)
{
	struct patches_islands *islands = patches_islands_new(out->record);
	struct detaching d = {.record = out->record,
			      .islands = islands,
			      .pid = out->pid,
			      .t.mem_fd = -1,
			      .out = out};
	int err = islands ? -EAGAIN : -ENOMEM;

	for (int i = 0; islands && err && err != -ESRCH && err != -EPERM && i < ROUNDS; i++) {
		nanosleep(&(struct timespec){.tv_nsec = ROUND_NS << i}, NULL);
		d.last = i + 1 == ROUNDS;
		err = surgeon_run(give_back_code, &d);
	}
	free(islands);
	out->kept = err && err != -ESRCH;
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
	struct stat memory;

	if (n > 0 && fstat(a->areas[area]->fd, &memory)) {
		free(pids);
		return 0;
	}
	for (int i = 0; i < n; i++) {
		if (is_stopped(a, pids[i]))
			continue;
		if (a->out->n == DETACHED_MAX) {
			a->out->n_over++;
			continue;
		}
		struct detaching *d = &a->each[a->out->n];

		*d = (struct detaching){.record = a->areas[area]->record,
					.islands = a->islands[area],
					.pid = pids[i],
					.t.mem_fd = -1,
					.out = &a->out->each[a->out->n++]};
		d->out->pid = pids[i];
		d->out->area = a->areas[area]->number;
		d->out->record = d->record;
		d->out->dev = memory.st_dev;
		d->out->ino = memory.st_ino;
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
	for (uint32_t i = 0; i < a->n_areas; i++)
		if (a->areas[i]->number &&
		    !(a->islands[i] = patches_islands_new(a->areas[i]->record)))
			return -ENOMEM;
	while (found) { /* what was forked meanwhile */
		found = 0;
		a->out->n_over = 0;
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

int detach_process(struct patch_record *record, int memory_fd, pid_t pid, struct detached **out)
{
	struct patches_islands *islands = patches_islands_new(record);
	struct detaching d = {.record = record,
			      .islands = islands,
			      .pid = pid,
			      .t.mem_fd = -1,
			      .out = surgeon_memory(sizeof(*d.out))};
	struct stat memory = {0};
	int err = !islands || !d.out ? -ENOMEM : fstat(memory_fd, &memory) ? -errno : -ETIMEDOUT;

	if (d.out)
		*d.out = (struct detached){
			.record = record, .pid = pid, .dev = memory.st_dev, .ino = memory.st_ino};
	for (int i = 0; i < ROUNDS && err == -ETIMEDOUT; i++)
		err = surgeon_run(restore_one, &d);
	if (d.out)
		d.out->kept = true;
	if (!err && !d.out->left)
		give_back_soon(d.out);
	free(islands);
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
