// SPDX-License-Identifier: LGPL-2.1-or-later
/* merge.c: see merge.h. Tasks are matched by how they came to be: the n-th that was born to the
 * same one, by birth. */
#include "user/share/merge.h"

#include "offline/log/recording_impl.h"
#include "offline/plan/plan_file.h"
#include "offline/prove/share_check.h"
#include "offline/share/share.h"
#include "offline/share/share_merge.h"
#include "user/share/divergence_words.h"
#include "user/share/merged_writer.h"
#include "user/share/share_plan.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct part {
	const char *dir;
	struct pugmark_recording *rec;
	struct pugmark_plan *plan;
	const struct pugmark_recording_task *tasks;
	uint32_t n_tasks;
	uint32_t *as_first; /* per task of the first part: index of the same one; or UINT32_MAX */
	struct pugmark_recording_iter *iter;
};

struct merge {
	struct part parts[SHARES_MAX]; /* by share */
	uint32_t n;
	struct pugmark_plan whole;
	struct pugmark_plan_site *sites; /* of the whole */
	uint64_t *members;
	struct share_teller *teller;
	struct merged_writer *writer;
	struct share_walk **forked; /* per task of the first part: where its parent was */
	uint32_t task;
	uint64_t last_fork; /* number of the child */
	uint64_t last_ns;
	struct merge_result *result;
	struct pugmark_diag *diag;
};

static int open_part(struct merge *m, const char *dir, uint32_t n)
{
	struct pugmark_recording *rec;
	struct pugmark_plan *plan = NULL;
	uint32_t n_modules = 0;
	int err = pugmark_recording_open(dir, &rec, m->diag);
	if (err)
		return err;
	const struct pugmark_recording_module *modules = pugmark_recording_modules(rec, &n_modules);
	if (n_modules != 1 || !modules[0].plan)
		err = pugmark_diag_set(m->diag, -EINVAL, dir, PUGMARK_NO_OFFSET,
				       "%u modules: a share is of one (record with --plan SHARE)",
				       n_modules);
	if (!err)
		err = plan_open_recorded(modules[0].plan, &plan, m->diag);
	if (!err && !plan->share)
		err = pugmark_diag_set(m->diag, -EINVAL, dir, PUGMARK_NO_OFFSET,
				       "not recorded under a share (make shares with pugmark plan "
				       "--shares, and record with --plan under each)");
	if (!err && plan->n_shares != n)
		err = pugmark_diag_set(
			m->diag, -EINVAL, dir, PUGMARK_NO_OFFSET,
			"share %u of %u, and %u recordings are given (give one under "
			"each share)",
			plan->share, plan->n_shares, n);
	if (!err)
		err = share_plan_check(plan, dir, m->diag);
	struct part *p = err ? NULL : &m->parts[plan->share - 1];
	if (!err && p->rec)
		err = pugmark_diag_set(m->diag, -EINVAL, dir, PUGMARK_NO_OFFSET,
				       "share %u once more: %s is of that share already",
				       plan->share, p->dir);
	if (err) {
		pugmark_plan_free(plan);
		pugmark_recording_free(rec);
		return err;
	}
	*p = (struct part){.dir = dir, .rec = rec, .plan = plan};
	p->tasks = pugmark_recording_tasks(rec, &p->n_tasks);
	return 0;
}

/* The member @key of meta.json, as text; the caller frees. */
static char *said(const struct pugmark_recording *rec, const char *key)
{
	json_t *meta = json_loads(pugmark_recording_info(rec)->meta, 0, NULL);
	const json_t *value = json_object_get(meta, key);
	char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : strdup("");
	json_decref(meta);
	return text;
}

