// SPDX-License-Identifier: LGPL-2.1-or-later
/* pieces.c: is what was recovered from a recording with losses a part of what happened, and is all
 * that is missing said to be?
 *
 *   pieces [--prefix] WHOLE LOSSY
 *
 * WHOLE and LOSSY are recordings of the same single-threaded run by the same plan; WHOLE has no gap
 * (and is compared with the oracle elsewhere). A witness event's number in the run is known in
 * both: in LOSSY it is the number of those that were read before and of those that gaps say were
 * lost. So where a piece of LOSSY between two gaps belongs is no matter of searching: each of its
 * calls and returns must be the one that WHOLE has in that place. Of the first witness event after
 * a gap only what is inferred from it going forward is asked for.
 *
 * In the end the events that LOSSY read and lost must be as many as those of WHOLE; with --prefix,
 * where the recorder was killed, not more. The bounds of gaps must enclose the time between the
 * events around them. Exit status 1, and a line that says what, if anything is not so. */
#include <pugmark/trace.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct step {
	uint64_t addr, target, number; /* number: of the witness event that decided it */
	uint64_t from_ns, to_ns, lost;
	uint32_t import; /* hash of its name */
	uint8_t kind;
};

struct run {
	struct step *steps; /* calls, tail calls, returns, gaps */
	size_t n, room;
	uint64_t witnesses, lost, gaps;
};

static int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int fail(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("pieces: ", stdout);
	vprintf(format, args);
	putchar('\n');
	va_end(args);
	return 1;
}

static uint32_t hash(const char *text)
{
	uint32_t h = 2166136261u;
	while (*text)
		h = (h ^ (uint8_t)*text++) * 16777619u;
	return h;
}

static int add_step(struct run *run, const struct pugmark_trace_event *e)
{
	if (run->n == run->room) {
		run->room = run->room ? 2 * run->room : 4096;
		run->steps = realloc(run->steps, run->room * sizeof(*run->steps));
		if (!run->steps)
			return -ENOMEM;
	}
	run->steps[run->n++] = (struct step){
		.addr = e->addr,
		.target = e->target,
		.number = run->witnesses + run->lost,
		.from_ns = e->from_ns,
		.to_ns = e->to_ns,
		.lost = e->lost,
		.import = e->kind == PUGMARK_TRACE_CALL || e->kind == PUGMARK_TRACE_TAIL
				  ? hash(e->import)
				  : 0,
		.kind = e->kind,
	};
	return 0;
}

static int read_run(const char *dir, struct run *run)
{
	struct pugmark_diag diag;
	struct pugmark_trace *trace;
	struct pugmark_trace_iter *it;
	const struct pugmark_trace_event *e;
	uint32_t n_tasks;
	*run = (struct run){0};
	int err = pugmark_trace_open(dir, &trace, &diag);
	if (err) {
		fail("%s: %s", diag.file, diag.text);
		return err;
	}
	pugmark_recording_tasks(pugmark_trace_recording(trace), &n_tasks);
	err = n_tasks == 1 ? pugmark_trace_iter_new(trace, 0, &it) : n_tasks ? -EINVAL : 0;
	while (!err && n_tasks && (err = pugmark_trace_next(it, &e)) == 1) {
		run->witnesses = pugmark_trace_witnesses(it);
		if (e->kind == PUGMARK_TRACE_GAP) {
			run->lost += e->lost;
			run->gaps++;
		}
		err = e->kind == PUGMARK_TRACE_CALL || e->kind == PUGMARK_TRACE_TAIL ||
				      e->kind == PUGMARK_TRACE_RET || e->kind == PUGMARK_TRACE_GAP
			      ? add_step(run, e)
			      : 0;
	}
	if (n_tasks == 1) {
		run->witnesses = pugmark_trace_witnesses(it);
		pugmark_trace_iter_free(it);
	}
	pugmark_trace_free(trace);
	if (err)
		fail("%s: %s", dir, n_tasks > 1 ? "more than one thread" : strerror(-err));
	return err;
}

