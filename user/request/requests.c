// SPDX-License-Identifier: LGPL-2.1-or-later
/* requests.c: see requests.h. The limit between fast and slow is Otsu's (IEEE Trans. SMC 9, 1979):
 * of all limits the one that leaves the least variance within the two classes. Durations are taken
 * as they are and not by their logarithm: a few that took a thousand times as long are what a user
 * waits for, and many that took twice as long are not. Of limits that leave nearly as little, the
 * one with the widest empty stretch around it by ratio is taken: where the slow ones differ much
 * among themselves, the best limit alone would divide these. And where few are above it, as where a
 * busy machine held one request up, the others are divided in the same way: their limit is taken
 * where it is the wider one, and what it adds to the slow ones is much of their time. */
#include "user/request/requests.h"

#include "user/cli/parallel.h"
#include "user/cli/progress.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Buckets of a duration's logarithm: an eighth of a power of two. */
enum { BUCKETS_PER_OCTAVE = 8, BUCKETS = 64 * BUCKETS_PER_OCTAVE };

struct find_job {
	struct trace_view *view;
	struct requests *out;
	struct progress progress;
	_Atomic uint32_t failed_task;
};

struct find_task {
	struct request_list *list;
	bool failed;
};

static void on_end(void *ctx, uint64_t number, const struct request_end *end)
{
	struct find_task *t = ctx;
	struct request_list *list = t->list;
	if (number >= list->cap) {
		uint64_t cap = 2 * number + 64;
		struct request *at = realloc(list->at, cap * sizeof(*at));
		if (!at) {
			t->failed = true;
			return;
		}
		list->at = at;
		list->cap = cap;
	}
	/* Those with lower numbers may end later, or not at all. */
	for (; list->n <= number; list->n++)
		list->at[list->n] = (struct request){.class = REQUEST_PART};
	list->at[number] = (struct request){
		.from_ns = end->from_ns,
		.to_ns = end->to_ns,
		.took = end->took,
		.identity = end->identity,
		.identified = end->identified,
		.class = end->whole ? REQUEST_BETWEEN : REQUEST_PART,
	};
}

static int find_in(void *ctx, uint32_t worker, uint32_t task)
{
	static const struct request_sink sink = {.end = on_end};
	struct find_job *j = ctx;
	(void)worker;
	struct find_task t = {.list = &j->out->tasks[task]};
	int err = 0;
	if (trace_view_has_task(j->view, task))
		err = request_walk(j->view, &j->out->of, task, &sink, &t);
	progress_step(&j->progress, j->view->tasks[task].n_events);
	if (t.failed)
		err = -ENOMEM;
	if (err)
		j->failed_task = task;
	return err;
}

/* Gives @role to what @text matches. Returns 0, or -errno with @diag filled. */
static int mark(struct requests *r, const char *text, enum request_role role,
		struct trace_view *view, struct pugmark_diag *diag)
{
	struct patterns pattern = {0};
	int err = patterns_add(&pattern, text, diag);
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->of.ids.n && !err; i++) {
		const struct func_id *id = &r->of.ids.at[i];
		if (id->kind > FUNC_IMPORT ||
		    (id->kind == FUNC_OF_PLAN && !trace_view_has_module(view, id->module)))
			continue;
		const char *name =
			id->kind == FUNC_IMPORT
				? id->import
				: pugmark_trace_func_name(view->trace, id->module, id->func);
		if (patterns_match(&pattern, name, NULL) < 0)
			continue;
		r->of.roles[i] |= role;
		n++;
	}
	patterns_deinit(&pattern);
	if (!err && !n)
		err = pugmark_diag_set(diag, -ENOENT, view->dir, PUGMARK_NO_OFFSET,
				       "no function of it matches '%s'", text);
	return err;
}

/* ---- fast and slow ---- */

static unsigned bucket_of(const struct request *r)
{
	double middle = sqrt(((double)r->took.min_ns + 1) * ((double)r->took.max_ns + 1));
	return (unsigned)(log2(middle) * BUCKETS_PER_OCTAVE);
}

