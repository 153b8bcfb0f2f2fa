// SPDX-License-Identifier: LGPL-2.1-or-later
/* threads.c: see threads.h. In rounds: all threads are looked through for who wrote the bytes that
 * were read, then sliced from there, which gives the bytes of the next round. */
#include "user/why/threads.h"

#include "user/why/writers.h"

#include "offline/base/search.h"
#include "offline/capture/families.h"
#include "offline/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 8, READS_MAX = 1024 };

/* What one thread has read of others in one instance. */
struct read_of {
	uint32_t task;
	struct fold_foreign what;
	uint64_t from, to; /* its span */
	bool answered;
};

/* A definition that a slice goes on at. */
struct start {
	uint32_t task, def;
	uint64_t count;
};

struct follow {
	struct why_run *w;
	const struct why_options *o;
	struct why_threads *out;
	VEC(struct read_of) reads;
	size_t done; /* of reads */
	VEC(struct written_byte) bytes;
	VEC(struct start) starts;
	size_t begun; /* of starts */
};

/* --- reads ----------------------------------------------------------------------------------- */

static bool add_reads(struct follow *f, uint32_t task, const struct dep_trace *t,
		      const struct fold_foreigns *foreign)
{
	for (uint32_t i = 0; i < foreign->n; i++) {
		struct read_of r = {task, foreign->at[i], 0, UINT64_MAX, false};
		uint64_t behind =
			SEARCH_FIRST_NOT(0, t->n_spans, k, t->spans[k].count <= r.what.count);
		if (behind) {
			r.from = t->spans[behind - 1].from;
			r.to = t->spans[behind - 1].to;
		}
		if (f->reads.n >= READS_MAX) {
			f->out->left_out += foreign->n - i;
			return true;
		}
		bool known = false;
		for (uint32_t k = 0; k < f->reads.n && !known; k++)
			known = f->reads.at[k].task == task &&
				f->reads.at[k].what.count == r.what.count &&
				f->reads.at[k].what.addr == r.what.addr;
		if (!known && !VEC_PUSH(&f->reads, r))
			return false;
	}
	return true;
}

static int by_addr(const void *a, const void *b)
{
	const struct written_byte *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* The bytes of the reads that are new. */
static bool list_bytes(struct follow *f)
{
	f->bytes.n = 0;
	for (size_t i = f->done; i < f->reads.n; i++)
		for (uint32_t k = 0; k < f->reads.at[i].what.len; k++) {
			const struct read_of *r = &f->reads.at[i];
			struct written_byte b = {.addr = r->what.addr + k,
						 .count = r->what.count,
						 .from = r->from,
						 .to = r->to,
						 .task = r->task};
			if (!VEC_PUSH(&f->bytes, b))
				return false;
		}
	if (f->bytes.n)
		qsort(f->bytes.at, f->bytes.n, sizeof(*f->bytes.at), by_addr);
	return true;
}

static bool add_start(struct follow *f, const struct writer *w)
{
	for (uint32_t i = 0; i < f->starts.n; i++)
		if (f->starts.at[i].task == w->task && f->starts.at[i].def == w->def)
			return true;
	struct start s = {w->task, w->def, w->count};
	return VEC_PUSH(&f->starts, s);
}

/* Who wrote them. A read counts once: by the worst of its bytes. */
static bool answer(struct follow *f)
{
	struct why_threads *out = f->out;
	for (; f->done < f->reads.n; f->done++) {
		const struct read_of *r = &f->reads.at[f->done];
		bool beside = false, untold = false, made = false, fine = true;
		for (uint32_t i = 0; i < f->bytes.n && fine; i++) {
			struct written_byte *b = &f->bytes.at[i];
			bool sure;
			if (b->task != r->task || b->count != r->what.count ||
			    b->addr - r->what.addr >= r->what.len)
				continue;
			const struct writer *w = writers_last(b, &sure);
			beside |= b->beside != 0;
			untold |= b->untold != 0;
			made |= w != NULL;
			if (b->beside && !out->one) {
				out->one = r->task;
				out->other = b->beside;
			}
			fine = !w || add_start(f, w);
		}
		if (!fine)
			return false;
		out->reads++;
		out->beside += beside;
		out->untold += untold && !beside;
		out->from_start += !made && !beside && !untold;
	}
	return true;
}

/* --- slices ---------------------------------------------------------------------------------- */

static struct why_thread *thread_of(struct why_threads *t, uint32_t task)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->at[i].task == task)
			return &t->at[i];
	struct why_thread *at = realloc(t->at, (t->n + 1) * sizeof(*at));
	if (!at)
		return NULL;
	t->at = at;
	at[t->n] = (struct why_thread){.task = task};
	return &at[t->n++];
}

