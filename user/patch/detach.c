// SPDX-License-Identifier: LGPL-2.1-or-later
/* detach.c: see detach.h. Threads are stopped by PTRACE_INTERRUPT, which no signal is needed for
 * and which none of them sees. */
#include "user/patch/detach.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STEPS_MAX = 100000, ROUNDS_MAX = 64, SCAN_WORDS = 1 << 17 };

struct thread {
	pid_t tid;
	int signal; /* that it was about to take; 0: none */
};

struct threads {
	struct thread *at;
	uint32_t n, cap;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static bool is_known(const struct threads *all, pid_t tid)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (all->at[i].tid == tid)
			return true;
	return false;
}

static int add(struct threads *all, pid_t tid)
{
	if (all->n == all->cap) {
		uint32_t cap = all->cap ? 2 * all->cap : 16;
		struct thread *grown = realloc(all->at, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		all->at = grown;
		all->cap = cap;
	}
	all->at[all->n++] = (struct thread){tid, 0};
	return 0;
}

static void drop(struct threads *all, uint32_t i)
{
	all->at[i] = all->at[--all->n];
}

/* Waits until thread number @i is stopped; false: it has ended, and is gone from the list. */
static bool wait_stopped(struct threads *all, uint32_t i)
{
	int status;

	while (waitpid(all->at[i].tid, &status, __WALL) < 0)
		if (errno != EINTR) {
			drop(all, i);
			return false;
		}
	if (!WIFSTOPPED(status)) {
		drop(all, i);
		return false;
	}
	if (!(status >> 16)) /* a signal that is not yet taken */
		all->at[i].signal = WSTOPSIG(status);
	return true;
}

/* Stops the threads that are there; returns how many were new. */
static int stop_new(struct threads *all, pid_t pid)
{
	char path[32];
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	if (!dir)
		return -ESRCH;
	for (struct dirent *e; (e = readdir(dir));) {
		pid_t tid = atoi(e->d_name);

		if (tid <= 0 || is_known(all, tid) || ptrace(PTRACE_SEIZE, tid, NULL, NULL) ||
		    add(all, tid))
			continue;
		n++;
		ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
		wait_stopped(all, all->n - 1);
	}
	closedir(dir);
	return n;
}

static void release(const struct threads *all)
{
	for (uint32_t i = 0; i < all->n; i++)
		ptrace(PTRACE_DETACH, all->at[i].tid, NULL, (void *)(long)all->at[i].signal);
	free(all->at);
}

static bool is_code(const struct area *a, uint64_t addr)
{
	for (uint32_t m = 0; m < a->n_regions; m++)
		if (a->regions[m].addr && addr - a->regions[m].addr < a->regions[m].bytes)
			return true;
	return false;
}

/* Has the thread go on, step by step, until it is in no trampoline. */
static int step_out(const struct area *a, struct threads *all, uint32_t i)
{
	struct user_regs_struct regs;

	for (int steps = 0; steps < STEPS_MAX; steps++) {
		if (ptrace(PTRACE_GETREGS, all->at[i].tid, NULL, &regs))
			return -ESRCH;
		if (!is_code(a, regs.rip))
			return 0;
		if (ptrace(PTRACE_SINGLESTEP, all->at[i].tid, NULL, NULL))
			return -errno;
		if (!wait_stopped(all, i))
			return -ESRCH;
		if (all->at[i].signal == SIGTRAP)
			all->at[i].signal = 0;
	}
	return -ETIMEDOUT;
}

static void note_end(struct area *a, const struct tracee *t, pid_t tid, struct detached *out)
{
	struct user_regs_struct regs;
	struct patch_ring ring;
	uint64_t at, zero = 0;

	(void)a;
	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) || !regs.fs_base ||
	    tracee_read(t, regs.fs_base + PATCH_SLOT, &at, sizeof(at)) || !at)
		return;
	if (tracee_read(t, at, &ring, sizeof(ring)))
		return;
	tracee_write(t, regs.fs_base + PATCH_SLOT, &zero, sizeof(zero));
	if (!ring.lane)
		return;
	uint64_t off = !ring.chunk || ring.next >= ring.end ? PATCH_CHUNK : ring.next - ring.chunk;
	out->ends[out->n_ends++] =
		(struct lane_end){tid, ring.lane, PATCH_POSITION(ring.serial, off), ring.lost};
}

/* Whether anything above the thread's stack pointer looks like a way back into a trampoline, as the
 * frame of a signal that interrupted one does. */
static bool leads_back(const struct area *a, const struct tracee *t, pid_t tid)
{
	static uint64_t words[512];
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
		return false;
	for (uint32_t n = 0; n < SCAN_WORDS; n += 512) {
		uint64_t at = (regs.rsp & ~7ull) + 8 * (uint64_t)n;

		if (tracee_read(t, at, words, sizeof(words)))
			return false;
		for (int i = 0; i < 512; i++)
			if (is_code(a, words[i]))
				return true;
	}
	return false;
}

/* Gives back what the process was given, but for what somebody may come back to. The rings stay:
 * a thread's stack that is kept for another thread may still name one. */
static void unmap(const struct area *a, const struct tracee *t, bool keep)
{
	int64_t result;

	for (uint32_t m = 0; !keep && m < a->n_regions; m++)
		if (a->regions[m].addr)
			tracee_syscall(
				t, SYS_munmap,
				(uint64_t[]){a->regions[m].addr, a->regions[m].bytes, 0, 0, 0, 0},
				&result);
}

static int stop_all(struct threads *all, pid_t pid)
{
	for (int round = 0; round < ROUNDS_MAX; round++) {
		int n = stop_new(all, pid);
		if (n <= 0)
			return n < 0 && !all->n ? n : all->n ? 0 : -ESRCH;
	}
	return 0;
}

int detach_process(struct area *a, pid_t pid, const struct patch_module *modules,
		   void (*stopped)(void *ctx), void *ctx, struct detached *out)
{
	struct threads all = {0};
	struct tracee t = {.pid = pid, .mem_fd = -1};
	uint64_t since_ns = now_ns();

	*out = (struct detached){0};
	int err = stop_all(&all, pid);
	for (uint32_t i = all.n; !err && i-- > 0;) {
		int stepped = step_out(a, &all, i);
		if (stepped == -ETIMEDOUT)
			err = stepped;
	}
	if (!err && !all.n)
		err = -ESRCH;
	if (!err)
		err = tracee_open(&t, pid);
	if (!err) {
		t.pid = all.at[0].tid;
		out->ends = calloc(all.n, sizeof(*out->ends));
		err = out->ends ? 0 : -ENOMEM;
	}
	if (!err) {
		for (uint32_t i = 0; i < all.n; i++) {
			note_end(a, &t, all.at[i].tid, out);
			out->kept |= leads_back(a, &t, all.at[i].tid);
		}
		stopped(ctx);
		int n = area_restore(a, &t, modules);
		out->restored = n < 0 ? 0 : n;
		out->left = a->n_patched - out->restored;
		err = n < 0 ? n : 0;
		out->kept |= out->left > 0;
		if (!err)
			unmap(a, &t, out->kept);
	}
	release(&all);
	tracee_close(&t);
	out->stopped_ns = now_ns() - since_ns;
	return err;
}