/* The first step of @run that a witness event with @number or a later one decided. */
static size_t first_of(const struct run *run, uint64_t number)
{
	size_t low = 0, high = run->n;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (run->steps[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool same(const struct step *a, const struct step *b)
{
	return a->kind == b->kind && a->addr == b->addr && a->target == b->target &&
	       a->import == b->import;
}

/* The piece [@from, @to) of @lossy, after a gap or (@after_gap false) from the start. */
static int check_piece(const struct run *whole, const struct run *lossy, size_t from, size_t to,
		       bool after_gap)
{
	size_t at = 0;
	if (after_gap) {
		uint64_t number = lossy->steps[from - 1].number;
		size_t n = 0;
		while (from + n < to && lossy->steps[from + n].number == number)
			n++;
		at = first_of(whole, number + 1);
		if (at < n)
			return fail("step %zu: more than happened by then", from);
		at -= n;
	}
	for (size_t i = from; i < to; i++, at++) {
		const struct step *s = &lossy->steps[i];
		if (at >= whole->n || !same(s, &whole->steps[at]))
			return fail("step %zu (kind %d at %llx) is not step %zu of what happened",
				    i, s->kind, (unsigned long long)s->addr, at);
		/* What ends a piece may be known before the event that shows it in the whole. */
		bool last = to == lossy->n || lossy->steps[to].kind == PUGMARK_TRACE_GAP;
		if (s->number != whole->steps[at].number && (!last || i + 1 < to))
			return fail("step %zu is decided by another event", i);
	}
	return 0;
}

static int check_gap(const struct run *lossy, size_t gap)
{
	const struct step *g = &lossy->steps[gap];
	if (g->from_ns > g->to_ns)
		return fail("gap at step %zu ends before it begins", gap);
	if (gap && lossy->steps[gap - 1].from_ns > g->from_ns)
		return fail("gap at step %zu begins before what came before it", gap);
	if (gap + 1 < lossy->n && lossy->steps[gap + 1].to_ns < g->to_ns)
		return fail("gap at step %zu ends after what follows it", gap);
	return 0;
}

static int check(const struct run *whole, const struct run *lossy, bool prefix)
{
	uint64_t known = lossy->witnesses + lossy->lost;
	size_t from = 0, steps = 0, pieces = 0;
	int status = 0;
	if (whole->gaps)
		return fail("the whole has gaps");
	if (prefix ? known > whole->witnesses : known != whole->witnesses)
		return fail("%llu events read and %llu lost of %llu",
			    (unsigned long long)lossy->witnesses, (unsigned long long)lossy->lost,
			    (unsigned long long)whole->witnesses);
	for (size_t i = 0; i <= lossy->n && !status; i++) {
		if (i < lossy->n && lossy->steps[i].kind != PUGMARK_TRACE_GAP)
			continue;
		if (i > from)
			status = check_piece(whole, lossy, from, i, from > 0);
		if (!status && i < lossy->n)
			status = check_gap(lossy, i);
		steps += i - from;
		pieces += i > from;
		from = i + 1;
	}
	if (!status)
		printf("%zu of %zu calls and returns in %zu pieces, %llu of %llu events lost in "
		       "%llu gaps\n",
		       steps, whole->n, pieces, (unsigned long long)lossy->lost,
		       (unsigned long long)whole->witnesses, (unsigned long long)lossy->gaps);
	return status;
}

int main(int argc, char **argv)
{
	struct run whole, lossy;
	bool prefix = argc == 4 && !strcmp(argv[1], "--prefix");
	if (argc != 3 && !prefix)
		return fail("usage: pieces [--prefix] WHOLE LOSSY");
	if (read_run(argv[argc - 2], &whole) || read_run(argv[argc - 1], &lossy))
		return 1;
	int status = check(&whole, &lossy, prefix);
	free(whole.steps);
	free(lossy.steps);
	return status;
}
