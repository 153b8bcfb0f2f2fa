// SPDX-License-Identifier: LGPL-2.1-or-later
/* one_processor.c: see one_processor.h. A thread that was begun meanwhile gets what its process'
 * first thread had. Children are found by their parents as long as these live; what is recorded is
 * known to who records it. */
#include "user/values/stop/one_processor.h"

#include "offline/base/own_nice.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSORS = 8192, MASK_BYTES = PROCESSORS / 8, DEPTH = 16 };

struct thread_mask {
	pid_t tid;
	uint8_t may_use[MASK_BYTES];
};

struct one_processor {
	pid_t pid;
	uint8_t one[MASK_BYTES];
	uint8_t own[MASK_BYTES]; /* where the thread might run that has taken it */
	int own_nice;		 /* its priority, while it hurries */
	bool hurries, taken;
	struct thread_mask *threads; /* the first is the process' first */
	size_t n, room;
	pid_t *stay; /* threads that got nothing back */
	unsigned n_stay;
};

static int get_mask(pid_t tid, uint8_t mask[MASK_BYTES])
{
	memset(mask, 0, MASK_BYTES);
	return sched_getaffinity(tid, MASK_BYTES, (cpu_set_t *)mask) ? -errno : 0;
}

static int set_mask(pid_t tid, const uint8_t mask[MASK_BYTES])
{
	return sched_setaffinity(tid, MASK_BYTES, (const cpu_set_t *)mask) ? -errno : 0;
}

/* Calls @fn for each thread of @pid. Returns how many there were; or the first error, of @fn or of
 * looking for them. */
static int each_thread(pid_t pid, int (*fn)(struct one_processor *p, pid_t tid),
		       struct one_processor *p)
{
	char path[32];
	struct dirent *e;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (n >= 0 && (e = readdir(dir))) {
		pid_t tid = atoi(e->d_name);
		int err = tid > 0 ? fn(p, tid) : 0;

		n = err ? err : n + (tid > 0);
	}
	closedir(dir);
	return n;
}

/* Where the process ran last, if it may go on there; else the first that it may use. */
static unsigned choose(pid_t pid, const uint8_t mask[MASK_BYTES])
{
	enum { PROCESSOR = 36 }; /* fields behind the state, of proc_pid_stat(5) */
	char path[32], line[1024] = "";
	unsigned last = PROCESSORS;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "re");
	if (f && fgets(line, sizeof(line), f)) {
		char *at = strrchr(line, ')'); /* behind the name, which may hold anything */

		for (int i = 0; at && i <= PROCESSOR; i++)
			at = strchr(at + 1, ' ');
		last = at ? (unsigned)atoi(at) : PROCESSORS;
	}
	if (f)
		fclose(f);
	if (last < PROCESSORS && mask[last / 8] >> last % 8 & 1)
		return last;
	for (last = 0; last < PROCESSORS - 1 && !(mask[last / 8] >> last % 8 & 1);)
		last++;
	return last;
}

static int note(struct one_processor *p, pid_t tid)
{
	if (p->n == p->room) {
		size_t room = p->room ? 2 * p->room : 16;
		struct thread_mask *threads = realloc(p->threads, room * sizeof(*threads));

		if (!threads)
			return -ENOMEM;
		p->threads = threads;
		p->room = room;
	}
	struct thread_mask *t = &p->threads[p->n];
	t->tid = tid;
	int err = get_mask(tid, t->may_use);
	p->n += !err;
	return err == -ESRCH ? 0 : err;
}

