// SPDX-License-Identifier: LGPL-2.1-or-later
/* deaths.c: see deaths.h. */
#include "user/record/write/deaths.h"

#include "user/record/write/generations.h"
#include "user/record/write/recording_meta.h"

#include <errno.h>
#include <pthread.h>
#include <pugmark/model.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROCESSES_TOLD = 16, /* one at a time they are told; of more only how many */
	THREADS_TOLD = 8,    /* of a process */
	HITS_TOLD = 3,	     /* of a thread */
	OPEN_MAX = 64,	     /* processes of which some threads have ended */
};
#define HANDLED_NS 1000000000ull /* from a signal that was handled to the end */

/* A process of which threads have died, and what is to be said of it. */
struct dying {
	int32_t pid; /* 0: nobody */
	uint32_t threads;
	char *first,
		*others; /* of the thread that took the signal; of the threads that ended with it */
};

struct deaths {
	pthread_mutex_t lock;
	struct dying open[OPEN_MAX];
	char *words; /* not taken yet */
	uint32_t processes;
};

static bool is_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGILL || signal == SIGTRAP || signal == SIGBUS;
}

static bool died_of_it(const struct process_record *r)
{
	return is_fault(r->exit_code & 0x7f);
}

bool death_is(const struct process_record *r)
{
	return died_of_it(r) ||
	       (r->fault.signal && r->exit_code && r->time_ns - r->fault.time_ns < HANDLED_NS);
}

struct deaths *deaths_new(void)
{
	struct deaths *d = calloc(1, sizeof(*d));

	if (d)
		pthread_mutex_init(&d->lock, NULL);
	return d;
}

void deaths_free(struct deaths *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < OPEN_MAX; i++) {
		free(d->open[i].first);
		free(d->open[i].others);
	}
	free(d->words);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* ---- the line of the recording ---- */

static json_t *hits_json(const struct last_hits *hits)
{
	json_t *list = json_array();
	uint64_t from = hits->n > LAST_HITS ? hits->n - LAST_HITS : 0;

	for (uint64_t i = from; i < hits->n; i++) {
		const struct last_hit *h = &hits->at[i % LAST_HITS];

		json_array_append_new(list, json_pack("[III]", (json_int_t)h->module,
						      (json_int_t)h->site, (json_int_t)h->time_ns));
	}
	return list;
}

static int add_line(struct process_lines *lines, const struct death *death)
{
	const struct process_record *r = death->exit;
	char comm[sizeof(r->comm) + 1] = "";
	json_t *j = json_object();

	memcpy(comm, r->comm, sizeof(r->comm));
	json_object_set_new(j, "ev", json_string("died"));
	json_object_set_new(j, "t", json_integer(r->time_ns));
	json_object_set_new(j, "task", json_integer(r->task));
	json_object_set_new(j, "tid", json_integer(r->tid));
	json_object_set_new(j, "pid", json_integer(r->pid));
	json_object_set_new(j, "comm", recording_json_text(comm));
	json_object_set_new(j, "code", json_integer(r->exit_code));
	if (r->fault.signal) {
		json_object_set_new(j, "signal", json_integer(r->fault.signal));
		json_object_set_new(j, "si_code", json_integer(r->fault.code));
		json_object_set_new(j, "si_addr", json_integer(r->fault.addr));
		json_object_set_new(j, "ip", json_integer(death->ip));
		json_object_set_new(j, "at", json_integer(r->fault.time_ns));
	}
	if (r->fault.signal && death->module != UINT32_MAX) {
		json_object_set_new(j, "module", json_integer(death->module));
		json_object_set_new(j, "addr", json_integer(death->addr));
	}
	json_object_set_new(j, "hits", hits_json(death->hits));
	return process_lines_json(lines, r->time_ns, j);
}

/* ---- the sentence ---- */

/* MODULE:FUNCTION+OFFSET */
static void put_place(FILE *f, const struct generations *all, uint32_t module, uint64_t addr)
{
	uint32_t slot;
	const struct generation *g = generations_of_module(all, module, &slot);
	const struct recorder_module *m = g ? &g->modules[slot] : NULL;
	const char *path = !m ? "?" : m->name ? m->name : m->path, *base = strrchr(path, '/');
	uint32_t func = m && m->plan ? pugmark_plan_func_of(m->plan, addr) : PUGMARK_NONE;

	fprintf(f, "%s:", base ? base + 1 : path);
	if (func == PUGMARK_NONE) {
		fprintf(f, "%llx", (unsigned long long)addr);
		return;
	}
	char *name = pugmark_demangle(m->plan->strings + m->plan->funcs[func].name);
	fprintf(f, "%s+0x%llx", name ? name : "?",
		(unsigned long long)(addr - m->plan->funcs[func].addr));
	free(name);
}