/* The slice in one task, whose trace was built whole, from all that is known to be of it so far. */
static int slice_task(struct follow *f, struct why_run *own, uint32_t task)
{
	struct fold_foreigns foreign;
	const struct dep_trace *t = dep_build_trace(own->build);
	uint32_t n = 0;
	uint64_t count = 0, assumed, unknown;
	uint32_t *defs = calloc(f->starts.n + 1, sizeof(*defs));
	bool fresh = false;
	if (!defs)
		return -ENOMEM;
	for (size_t i = 0; i < f->starts.n; i++)
		if (f->starts.at[i].task == task) {
			defs[n++] = f->starts.at[i].def;
			count = f->starts.at[i].count > count ? f->starts.at[i].count : count;
			fresh |= i >= f->begun;
		}
	struct why_thread *thread = fresh ? thread_of(f->out, task) : NULL;
	int err = fresh && !thread ? -ENOMEM : 0;
	if (thread) {
		struct slice_criterion c = {.count = count, .defs = defs, .n_defs = n};
		value_machine_inexact(value_run_machine(own->run), &assumed, &unknown);
		thread->inexact = assumed + unknown + value_run_supposed(own->run);
		err = fold_foreigns_init(&foreign, t);
		fold_deinit(&thread->fold);
		thread->fold = (struct fold){.trace = t, .foreign = &foreign};
		err = err ? err
			  : slice_backward(t, &c, f->o->follow, NULL, fold_visit, &thread->fold);
		thread->fold.foreign = NULL;
		thread->calls = foreign.calls;
		err = err ? err : add_reads(f, task, t, &foreign) ? 0 : -ENOMEM;
		fold_foreigns_deinit(&foreign);
	}
	free(defs);
	return err;
}

/* --- rounds ---------------------------------------------------------------------------------- */

static int open_task(const struct why_run *w, uint32_t task, struct why_run *own)
{
	struct pugmark_diag diag;
	*own = *w;
	own->task = task;
	own->build = NULL;
	own->run = NULL;
	int err = value_run_new(w->replay, task, &own->run, &diag);
	if (!err && dep_build_new(own->run, &own->build))
		err = -ENOMEM;
	return err;
}

static void close_task(struct why_run *own)
{
	dep_build_free(own->build);
	value_run_free(own->run);
}

/* Folds are made whole, lines with values. The traces must be there still. */
static int finish(struct follow *f, struct why_run *own)
{
	for (size_t i = 0; i < f->out->n; i++) {
		struct why_thread *t = &f->out->at[i];
		if (t->task != own->task)
			continue;
		t->fold.trace = dep_build_trace(own->build);
		fold_finish(&t->fold);
		if (t->fold.no_memory ||
		    why_lines(own, &t->fold, f->o->instructions, false, &t->lines, &t->n))
			return -ENOMEM;
		why_lines_values(own, t->lines, t->n < f->o->limit ? t->n : f->o->limit);
	}
	return 0;
}

/* Builds all traces anew, to their ends, with who wrote the bytes of this round. */
static int build_all(struct follow *f)
{
	struct why_threads *t = f->out;
	int err = 0;
	for (uint32_t i = 0; i < t->n_tasks && !err; i++) {
		close_task(&t->own[i]);
		err = open_task(f->w, t->tasks[i], &t->own[i]);
		if (!err) {
			err = writers_look(t->own[i].build, t->tasks[i], f->bytes.at, f->bytes.n);
			continue;
		}
		/* None of its values are known. */
		for (uint32_t k = 0; k < f->bytes.n; k++)
			f->bytes.at[k].untold = t->tasks[i];
		close_task(&t->own[i]);
		t->own[i].build = NULL;
		t->own[i].run = NULL;
		err = err == -ENOMEM ? err : 0;
	}
	return err;
}

struct whose {
	const struct why_threads *t;
	uint32_t task;
};