static int check_same(struct merge *m, const struct part *p)
{
	const struct part *first = &m->parts[0];
	struct pugmark_diag *d = m->diag;
	if (p->plan->build_id_len != first->plan->build_id_len ||
	    memcmp(p->plan->build_id, first->plan->build_id, p->plan->build_id_len))
		return pugmark_diag_set(d, -EINVAL, p->dir, PUGMARK_NO_OFFSET,
					"of another build than %s (their build-ids differ)",
					first->dir);
	if (p->plan->share_set != first->plan->share_set ||
	    p->plan->n_sites != first->plan->n_sites)
		return pugmark_diag_set(d, -EINVAL, p->dir, PUGMARK_NO_OFFSET,
					"of another set of shares than %s: %016llx, not %016llx "
					"(record all under the shares of one manifest)",
					first->dir, (unsigned long long)p->plan->share_set,
					(unsigned long long)first->plan->share_set);
	char *ours = said(p->rec, "command"), *theirs = said(first->rec, "command");
	int err = !ours || !theirs ? -ENOMEM : strcmp(ours, theirs) ? -EINVAL : 0;
	if (err == -EINVAL)
		pugmark_diag_set(d, err, p->dir, PUGMARK_NO_OFFSET,
				 "of another command than %s: %.300s, not %.300s", first->dir, ours,
				 theirs);
	free(ours);
	free(theirs);
	for (uint32_t i = 0; !err && i < p->n_tasks; i++)
		if (p->tasks[i].attached)
			err = pugmark_diag_set(
				d, -EINVAL, p->dir, PUGMARK_NO_OFFSET,
				"of a process that ran already: only whole runs can be "
				"merged (record -- PROGRAM)");
	return err;
}

static int make_whole(struct merge *m)
{
	const struct pugmark_plan *first = m->parts[0].plan;
	m->sites = malloc((first->n_sites + 1) * sizeof(*m->sites));
	m->members = calloc(first->n_sites + 1, sizeof(*m->members));
	if (!m->sites || !m->members)
		return -ENOMEM;
	memcpy(m->sites, first->sites, first->n_sites * sizeof(*m->sites));
	for (uint32_t i = 0; i < first->n_sites; i++) {
		m->sites[i].elsewhere = 0;
		for (uint32_t k = 0; k < m->n && k < 64; k++) /* a bit each */
			m->members[i] |= (uint64_t)!m->parts[k].plan->sites[i].elsewhere << k;
	}
	m->whole = *first;
	m->whole.sites = m->sites;
	m->whole.share = m->whole.n_shares = 0;
	m->whole.storage = NULL; /* its bytes are those of the share's file */
	return share_teller_new(&m->whole, m->members, m->n, &m->teller);
}

/* How many tasks before @i have the same parent. */
static uint32_t place_among(const struct part *p, uint32_t i)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < i; k++)
		n += p->tasks[k].parent == p->tasks[i].parent;
	return n;
}

/* The task of @p that is the @place-th child of the one with number @parent. */
static uint32_t child_at(const struct part *p, uint32_t parent, uint32_t place)
{
	for (uint32_t i = 0; i < p->n_tasks; i++)
		if (p->tasks[i].parent == parent && !place--)
			return i;
	return UINT32_MAX;
}

static int match_tasks(struct merge *m)
{
	struct part *first = &m->parts[0];
	for (uint32_t k = 0; k < m->n; k++) {
		struct part *p = &m->parts[k];
		p->as_first = malloc((first->n_tasks + 1) * sizeof(*p->as_first));
		if (!p->as_first)
			return -ENOMEM;
		for (uint32_t i = 0; i < first->n_tasks; i++) {
			uint32_t parent = 0, at = UINT32_MAX;
			if (first->tasks[i].parent)
				at = pugmark_recording_task_index(first->rec,
								  first->tasks[i].parent);
			if (at != UINT32_MAX && at < i && p->as_first[at] != UINT32_MAX)
				parent = p->tasks[p->as_first[at]].number;
			else if (first->tasks[i].parent)
				parent = UINT32_MAX;
			p->as_first[i] = parent == UINT32_MAX
						 ? UINT32_MAX
						 : child_at(p, parent, place_among(first, i));
		}
	}
	return 0;
}

static int next(void *ctx, uint32_t part, const struct pugmark_witness_event **event)
{
	struct merge *m = ctx;
	struct part *p = &m->parts[part];
	struct pugmark_witness_event *taken = NULL;
	int got = p->iter ? recording_take(p->iter, &taken) : 0;
	*event = taken;
	return got;
}

