// SPDX-License-Identifier: LGPL-2.1-or-later
/* code_watch.c: see code_watch.h. What both sides use is counted: the last one to leave frees it.
 */
#include "user/record/write/code_watch.h"

#include "offline/base/clock.h"
#include "user/proc/code_names.h"
#include "user/proc/maps_watch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROCESSES = 128, SEEN_MAX = 1024, TICK_MS = 20, QUEUE = 16, END_S = 2 };
/* Where nothing is new a process is looked at more and more rarely. */
#define WAIT_MIN_NS UINT64_C(20000000)
#define WAIT_MAX_NS UINT64_C(80000000)

struct process {
	struct code_names *names;
	int32_t pid;
	uint64_t next_ns, wait_ns;
};

struct code_watch {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct maps_watch *maps; /* under lock, as all up to `process`; NULL once it has ended */
	struct {
		struct chunk_code *text;
		uint32_t bytes;
	} queue[QUEUE];
	uint32_t n;
	bool ending, ended, too_many, too_many_processes;
	int users;
	bool gave_up; /* of whoever ends it: it has not waited for the end */
	/* Of the thread. */
	struct process process[PROCESSES];
	uint32_t n_processes;
	int32_t pids[SEEN_MAX];
};

static void leave(struct code_watch *w)
{
	pthread_mutex_lock(&w->lock);
	bool last = !--w->users;
	pthread_mutex_unlock(&w->lock);
	if (!last)
		return;
	for (uint32_t i = 0; i < w->n_processes; i++)
		code_names_free(w->process[i].names);
	for (uint32_t i = 0; i < w->n; i++)
		free(w->queue[i].text);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
	free(w);
}

/* Waits a moment, or until it is to end. */
static void rest(struct code_watch *w)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += TICK_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&w->lock);
	if (!w->ending)
		pthread_cond_timedwait(&w->changed, &w->lock, &until);
	pthread_mutex_unlock(&w->lock);
}

/* Puts a copy of @text where it is taken from, once there is room. Returns whether anybody takes
 * it.
 */
static bool hand_over(struct code_watch *w, const struct chunk_code *text, uint32_t bytes)
{
	struct chunk_code *copy = malloc(bytes);
	if (copy)
		memcpy(copy, text, bytes);
	pthread_mutex_lock(&w->lock);
	while (w->n == QUEUE && w->maps)
		pthread_cond_wait(&w->changed, &w->lock);
	bool taken = w->maps && copy;
	if (taken) {
		w->queue[w->n].text = copy;
		w->queue[w->n++].bytes = bytes;
	}
	pthread_mutex_unlock(&w->lock);
	if (!taken)
		free(copy);
	return taken;
}

static void look(struct code_watch *w, struct process *p, bool last)
{
	uint64_t now_ns = clock_now_ns();
	const struct chunk_code *text;
	uint32_t bytes;
	bool any = false;
	if (now_ns < p->next_ns && !last)
		return;
	do {
		while ((text = code_names_look(p->names, &bytes)) && hand_over(w, text, bytes))
			any = true;
		any |= code_names_more(p->names);
	} while (last && code_names_more(p->names));
	p->wait_ns = any ? WAIT_MIN_NS : p->wait_ns < WAIT_MAX_NS ? 2 * p->wait_ns : WAIT_MAX_NS;
	p->next_ns = now_ns + p->wait_ns;
	if (!code_names_too_many(p->names))
		return;
	pthread_mutex_lock(&w->lock);
	w->too_many = true;
	pthread_mutex_unlock(&w->lock);
}

