// SPDX-License-Identifier: LGPL-2.1-or-later
/* way.c: see way.h, and sandbox_give_way(). */
#include "user/sandbox/way.h"

#include "offline/base/clock.h"
#include "user/sandbox/sandbox.h"

#include <dirent.h>
#include <linux/capability.h>
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

static bool giving;
static bool nothing_left; /* of the machine: a child before did not get on */

void sandbox_give_way(void)
{
	giving = true;
}

/* Root may lack it, as in a container. */
static bool has_sys_nice(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct has[2] = {{0}, {0}};

	return !syscall(SYS_capget, &header, has) &&
	       has[CAP_TO_INDEX(CAP_SYS_NICE)].effective & CAP_TO_MASK(CAP_SYS_NICE);
}

/* Whoever rests as SCHED_IDLE is let run again by this process, which the kernel grants to
 * CAP_SYS_NICE alone. */
static bool can_rest(void)
{
	return giving && !nothing_left && has_sys_nice() && sched_getscheduler(0) == SCHED_OTHER;
}

void way_give(void)
{
	const struct sched_param none = {0};

	if (!giving)
		return;
	syscall(SYS_ioprio_set, IOPRIO_WHO_THREAD, 0, IOPRIO_IDLE);
	if (!can_rest() || sched_setscheduler(0, SCHED_IDLE, &none))
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

static void let_share(pid_t pid)
{
	const struct sched_param none = {0};
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		pid_t tid = atoi(e->d_name);

		if (tid <= 0)
			continue;
		setpriority(PRIO_PROCESS, tid, SHARE_NICE);
		sched_setscheduler(tid, SCHED_OTHER, &none);
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
		let_share(pid);
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