static int emit(void *ctx, const struct pugmark_witness_event *event)
{
	struct merge *m = ctx;
	if (event->kind == PUGMARK_EVENT_FORK)
		m->last_fork = pugmark_event_child(event);
	m->last_ns = event->time_ns;
	return merged_writer_add(m->writer, event);
}

/* Says which decisions of the functions that ran one share alone tells, and counts them. */
static void print_alone(struct merge *m, const uint32_t *alone_of, FILE *out)
{
	enum { NAMED = 8 };
	uint32_t n = 0;
	for (uint32_t f = 0; f < m->whole.n_funcs; f++)
		if (share_teller_came_to(m->teller, f))
			m->result->alone += alone_of[f];
	if (!m->result->alone) {
		fputs("each decision was told by two of them or more", out);
		return;
	}
	fprintf(out,
		"exact if the runs agree in %llu decisions that one share alone tells "
		"(--tellers 2 has each told by two):",
		(unsigned long long)m->result->alone);
	for (uint32_t f = 0; f < m->whole.n_funcs; f++)
		if (share_teller_came_to(m->teller, f) && alone_of[f] && n++ < NAMED)
			fprintf(out, "%s %u in %s", n > 1 ? "," : "", alone_of[f],
				m->whole.strings + m->whole.funcs[f].name);
	if (n > NAMED)
		fprintf(out, ", and those of %u functions more", n - NAMED);
}

/* What the merge rests on, for whoever reads the certificate. */
static int note_merge(struct merge *m)
{
	char *text = NULL;
	size_t len = 0;
	uint32_t *alone_of = calloc(m->whole.n_funcs + 1, sizeof(*alone_of));
	FILE *f = alone_of ? open_memstream(&text, &len) : NULL;
	struct share_check_counts counts = {.alone_of = alone_of};
	int err = f ? share_check(&m->whole, m->members, m->n, NULL, NULL, &counts) : -ENOMEM;
	if (!err) {
		fprintf(f, "merged of runs under %u shares, which agree in %llu landmarks; ", m->n,
			(unsigned long long)m->result->landmarks);
		print_alone(m, alone_of, f);
	}
	if (f)
		fclose(f);
	if (!err)
		err = merged_writer_note(m->writer, text);
	free(text);
	free(alone_of);
	return err;
}

static int tell_divergence(struct merge *m, const struct share_divergence *d)
{
	const struct pugmark_recording_task *t = &m->parts[0].tasks[m->task];
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	if (!f)
		return -ENOMEM;
	fprintf(f, "thread %u (%d): ", t->number, t->tid);
	divergence_write(d, &m->whole, m->n, f);
	fclose(f);
	int err = merged_writer_note(m->writer, text);
	if (!m->result->first_divergence)
		m->result->first_divergence = text;
	else
		free(text);
	m->result->diverged++;
	return err;
}

static int end_diverged(struct merge *m, const struct share_divergence *d)
{
	struct pugmark_witness_event e = {.kind = PUGMARK_EVENT_DIVERGED, .time_ns = m->last_ns};
	int err = merged_writer_add(m->writer, &e);
	e.kind = PUGMARK_EVENT_STOP;
	if (!err)
		err = merged_writer_add(m->writer, &e);
	return err ? err : tell_divergence(m, d);
}

/* Where the child that has just been forked goes on. */
static int keep_fork(struct merge *m, const struct share_walk *walk)
{
	uint32_t child = pugmark_recording_task_index(m->parts[0].rec, m->last_fork);
	if (child == UINT32_MAX)
		return 0;
	share_walk_free(m->forked[child]);
	m->forked[child] = share_walk_copy(walk);
	return m->forked[child] ? 0 : -ENOMEM;
}