static bool has_ended(int32_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

/* A place for one more: after all others, or that of a process that has ended, at whose map is
 * looked for the last time. NULL: there is none. */
static struct process *place(struct code_watch *w)
{
	if (w->n_processes < PROCESSES)
		return &w->process[w->n_processes++];
	for (uint32_t i = 0; i < PROCESSES; i++) {
		struct process *p = &w->process[i];
		if (!has_ended(p->pid))
			continue;
		look(w, p, true);
		code_names_free(p->names);
		p->names = NULL;
		return p;
	}
	return NULL;
}

/* Takes in a process that is new. Of more than there is room for the last ones have no names, which
 * is noted. Returns whether there may be room for others. */
static bool take_in(struct code_watch *w, int32_t pid)
{
	struct code_names *names = has_ended(pid) ? NULL : code_names_new(pid);
	struct process *p = names ? place(w) : NULL;
	if (p) {
		*p = (struct process){.names = names, .pid = pid, .wait_ns = WAIT_MIN_NS};
		return true;
	}
	if (!names)
		return true;
	code_names_free(names);
	pthread_mutex_lock(&w->lock);
	w->too_many_processes = true;
	pthread_mutex_unlock(&w->lock);
	return false;
}

static void meet(struct code_watch *w)
{
	pthread_mutex_lock(&w->lock);
	uint32_t n = w->maps ? maps_watch_processes(w->maps, w->pids, SEEN_MAX) : 0;
	pthread_mutex_unlock(&w->lock);
	bool room = true;
	for (uint32_t i = 0; i < n && room; i++) {
		uint32_t k = 0;
		while (k < w->n_processes && w->process[k].pid != w->pids[i])
			k++;
		if (k == w->n_processes)
			room = take_in(w, w->pids[i]);
	}
}

static void *watch_main(void *context)
{
	struct code_watch *w = context;
	for (bool last = false; !last;) {
		rest(w);
		pthread_mutex_lock(&w->lock);
		last = w->ending;
		pthread_mutex_unlock(&w->lock);
		meet(w);
		for (uint32_t i = 0; i < w->n_processes; i++)
			look(w, &w->process[i], last);
	}
	pthread_mutex_lock(&w->lock);
	w->ended = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	leave(w);
	return NULL;
}

struct code_watch *code_watch_new(struct maps_watch *maps)
{
	struct code_watch *w = calloc(1, sizeof(*w));
	pthread_condattr_t by_clock;
	pthread_attr_t detached;
	pthread_t thread;
	if (!w)
		return NULL;
	w->maps = maps;
	w->users = 2;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&by_clock);
	pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &by_clock);
	pthread_condattr_destroy(&by_clock);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	int err = pthread_create(&thread, &detached, watch_main, w);
	pthread_attr_destroy(&detached);
	if (!err)
		return w;
	w->users = 1;
	leave(w);
	return NULL;
}

struct chunk_code *code_watch_take(struct code_watch *w, uint32_t *bytes)
{
	struct chunk_code *text = NULL;
	if (!w)
		return NULL;
	pthread_mutex_lock(&w->lock);
	if (w->n) {
		text = w->queue[0].text;
		*bytes = w->queue[0].bytes;
		memmove(w->queue, w->queue + 1, --w->n * sizeof(*w->queue));
		pthread_cond_broadcast(&w->changed);
	}
	pthread_mutex_unlock(&w->lock);
	return text;
}

void code_watch_end(struct code_watch *w)
{
	struct timespec until;
	int err = 0;
	if (!w)
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += END_S;
	pthread_mutex_lock(&w->lock);
	w->ending = true;
	pthread_cond_broadcast(&w->changed);
	while (!w->ended && err != ETIMEDOUT)
		err = pthread_cond_timedwait(&w->changed, &w->lock, &until);
	w->gave_up = !w->ended;
	w->maps = NULL;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

const char *code_watch_note(struct code_watch *w)
{
	if (!w)
		return NULL;
	/* A thread that was not waited for may still write. */
	pthread_mutex_lock(&w->lock);
	const char *note =
		w->too_many  ? "a process says of more code that it makes at run time what it is "
			       "called than is kept: what came last has no names"
		: w->gave_up ? "a process's file of names of the code that it makes at run time "
			       "could not be read to its end"
		: w->too_many_processes
			? "names of the code that processes make at run time were asked of 128 "
			  "processes at a time: others were there as well"
			: NULL;
	pthread_mutex_unlock(&w->lock);
	return note;
}

void code_watch_free(struct code_watch *w)
{
	if (w)
		leave(w);
}
