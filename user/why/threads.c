// SPDX-License-Identifier: LGPL-2.1-or-later
/* threads.c: see threads.h. In rounds: all threads of a process are looked through for who wrote
 * the bytes that were read, then sliced from there, which gives the bytes of the next round. */
#include "user/why/threads.h"

#include "user/why/writers.h"

#include "offline/base/search.h"
#include "offline/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 8, BROUGHT_ROUNDS = 256, READS_MAX = 1024 };

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
	struct brought_ask ask;
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

/* The bytes of the reads of process @pid that are new. */
static bool list_bytes(struct follow *f, int32_t pid)
{
	f->bytes.n = 0;
	for (size_t i = f->done; i < f->reads.n; i++) {
		if (why_tasks_find(&f->out->tasks, f->reads.at[i].task)->pid != pid)
			continue;
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
	}
	if (f->bytes.n)
		qsort(f->bytes.at, f->bytes.n, sizeof(*f->bytes.at), by_addr);
	return true;
}

static bool add_start(void *ctx, uint32_t task, uint32_t def, uint64_t count)
{
	struct follow *f = ctx;
	struct start s = {task, def, count};
	return VEC_PUSH(&f->starts, s);
}

/* Who wrote those of process @pid. A read counts once: by the worst of its bytes. */
static bool answer(struct follow *f, int32_t pid)
{
	struct why_threads *out = f->out;
	for (size_t at = f->done; at < f->reads.n; at++) {
		const struct read_of *r = &f->reads.at[at];
		if (why_tasks_find(&out->tasks, r->task)->pid != pid)
			continue;
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
			fine = !w || add_start(f, w->task, w->def, w->count);
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
		struct dep_units left;
		struct slice_criterion c = {
			.count = count, .defs = defs, .n_defs = n, .left = &left};
		struct slice_more *more = forked_more(&f->out->forked, task, &c.n_more);
		c.more = more;
		value_machine_inexact(value_run_machine(own->run), &assumed, &unknown);
		thread->inexact = assumed + unknown + value_run_supposed(own->run);
		err = fold_foreigns_init(&foreign, t);
		err = err || more ? err : -ENOMEM;
		err = err ? err : fold_foreigns_ask(&foreign, defs, n, count, 0);
		fold_deinit(&thread->fold);
		thread->fold = (struct fold){.trace = t, .foreign = &foreign};
		err = err ? err
			  : slice_backward(t, &c, f->o->follow, NULL, fold_visit, &thread->fold);
		thread->fold.foreign = NULL;
		thread->calls = foreign.calls;
		err = err ? err : brought_take(&f->out->brought, task, &foreign, &thread->fold);
		err = err ? err
			  : forked_take(&f->out->forked, &f->out->tasks, own, task, false, &foreign,
					&left);
		free(more);
		err = err ? err : add_reads(f, task, t, &foreign) ? 0 : -ENOMEM;
		fold_foreigns_deinit(&foreign);
	}
	free(defs);
	return err;
}

/* --- rounds ---------------------------------------------------------------------------------- */

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
		    why_lines(own, &t->fold, f->o->instructions, f->o->forward, &t->lines, &t->n) ||
		    why_lines_values(own, t->lines, t->n < f->o->limit ? t->n : f->o->limit))
			return -ENOMEM;
	}
	return 0;
}

/* Builds the trace of @t anew, to its end, with who wrote the bytes of this round. */
static int look(struct follow *f, struct why_task *t)
{
	why_task_close(t);
	int err = why_task_open(&f->out->tasks, t);
	if (!err)
		return writers_look(t->own.build, t->task, f->bytes.at, f->bytes.n);
	/* None of its values are known. */
	for (uint32_t k = 0; k < f->bytes.n; k++)
		f->bytes.at[k].untold = t->task;
	return err == -ENOMEM ? err : 0;
}

/* Process @pid: looks it through, if it was not or was read by others, and says who wrote. */
static int look_at_process(struct follow *f, int32_t pid)
{
	struct why_tasks *t = &f->out->tasks;
	int err = list_bytes(f, pid) ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < t->n && !err; i++)
		if (t->at[i].pid == pid && (f->bytes.n || !t->at[i].looked))
			err = look(f, &t->at[i]);
	return err ? err : answer(f, pid) ? 0 : -ENOMEM;
}

/* All processes that are known of; each is looked at once, by the first of its tasks. */
static int look_at_all(struct follow *f)
{
	const struct why_tasks *t = &f->out->tasks;
	int err = 0;
	for (uint32_t i = 0; i < t->n && !err; i++) {
		uint32_t first = 0;
		while (t->at[first].pid != t->at[i].pid)
			first++;
		err = first == i ? look_at_process(f, t->at[i].pid) : 0;
	}
	f->done = f->reads.n;
	return err;
}

/* One round over all tasks. */
static int go_round(struct follow *f)
{
	struct why_tasks *t = &f->out->tasks;
	struct brought *b = &f->out->brought;
	for (size_t i = b->done; i < b->n; i++)
		if (!why_tasks_add(t, b->pieces[i].from.task))
			return -ENOMEM;
	for (size_t i = f->done; i < f->reads.n; i++)
		if (!why_tasks_add(t, f->reads.at[i].task))
			return -ENOMEM;
	if (!forked_add(&f->out->forked, t))
		return -ENOMEM;
	int err = look_at_all(f);
	err = err ? err : brought_answer(b, &f->ask);
	err = err ? err : forked_answer(&f->out->forked, t, add_start, f);
	size_t end = f->starts.n;
	for (uint32_t i = 0; i < t->n && !err; i++)
		if (t->at[i].own.build)
			err = slice_task(f, &t->at[i].own, t->at[i].task);
	f->begun = end;
	return err;
}