int one_processor_begin(pid_t pid, struct one_processor **out, struct pugmark_diag *diag)
{
	struct one_processor *p = calloc(1, sizeof(*p));
	int err = p ? each_thread(pid, note, p) : -ENOMEM;

	if (err >= 0 && !p->n)
		err = -ESRCH;
	if (err >= 0) {
		unsigned cpu = choose(pid, p->threads[0].may_use);

		p->pid = pid;
		p->one[cpu / 8] = (uint8_t)(1 << cpu % 8);
		err = 0;
	}
	for (size_t i = 0; !err && i < p->n; i++) {
		err = set_mask(p->threads[i].tid, p->one);
		err = err == -ESRCH ? 0 : err;
	}
	if (err) {
		unsigned stay = one_processor_end(p);
		char text[64] = "";

		if (stay)
			snprintf(text, sizeof(text), " (%u of them stay%s there)", stay,
				 stay == 1 ? "s" : "");
		return pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET,
					"putting the threads of process %d on one processor: %s%s",
					pid, strerror(-err), text);
	}
	*out = p;
	return 0;
}

/* Counts it once, however often it is tried. */
static void note_staying(struct one_processor *p, pid_t tid)
{
	for (unsigned i = 0; i < p->n_stay; i++)
		if (p->stay[i] == tid)
			return;
	pid_t *stay = realloc(p->stay, (p->n_stay + 1) * sizeof(*stay));
	if (!stay)
		return;
	p->stay = stay;
	stay[p->n_stay++] = tid;
}

static int give_back(struct one_processor *p, pid_t tid)
{
	uint8_t now[MASK_BYTES];
	const struct thread_mask *had = &p->threads[0];

	for (size_t i = 0; i < p->n; i++)
		if (p->threads[i].tid == tid)
			had = &p->threads[i];
	if (get_mask(tid, now) || memcmp(now, p->one, sizeof(now)))
		return 0;
	int err = set_mask(tid, had->may_use);
	if (err && err != -ESRCH)
		note_staying(p, tid);
	return 0;
}

/* Of threads that are scheduled in real time one that spins would keep this one waiting. */
static int refuse_real_time(struct one_processor *p, pid_t tid)
{
	int policy = sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK;

	(void)p;
	return policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE ? -EBUSY : 0;
}

void one_processor_take(struct one_processor *p)
{
	if (each_thread(p->pid, refuse_real_time, p) == -EBUSY)
		return;
	/* Threads of another session, or control group, get as much time as all of this one's. */
	p->own_nice = own_nice_first();
	p->hurries = true;
	p->taken = !get_mask(0, p->own) && !set_mask(0, p->one);
}

void one_processor_leave(struct one_processor *p)
{
	if (!p->hurries)
		return;
	if (p->taken)
		set_mask(0, p->own);
	own_nice_put_back(p->own_nice);
	p->taken = p->hurries = false;
}

void one_processor_give_back(struct one_processor *p, pid_t tid)
{
	give_back(p, tid);
}

static void give_back_to(struct one_processor *p, pid_t pid, int depth);

/* The children of one thread. */
static void give_back_to_children(struct one_processor *p, pid_t pid, pid_t tid, int depth)
{
	char path[64];
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, tid);
	FILE *f = fopen(path, "re");
	while (f && fscanf(f, "%d", &child) == 1)
		give_back_to(p, child, depth + 1);
	if (f)
		fclose(f);
}

static void give_back_to(struct one_processor *p, pid_t pid, int depth)
{
	char path[32];
	struct dirent *e;

	/* Twice: a thread may have been begun meanwhile. */
	each_thread(pid, give_back, p);
	int n = each_thread(pid, give_back, p);
	if (n < 0 && n != -ESRCH) /* nobody can tell of its threads, nor of their children */
		note_staying(p, pid);
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = depth < DEPTH ? opendir(path) : NULL;
	while (dir && (e = readdir(dir)))
		if (atoi(e->d_name) > 0)
			give_back_to_children(p, pid, atoi(e->d_name), depth);
	if (dir)
		closedir(dir);
}

unsigned one_processor_end(struct one_processor *p)
{
	if (!p)
		return 0;
	if (p->n && p->pid)
		give_back_to(p, p->pid, 0);
	unsigned stay = p->n_stay;
	free(p->threads);
	free(p->stay);
	free(p);
	return stay;
}