static int walk_task(struct merge *m, struct share_walk *walk)
{
	struct share_divergence diverged;
	int got;
	while ((got = share_walk_run(walk, &diverged)) == 1) {
		int err = keep_fork(m, walk);
		if (err)
			return err;
	}
	uint64_t taken, landmarks;
	share_walk_counts(walk, &taken, &landmarks);
	m->result->taken += taken;
	m->result->landmarks += landmarks;
	return got == -ESTALE ? end_diverged(m, &diverged) : got;
}

static int merge_task(struct merge *m, uint32_t task)
{
	const struct share_io io = {next, emit, m};
	struct share_walk *walk = NULL;
	int err = merged_writer_task(m->writer, m->parts[0].tasks[task].number);
	m->task = task;
	m->last_ns = 0;
	for (uint32_t k = 0; k < m->n && !err; k++)
		if (m->parts[k].as_first[task] != UINT32_MAX)
			err = pugmark_recording_iter_new(
				m->parts[k].rec, m->parts[k].as_first[task], &m->parts[k].iter);
	if (!err)
		err = share_walk_new(m->teller, &io, m->forked[task], &walk);
	if (!err)
		err = walk_task(m, walk);
	share_walk_free(walk);
	for (uint32_t k = 0; k < m->n; k++) {
		if (m->parts[k].iter)
			pugmark_recording_iter_free(m->parts[k].iter);
		m->parts[k].iter = NULL;
	}
	m->result->threads++;
	return err;
}

static void merge_deinit(struct merge *m)
{
	uint32_t n_tasks = m->parts[0].n_tasks;
	for (uint32_t i = 0; m->forked && i < n_tasks; i++)
		share_walk_free(m->forked[i]);
	free(m->forked);
	share_teller_free(m->teller);
	for (uint32_t k = 0; k < m->n; k++) {
		pugmark_plan_free(m->parts[k].plan);
		pugmark_recording_free(m->parts[k].rec);
		free(m->parts[k].as_first);
	}
	free(m->sites);
	free(m->members);
}

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static int run(struct merge *m, const char *const *dirs, const char *out)
{
	int err = 0;
	for (uint32_t i = 0; i < m->n && !err; i++)
		err = open_part(m, dirs[i], m->n);
	for (uint32_t k = 1; k < m->n && !err; k++)
		err = check_same(m, &m->parts[k]);
	if (!err)
		err = make_whole(m);
	if (!err)
		err = match_tasks(m);
	m->forked = err ? NULL : calloc(m->parts[0].n_tasks + 1, sizeof(struct share_walk *));
	if (!err && !m->forked)
		err = -ENOMEM;
	if (!err)
		err = merged_writer_open(out, &m->whole, m->parts[0].rec, m->parts[0].dir,
					 &m->writer, m->diag);
	if (err)
		return err;
	for (uint32_t i = 0; i < m->parts[0].n_tasks && !err; i++)
		err = merge_task(m, i);
	if (!err && m->n > 1)
		err = note_merge(m);
	m->result->events = merged_writer_events(m->writer);
	merged_writer_alone(m->writer, m->result->alone);
	int closed = merged_writer_close(m->writer, m->n, err != 0, m->diag);
	return err ? err : closed;
}

int merge_recordings(const char *const *parts, uint32_t n, const char *out,
		     struct merge_result *result, struct pugmark_diag *diag)
{
	*result = (struct merge_result){.shares = n};
	if (!n || n > SHARES_MAX)
		return pugmark_diag_set(diag, -EINVAL, NULL, PUGMARK_NO_OFFSET,
					"%u recordings: 1 to %d can be merged", n, SHARES_MAX);
	struct merge *m = calloc(1, sizeof(*m));
	if (!m)
		return pugmark_diag_set(diag, -ENOMEM, out, PUGMARK_NO_OFFSET, "out of memory");
	m->n = n;
	m->result = result;
	m->diag = diag;
	double start = now_s();
	diag->text[0] = 0;
	int err = run(m, parts, out);
	result->seconds = now_s() - start;
	if (err && !diag->text[0])
		pugmark_diag_set(diag, err, out, PUGMARK_NO_OFFSET, "cannot merge: %s",
				 strerror(-err));
	merge_deinit(m);
	free(m);
	return err;
}
