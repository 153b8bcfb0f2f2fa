// SPDX-License-Identifier: LGPL-2.1-or-later
/* way.c: see way.h, and sandbox_give_way(). */
#include "user/sandbox/way.h"

#include "offline/base/clock.h"
#include "user/sandbox/sandbox.h"

#include <dirent.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 2000000000ull
#define LEAST_NS (LOOK_NS / 10) /* who has had less of a processor does not get on */

enum { SHARE_NICE = 10, IOPRIO_WHO_THREAD = 1, IOPRIO_IDLE = 3 << 13 };

static _Atomic bool giving;
static _Atomic bool nothing_left; /* of the machine: who rested did not get on */

/* The thread of this process that rests, and the one that looks whether it gets on. */
static struct {
	pid_t tid;	  /* 0: none rests */
	int nice, ioprio; /* which it had before */
	uint64_t waited_ns;
	bool over;
	pthread_t looks;
	pthread_mutex_t lock; /* of over */
	pthread_cond_t changed;
} rests = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Root may lack it, as in a container. */
static bool has_sys_nice(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct has[2] = {{0}, {0}};

	return !syscall(SYS_capget, &header, has) &&
	       has[CAP_TO_INDEX(CAP_SYS_NICE)].effective & CAP_TO_MASK(CAP_SYS_NICE);
}

/* Whoever rests as SCHED_IDLE is let run again by this process, which the kernel grants to
 * CAP_SYS_NICE alone. Whoever was started with another policy (chrt) keeps it. */
static bool can_rest(void)
{
	return giving && !nothing_left && has_sys_nice() &&
	       (rests.tid || sched_getscheduler(0) == SCHED_OTHER);
}

static bool schedule_as(pid_t tid, int policy)
{
	const struct sched_param none = {0};

	return !sched_setscheduler(tid, policy, &none);
}

/* A small share, instead of what nobody else wants. */
static void let_share(pid_t tid)
{
	setpriority(PRIO_PROCESS, tid, SHARE_NICE);
	schedule_as(tid, SCHED_OTHER);
}

void way_give(void)
{
	if (!giving)
		return;
	syscall(SYS_ioprio_set, IOPRIO_WHO_THREAD, 0, IOPRIO_IDLE);
	if (can_rest() && schedule_as(0, SCHED_IDLE))
		return;
	if (rests.tid) /* a child of a thread that rests does so from its beginning */
		let_share(0);
	else
		setpriority(PRIO_PROCESS, 0, SHARE_NICE);
}

struct way way_begin(void)
{
	return (struct way){.given = can_rest(), .since_ns = clock_now_ns()};
}

/* 0: the child is no more. */
static uint64_t cpu_ns(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
		return 0;
	return used.tv_sec * 1000000000ull + used.tv_nsec;
}

static void let_all_share(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		pid_t tid = atoi(e->d_name);

		if (tid > 0)
			let_share(tid);
	}
	if (dir)
		closedir(dir);
}

void way_look(struct way *way, pid_t pid)
{
	uint64_t now_ns = way->given ? clock_now_ns() : 0;

	if (!way->given || now_ns - way->since_ns < LOOK_NS)
		return;
	uint64_t had_ns = cpu_ns(pid);
	if (had_ns - way->cpu_ns < LEAST_NS) {
		let_all_share(pid);
		way->given = false;
		nothing_left = true;
	}
	way->since_ns = now_ns;
	way->cpu_ns = had_ns;
}

int way_wait_ms(const struct way *way)
{
	return way->given ? (int)(LOOK_NS / 1000000) + 1 : -1;
}

/* ---- the thread that asked ---- */

/* How long that thread has waited for a processor; false: this kernel does not say. */
static bool read_waited(pid_t tid, uint64_t *ns)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	FILE *f = fopen(path, "re");
	bool read = f && fscanf(f, "%*u %" SCNu64, ns) == 1;
	if (f)
		fclose(f);
	return read;
}

/* False: it waits for a processor nearly all the time. */
static bool gets_on(void)
{
	uint64_t before_ns = rests.waited_ns;

	return read_waited(rests.tid, &rests.waited_ns) &&
	       rests.waited_ns - before_ns < LOOK_NS - LEAST_NS;
}

static void *look_main(void *context)
{
	struct timespec until;

	(void)context;
	schedule_as(0, SCHED_OTHER);
	clock_gettime(CLOCK_MONOTONIC, &until);
	pthread_mutex_lock(&rests.lock);
	while (!rests.over && !nothing_left) {
		until.tv_sec += LOOK_NS / 1000000000;
		while (!rests.over && !pthread_cond_clockwait(&rests.changed, &rests.lock,
							      CLOCK_MONOTONIC, &until))
			;
		nothing_left = nothing_left || (!rests.over && !gets_on());
	}
	if (!rests.over)
		let_share(rests.tid);
	pthread_mutex_unlock(&rests.lock);
	return NULL;
}

void sandbox_give_way(void)
{
	giving = true;
	if (rests.tid || !can_rest() || !read_waited(gettid(), &rests.waited_ns))
		return;
	rests.nice = getpriority(PRIO_PROCESS, 0);
	rests.ioprio = (int)syscall(SYS_ioprio_get, IOPRIO_WHO_THREAD, 0);
	rests.over = false;
	rests.tid = gettid();
	if (pthread_create(&rests.looks, NULL, look_main, NULL)) {
		rests.tid = 0;
		return;
	}
	way_give();
}

void sandbox_get_on(void)
{
	if (!rests.tid)
		return;
	schedule_as(rests.tid, SCHED_OTHER);
	pthread_mutex_lock(&rests.lock);
	rests.over = true;
	pthread_cond_signal(&rests.changed);
	pthread_mutex_unlock(&rests.lock);
	pthread_join(rests.looks, NULL);
	setpriority(PRIO_PROCESS, rests.tid, rests.nice);
	syscall(SYS_ioprio_set, IOPRIO_WHO_THREAD, rests.tid, rests.ioprio);
	rests.tid = 0;
}