int why_threads_open(struct why_run *w, const struct why_options *o, struct why_threads *out)
{
	*out = (struct why_threads){0};
	int err = why_tasks_init(&out->tasks, w, o->dir);
	return err ? err
		   : brought_init(&out->brought, value_replay_captures(w->replay),
				  &out->tasks.families);
}

int why_threads_take(const struct why_run *w, const struct fold_foreigns *read,
		     const struct dep_units *left, struct fold *fold, struct why_threads *out)
{
	int err = brought_take(&out->brought, w->task, read, fold);
	return err ? err : forked_take(&out->forked, &out->tasks, w, w->task, true, read, left);
}

int why_threads_follow(struct why_run *w, const struct why_options *o,
		       const struct fold_foreigns *foreign, struct why_threads *out)
{
	struct follow f = {.w = w, .o = o, .out = out};
	f.ask = (struct brought_ask){why_tasks_build, &out->tasks, add_start, &f};
	struct brought *b = &out->brought;
	int most = BROUGHT_ROUNDS;
	out->calls = foreign->calls;
	int err = add_reads(&f, w->task, dep_build_trace(w->build), foreign) ? 0 : -ENOMEM;
	/* Rounds in which memory was read of others take longer: all is looked through anew. */
	for (int i = 0; i < most && !err &&
			(f.done < f.reads.n || b->done < b->n || forked_fresh(&out->forked));
	     i++) {
		most -= f.done < f.reads.n ? BROUGHT_ROUNDS / ROUNDS - 1 : 0;
		err = go_round(&f);
	}
	out->left_out += f.reads.n - f.done;
	brought_finish(b);
	for (uint32_t i = 0; i < out->tasks.n && !err; i++)
		if (out->tasks.at[i].own.build)
			err = finish(&f, &out->tasks.at[i].own);
	for (size_t i = 0; i < out->n; i++)
		out->calls += out->at[i].calls;
	VEC_FREE(&f.reads);
	VEC_FREE(&f.bytes);
	VEC_FREE(&f.starts);
	return err;
}

/* --- forward --------------------------------------------------------------------------------- */

/* The forward slice in one task from all reads that are known to have got something of it, and what
 * of that was written on. */
static int onward_task(struct follow *f, struct why_task *task)
{
	const struct dep_trace *t = dep_build_trace(task->own.build);
	struct brought *b = &f->out->brought;
	uint32_t *defs = calloc(f->starts.n + 1, sizeof(*defs)), n = 0;
	uint64_t *tainted = NULL, count = UINT64_MAX;
	bool fresh = false;
	for (size_t i = 0; defs && i < f->starts.n; i++) {
		const struct start *s = &f->starts.at[i];
		if (s->task != task->task)
			continue;
		defs[n++] = s->def;
		count = s->count < count ? s->count : count;
		fresh |= i >= f->begun;
	}
	struct why_thread *thread = fresh ? thread_of(f->out, task->task) : NULL;
	int err = !defs || (fresh && !thread) ? -ENOMEM : 0;
	if (!err && thread) {
		struct slice_criterion c = {.count = count,
					    .defs = defs,
					    .n_defs = n,
					    .events = true,
					    .tainted = &tainted};
		fold_deinit(&thread->fold);
		thread->fold = (struct fold){.trace = t};
		err = slice_forward(t, &c, f->o->follow, NULL, fold_visit, &thread->fold);
		err = err ? err : brought_send(b, task->task, task->own.build, tainted);
	}
	free(tainted);
	free(defs);
	return err;
}

static int onward_round(struct follow *f)
{
	struct why_tasks *t = &f->out->tasks;
	struct brought *b = &f->out->brought;
	int err = 0;
	for (size_t i = b->done; i < b->n; i++)
		if (!why_tasks_add(t, b->pieces[i].task))
			return -ENOMEM;
	for (uint32_t i = 0; i < t->n && !err; i++)
		if (!t->at[i].looked)
			err = look(f, &t->at[i]);
	err = err ? err : brought_answer_onward(b, &f->ask);
	size_t end = f->starts.n;
	for (uint32_t i = 0; i < t->n && !err; i++)
		if (t->at[i].own.build)
			err = onward_task(f, &t->at[i]);
	f->begun = end;
	return err;
}

int why_threads_onward(struct why_run *w, const struct why_options *o, const uint64_t *tainted,
		       struct why_threads *out)
{
	struct follow f = {.w = w, .o = o, .out = out};
	struct brought *b = &out->brought;
	f.ask = (struct brought_ask){why_tasks_build, &out->tasks, add_start, &f};
	int err = why_threads_open(w, o, out);
	err = err ? err : brought_send(b, w->task, w->build, tainted);
	for (int i = 0; i < BROUGHT_ROUNDS && !err && b->done < b->n; i++)
		err = onward_round(&f);
	brought_finish(b);
	for (uint32_t i = 0; i < out->tasks.n && !err; i++)
		if (out->tasks.at[i].own.build)
			err = finish(&f, &out->tasks.at[i].own);
	VEC_FREE(&f.starts);
	return err;
}

bool why_threads_whole(const struct why_threads *t)
{
	return !t->beside && !t->untold && !t->left_out && !t->calls &&
	       brought_whole(&t->brought) && !t->forked.untold && !forked_fresh(&t->forked);
}

void why_threads_deinit(struct why_threads *t)
{
	for (size_t i = 0; i < t->n; i++) {
		why_lines_free(t->at[i].lines, t->at[i].n);
		fold_deinit(&t->at[i].fold);
	}
	brought_deinit(&t->brought);
	forked_deinit(&t->forked);
	why_tasks_deinit(&t->tasks);
	free(t->at);
	*t = (struct why_threads){0};
}