/* Whether another task has ever written there, or nobody knows. */
static bool is_theirs(void *ctx, uint64_t addr, uint32_t len)
{
	const struct whose *w = ctx;
	for (uint32_t i = 0; i < w->t->n_tasks; i++) {
		const struct why_run *other = &w->t->own[i];
		if (w->t->tasks[i] == w->task)
			continue;
		if (!other->build || value_run_gap(other->run)->text[0])
			return true;
		for (uint32_t k = 0; k < len; k++)
			if (dep_build_own_def(other->build, addr + k))
				return true;
	}
	return false;
}

static void settle(const struct why_threads *t, uint32_t task, struct dep_build *build)
{
	struct whose whose = {t, task};
	if (build)
		dep_build_settle(build, is_theirs, &whose);
}

/* One round over all tasks. */
static int go_round(struct follow *f)
{
	struct why_threads *t = f->out;
	int err = list_bytes(f) ? build_all(f) : -ENOMEM;
	for (uint32_t i = 0; i < t->n_tasks && !err; i++)
		settle(t, t->tasks[i], t->own[i].build);
	err = err ? err : answer(f) ? 0 : -ENOMEM;
	size_t end = f->starts.n;
	for (uint32_t i = 0; i < t->n_tasks && !err; i++)
		if (t->own[i].build)
			err = slice_task(f, &t->own[i], t->tasks[i]);
	f->begun = end;
	return err;
}

/* Those that share the memory of @w's; the caller frees. NULL: out of memory. */
static uint32_t *tasks_of_process(const struct why_run *w, const struct why_options *o, uint32_t *n)
{
	struct pugmark_diag diag;
	struct families families = {0};
	uint32_t n_all;
	const uint32_t *all = captures_tasks(value_replay_captures(w->replay), &n_all);
	uint32_t *tasks = calloc(n_all + 1, sizeof(*tasks));
	if (!tasks || families_read(o->dir, &families, &diag)) {
		free(tasks);
		return NULL;
	}
	const struct family_task *self = families_find(&families, w->task);
	for (uint32_t i = 0; i < n_all; i++) {
		const struct family_task *other = families_find(&families, all[i]);
		if (!self || !other || other->pid == self->pid)
			tasks[(*n)++] = all[i];
	}
	families_deinit(&families);
	return tasks;
}

int why_threads_open(struct why_run *w, const struct why_options *o, struct why_threads *out)
{
	struct follow f = {.w = w, .o = o, .out = out};
	*out = (struct why_threads){0};
	out->tasks = tasks_of_process(w, o, &out->n_tasks);
	out->own = calloc(out->n_tasks + 1, sizeof(*out->own));
	int err = out->tasks && out->own ? build_all(&f) : -ENOMEM;
	if (!err)
		settle(out, w->task, w->build);
	return err;
}

int why_threads_follow(struct why_run *w, const struct why_options *o,
		       const struct fold_foreigns *foreign, struct why_threads *out)
{
	struct follow f = {.w = w, .o = o, .out = out};
	out->calls = foreign->calls;
	int err = add_reads(&f, w->task, dep_build_trace(w->build), foreign) ? 0 : -ENOMEM;
	for (int i = 0; i < ROUNDS && !err && f.done < f.reads.n; i++)
		err = go_round(&f);
	out->left_out += f.reads.n - f.done;
	for (uint32_t i = 0; i < out->n_tasks && !err; i++)
		if (out->own[i].build)
			err = finish(&f, &out->own[i]);
	for (size_t i = 0; i < out->n; i++)
		out->calls += out->at[i].calls;
	VEC_FREE(&f.reads);
	VEC_FREE(&f.bytes);
	VEC_FREE(&f.starts);
	return err;
}

bool why_threads_whole(const struct why_threads *t)
{
	return !t->beside && !t->untold && !t->left_out && !t->calls;
}

void why_threads_deinit(struct why_threads *t)
{
	for (size_t i = 0; i < t->n; i++) {
		why_lines_free(t->at[i].lines, t->at[i].n);
		fold_deinit(&t->at[i].fold);
	}
	for (uint32_t i = 0; i < t->n_tasks && t->own; i++)
		close_task(&t->own[i]);
	free(t->own);
	free(t->tasks);
	free(t->at);
	*t = (struct why_threads){0};
}