static uint64_t begin_of(unsigned bucket)
{
	return (uint64_t)ceil(exp2((double)bucket / BUCKETS_PER_OCTAVE)) - 1;
}

static double middle_of(unsigned bucket)
{
	return exp2((bucket + .5) / BUCKETS_PER_OCTAVE);
}

/* A limit has to explain this share of what the best one explains. */
#define NEARLY_AS_MUCH 0.8
/* Where no larger share of the requests is slow, it is looked for a limit among the others; it has
 * to add this share of the time of all that are above it. */
#define FEW 0.25
#define A_PART 0.1

/* Moments of the durations in the buckets. */
struct moments {
	double n, sum, squares;
};

static struct moments moments_of(const uint64_t *counts)
{
	struct moments m = {0};
	for (unsigned i = 0; i < BUCKETS; i++) {
		m.n += (double)counts[i];
		m.sum += (double)counts[i] * middle_of(i);
		m.squares += (double)counts[i] * middle_of(i) * middle_of(i);
	}
	return m;
}

/* The variance between the classes, for a limit above each bucket that is not empty; 0 elsewhere
 * and above the last. Returns the largest. */
static double between_classes(const uint64_t *counts, struct moments all, double *between)
{
	double below = 0, sum_below = 0, best = 0;
	for (unsigned i = 0; i < BUCKETS; i++) {
		between[i] = 0;
		below += (double)counts[i];
		sum_below += (double)counts[i] * middle_of(i);
		if (!counts[i] || below >= all.n)
			continue;
		double apart = sum_below / below - (all.sum - sum_below) / (all.n - below);
		between[i] = below * (all.n - below) / all.n * apart * apart;
		if (between[i] > best)
			best = between[i];
	}
	return best;
}

/* A limit between fast and slow, above a bucket. */
struct limit {
	unsigned bucket, next; /* the one below it that is not empty, and the one above it */
	double between;	       /* what it explains */
};

/* Of the limits that leave nearly as little as the best one, the widest; next 0: there is none. */
static struct limit widest_of(const uint64_t *counts)
{
	double between[BUCKETS];
	double best = between_classes(counts, moments_of(counts), between);
	struct limit chosen = {0};
	for (unsigned i = 0; i < BUCKETS; i++) {
		if (between[i] <= 0 || between[i] < NEARLY_AS_MUCH * best)
			continue;
		unsigned next = i + 1, width = chosen.next - chosen.bucket;
		while (!counts[next])
			next++;
		if (next - i > width || (next - i == width && between[i] > chosen.between))
			chosen = (struct limit){i, next, between[i]};
	}
	return chosen;
}

/* @counts is cleared. */
static void otsu(uint64_t *counts, struct requests *out)
{
	double between[BUCKETS];
	const struct moments all = moments_of(counts);
	double variance = all.squares - all.sum * all.sum / all.n, above = 0;
	between_classes(counts, all, between);
	struct limit chosen = {0};
	double sum = 0, first = 0; /* of what is above all limits so far, and above the first */
	do {
		struct limit limit = widest_of(counts);
		if (!limit.next)
			break;
		for (unsigned i = limit.next; i < BUCKETS; i++) {
			above += (double)counts[i];
			sum += (double)counts[i] * middle_of(i);
			counts[i] = 0;
		}
		if (!chosen.next)
			first = sum;
		else if (sum - first < A_PART * first)
			continue;
		if (limit.next - limit.bucket > chosen.next - chosen.bucket)
			chosen = limit;
	} while (above <= FEW * all.n);
	if (!chosen.next)
		return;
	out->limit_ns = begin_of((chosen.bucket + 1 + chosen.next) / 2); /* in the middle */
	out->explained = variance > 0 ? between[chosen.bucket] / variance : 0;
}

static int classify(struct requests *r, struct request *one)
{
	if (one->class == REQUEST_PART)
		return 0;
	one->class = one->took.min_ns >= r->limit_ns  ? REQUEST_SLOW
		     : one->took.max_ns < r->limit_ns ? REQUEST_FAST
						      : REQUEST_BETWEEN;
	if (one->class == REQUEST_BETWEEN)
		return 0;
	int err = durations_add(&r->certain[one->class], one->took.min_ns);
	return err ? err : durations_add(&r->possible[one->class], one->took.max_ns);
}