static void put_hits(FILE *f, const struct generations *all, const struct death *death,
		     uint64_t until_ns)
{
	const struct last_hits *hits = death->hits;

	for (uint64_t i = 0; i < hits->n && i < HITS_TOLD; i++) {
		const struct last_hit *h = &hits->at[(hits->n - 1 - i) % LAST_HITS];
		uint32_t slot;
		const struct generation *g = generations_of_module(all, h->module, &slot);

		fputs(i ? ", " : "", f);
		if (g && h->site < g->modules[slot].n_sites)
			put_place(f, all, h->module, g->modules[slot].sites[h->site].addr);
		if (h->time_ns && until_ns >= h->time_ns)
			fprintf(f, " (%.3f ms before)", (until_ns - h->time_ns) / 1e6);
	}
	fputs(hits->n ? "\n" : "none\n", f);
}

/* Of the thread that took the signal. */
static char *first_words(const struct death *death, const struct generations *all)
{
	const struct process_record *r = death->exit;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, "process %d (%.16s) ", r->pid, r->comm);
	if (died_of_it(r))
		fprintf(f, "died of SIG%s", sigabbrev_np(r->exit_code & 0x7f));
	else if (r->exit_code & 0x7f)
		fprintf(f, "died of SIG%s after its handler of SIG%s",
			sigabbrev_np(r->exit_code & 0x7f), sigabbrev_np(r->fault.signal));
	else
		fprintf(f, "ended with status %d after its handler of SIG%s",
			r->exit_code >> 8 & 0xff, sigabbrev_np(r->fault.signal));
	fprintf(f, " while it was recorded: thread %d, at ", r->tid);
	if (death->module != UINT32_MAX)
		put_place(f, all, death->module, death->addr);
	else
		fprintf(f, "%llx", (unsigned long long)death->ip);
	if (r->fault.code <= 0)
		fputs(", by a signal that was sent to it", f);
	else
		fprintf(f, ", address %llx", (unsigned long long)r->fault.addr);
	fputs("; the last probes that it hit: ", f);
	put_hits(f, all, death, r->fault.time_ns);
	fclose(f);
	return text;
}

/* Of one that ended with it, added to @others. */
static char *other_words(char *others, const struct death *death, const struct generations *all)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return others;
	fprintf(f, "%sits thread %d ended with it; the last probes that it hit: ",
		others ? others : "", death->exit->tid);
	put_hits(f, all, death, death->exit->time_ns);
	fclose(f);
	free(others);
	return text;
}

static struct dying *dying_of(struct deaths *d, int32_t pid)
{
	struct dying *unused = NULL;

	for (uint32_t i = 0; i < OPEN_MAX; i++) {
		if (d->open[i].pid == pid)
			return &d->open[i];
		if (!d->open[i].pid && !unused)
			unused = &d->open[i];
	}
	if (unused)
		unused->pid = pid;
	return unused;
}

/* Ends a process: its sentence is ready. Under the lock. */
static void close_dying(struct deaths *d, struct dying *dying)
{
	char *both = NULL;

	d->processes++;
	if (d->processes <= PROCESSES_TOLD &&
	    asprintf(&both, "%s%s%s", d->words ? d->words : "", dying->first ? dying->first : "",
		     dying->others ? dying->others : "") >= 0) {
		free(d->words);
		d->words = both;
	}
	free(dying->first);
	free(dying->others);
	*dying = (struct dying){0};
}

int deaths_add(struct deaths *d, const struct death *death, const struct generations *all,
	       struct process_lines *lines)
{
	const struct process_record *r = death->exit;

	pthread_mutex_lock(&d->lock);
	struct dying *dying = dying_of(d, r->pid);
	if (dying && r->fault.signal && !dying->first)
		dying->first = first_words(death, all);
	else if (dying && dying->threads++ < THREADS_TOLD)
		dying->others = other_words(dying->others, death, all);
	if (dying && r->last)
		close_dying(d, dying);
	pthread_mutex_unlock(&d->lock);
	return add_line(lines, death);
}

char *deaths_words(struct deaths *d, bool all)
{
	char *words, *more = NULL;

	if (all)
		pthread_mutex_lock(&d->lock);
	else if (pthread_mutex_trylock(
			 &d->lock)) /* held by a thread that may rest: the next time */
		return NULL;
	for (uint32_t i = 0; all && i < OPEN_MAX; i++)
		if (d->open[i].pid)
			close_dying(d, &d->open[i]);
	words = d->words;
	d->words = NULL;
	if (all && d->processes > PROCESSES_TOLD &&
	    asprintf(&more, "%sand %u more processes died so (`pugmark verify` names them)\n",
		     words ? words : "", d->processes - PROCESSES_TOLD) >= 0) {
		free(words);
		words = more;
	}
	pthread_mutex_unlock(&d->lock);
	return words;
}