static int divide(struct requests *r, uint64_t limit_ns)
{
	uint64_t *counts = calloc(BUCKETS + 1, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	for (uint32_t t = 0; t < r->n_tasks; t++)
		for (uint64_t i = 0; i < r->tasks[t].n; i++)
			if (r->tasks[t].at[i].class != REQUEST_PART)
				counts[bucket_of(&r->tasks[t].at[i])]++;
	if (limit_ns)
		r->limit_ns = limit_ns;
	else
		otsu(counts, r);
	free(counts);
	int err = 0;
	for (uint32_t t = 0; t < r->n_tasks; t++)
		for (uint64_t i = 0; i < r->tasks[t].n && !err; i++) {
			err = classify(r, &r->tasks[t].at[i]);
			r->n_of[r->tasks[t].at[i].class]++;
			r->n++;
			r->identified += r->tasks[t].at[i].identified;
		}
	return err;
}

/* ---- all of it ---- */

static int find_all(struct trace_view *view, struct requests *out, struct pugmark_diag *diag)
{
	struct find_job j = {.view = view, .out = out};
	uint64_t total = 0;
	for (uint32_t i = 0; i < view->n_tasks; i++)
		total += view->tasks[i].n_events;
	progress_start(&j.progress, "looking for requests", total, false);
	int err = parallel_do(view->n_tasks, find_in, &j);
	progress_end(&j.progress);
	return err ? trace_view_task_failed(view, j.failed_task, err, diag) : 0;
}

/* Says why there is nothing to show, where that is so. */
static int check_found(const struct trace_view *view, const struct requests *r,
		       struct pugmark_diag *diag)
{
	const struct request_spec *spec = &r->of.spec;
	const char *of = spec->first;
	if (spec->id && !r->identified)
		return pugmark_diag_set(
			diag, -ENODATA, view->dir, PUGMARK_NO_OFFSET,
			"what tells the requests of %s apart was not read (record it with "
			"--args 6 --args-of '%s', or with --handle)",
			spec->text, of);
	if (!r->n)
		return pugmark_diag_set(diag, -ENOENT, view->dir, PUGMARK_NO_OFFSET,
					"'%s' was not called in it: there is no request", of);
	return 0;
}

int requests_find(struct trace_view *view, const char *text, uint64_t limit_ns,
		  struct requests *out, struct pugmark_diag *diag)
{
	*out = (struct requests){.n_tasks = view->n_tasks};
	out->tasks = calloc(view->n_tasks + 1ul, sizeof(*out->tasks));
	int err = func_ids_init(&out->of.ids, view);
	out->of.roles = calloc(out->of.ids.n + 1ul, sizeof(*out->of.roles));
	if (err || !out->tasks || !out->of.roles)
		return trace_view_no_memory(view, diag);
	struct request_spec *spec = &out->of.spec;
	err = request_spec_parse(text, spec, diag);
	if (!err)
		err = mark(out, spec->first, REQUEST_BEGINS, view, diag);
	if (!err && spec->last)
		err = mark(out, spec->last, REQUEST_ENDS, view, diag);
	if (!err)
		err = find_all(view, out, diag);
	if (!err && divide(out, limit_ns))
		err = trace_view_no_memory(view, diag);
	return err ? err : check_found(view, out, diag);
}

void requests_deinit(struct requests *r)
{
	for (uint32_t i = 0; r->tasks && i < r->n_tasks; i++)
		free(r->tasks[i].at);
	free(r->tasks);
	free(r->of.roles);
	request_spec_deinit(&r->of.spec);
	func_ids_deinit(&r->of.ids);
	for (int i = 0; i < N_REQUEST_CLASSES; i++) {
		durations_deinit(&r->certain[i]);
		durations_deinit(&r->possible[i]);
	}
	*r = (struct requests){0};
}
