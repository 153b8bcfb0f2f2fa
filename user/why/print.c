// SPDX-License-Identifier: LGPL-2.1-or-later
/* print.c: see why.h. Text has a line a place: how often, when for the last time, where, what. */
#include "user/why/doubtful.h"
#include "user/why/graph.h"
#include "user/why/passing.h"
#include "user/why/picture.h"
#include "user/why/prune.h"
#include "user/why/threads.h"
#include "user/why/why.h"

#include "user/cli/printable.h"
#include "user/values/names/value_frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEAR = 100 }; /* instructions from a critical jump that are told */

struct slice {
	struct fold fold;
	struct why_graph graph; /* not for text */
	struct why_line *lines;
	size_t n, functions;
	size_t beside;	   /* of n: lines of jumps that are not in it */
	size_t whole;	   /* lines before other slices took some away */
	size_t pruned;	   /* of n, at the end: lines of which nothing is in doubt */
	uint64_t *pinned;  /* NULL: no output is said to be right */
	uint64_t *centers; /* of the fold */
	struct why_passing *passing;
	struct fold_foreigns foreign;
	struct why_threads threads;
	bool critical; /* they are jumps that were found to be critical */
	bool ranked;   /* lines are in the order of doubt */
	bool ends;
};

/* How many of the lines are shown. */
static size_t shown(const struct slice *s, const struct why_options *o)
{
	size_t left = s->n - s->pruned;
	return left < o->limit ? left : o->limit;
}

static const char *direction(const struct why_options *o)
{
	return o->both ? "bidirectional" : o->forward ? "forward" : "backward";
}

static void print_event(const struct why_line *l)
{
	printable_print(stdout, why_event_name(l), PRINT_TEXT);
	fputs(*l->event ? "()" : "", stdout);
	if (l->ends)
		fputs(": what it depends on is not known", stdout);
}

/* Why the line stands where it stands, of lines in the order of doubt. */
static void print_reason(const struct why_line *l, bool critical)
{
	const struct why_evidence *e = &l->evidence;
	if (e->runs && e->executed < e->runs)
		printf("  | executed in %u of %u runs that passed", e->executed, e->runs);
	else if (e->runs && e->same_ways < e->runs)
		printf("  | its jumps went so in %u of %u runs that passed", e->same_ways, e->runs);
	if (l->beside)
		fputs("  | not in the slice", stdout);
	if (l->by_data)
		fputs("  | by data", stdout);
	if (critical && l->near < NEAR)
		printf("  | %" PRIu64 " from a critical jump", l->near);
}

static void print_line(const struct why_line *l, bool critical)
{
	printf("%10s%-6" PRIu64 " %12" PRIu64 "  ", "\u00d7", l->times, l->last);
	if (l->file) {
		printable_print(stdout, why_file_name(l), PRINT_TEXT);
		printf(":%u", l->line);
	} else {
		printf("0x%" PRIx64, l->elf);
	}
	putchar(' ');
	printable_print(stdout, l->function ? l->function : "?", PRINT_TEXT);
	fputs("  ", stdout);
	if (l->text)
		printable_print(stdout, l->text, PRINT_TEXT);
	if (l->event) {
		fputs(l->text ? "  | " : "", stdout);
		print_event(l);
	}
	if (l->value)
		printf("  | %s", l->value);
	if (l->confidence > 0)
		printf("  | right: %.0f %%", 100 * (double)l->confidence);
	if (l->frames)
		fputs("  | ", stdout);
	value_frames_print(stdout, l->frames, l->n_frames, l->n_frames, PRINT_TEXT);
	print_reason(l, critical);
	putchar('\n');
}

static void print_bytes(const struct fold *f)
{
	enum { MOST = 20 };
	size_t i = 0;
	for (; i < f->n_bytes && i < MOST; i++)
		printf("%s bytes %" PRIu64 " to %" PRIu64 " of descriptor %d\n",
		       f->bytes[i].output ? "written:" : "input:", f->bytes[i].from,
		       f->bytes[i].to - 1, f->bytes[i].fd);
	if (i < f->n_bytes)
		printf("and %zu more ranges of bytes\n", f->n_bytes - i);
}

/* What writes of the recording have brought, and why the slice ends at some of it. */
static void print_brought(const struct brought *b)
{
	enum { MOST = 20 };
	size_t told = 0;
	for (size_t i = 0; i < b->n; i++) {
		const struct brought_piece *p = &b->pieces[i];
		if (p->end)
			continue;
		if (told++ < MOST)
			printf("brought: bytes %" PRIu64 " to %" PRIu64
			       " of descriptor %d of task %" PRIu32
			       ", by %s, written by task %" PRIu32 " to descriptor %d\n",
			       p->at, p->at + p->from.bytes - 1, p->fd, p->task,
			       brought_channel(p->from.channel), p->from.task, p->writer_fd);
	}
	if (told > MOST)
		printf("and %zu more ranges of bytes\n", told - MOST);
	for (unsigned i = PASSAGE_WRITERS; i < BROUGHT_ENDS; i++) {
		if (!b->ends[i])
			continue;
		printf("the slice ends at %" PRIu64 " bytes that were read: %s", b->ends[i],
		       brought_why(i));
		if ((i == PASSAGE_WRITERS || i == PASSAGE_READERS) && b->one)
			printf(" (tasks %" PRIu32 " and %" PRIu32 ")", b->one, b->other);
		putchar('\n');
	}
}

/* Of @n lines that --limit has left out those at which the slice ends: nothing else says why it
 * does. */
static void print_left_out(const struct why_line *lines, size_t n)
{
	enum { MOST = 5 };
	size_t ends = 0;
	if (n)
		printf("and %zu more (--limit)\n", n);
	for (size_t i = 0; i < n; i++)
		ends += lines[i].ends;
	if (ends)
		printf("the slice ends at %zu of them:\n", ends);
	for (size_t i = 0, told = 0; i < n && told < MOST; i++)
		if (lines[i].ends && ++told)
			print_line(&lines[i], false);
}

/* What of other threads was read, and who made it. */
static void print_threads(const struct slice *s, const struct why_options *o)
{
	const struct why_threads *t = &s->threads;
	print_brought(&t->brought);
	if (t->forked.untold)
		printf("the slice ends at %" PRIu64
		       " bytes that a forked process had of its parent, "
		       "whose values are not known there\n",
		       t->forked.untold);
	if (t->reads || t->left_out)
		printf("read of what other threads may have written: %" PRIu64
		       " times; by one that is told below or as at the start: %" PRIu64 "\n",
		       t->reads + t->left_out, t->reads - t->beside - t->untold);
	if (t->beside)
		printf("the slice ends at %" PRIu64
		       " of them: nothing says who wrote last (task %" PRIu32
		       " read it, task %" PRIu32 " may have written it at the same time)\n",
		       t->beside, t->one, t->other);
	if (t->untold)
		printf("the slice ends at %" PRIu64
		       " of them: the values of a thread that may have "
		       "written it are not known up to there\n",
		       t->untold);
	if (t->left_out)
		printf("the slice ends at %" PRIu64 " of them, because there are too many\n",
		       t->left_out);
	if (t->calls)
		printf("the slice ends at %" PRIu64 " calls that read what other threads may have "
		       "written\n",
		       t->calls);
	for (size_t i = 0; i < t->n; i++) {
		const struct why_thread *of = &t->at[i];
		size_t n = of->n < o->limit ? of->n : o->limit;
		printf("in task %" PRIu32 ": %zu places, %" PRIu64 " instances", of->task, of->n,
		       of->fold.instances);
		if (of->inexact)
			printf(" (%" PRIu64 " of its instructions rest on something assumed)",
			       of->inexact);
		putchar('\n');
		for (size_t k = 0; k < n; k++)
			print_line(&of->lines[k], false);
		print_left_out(of->lines + n, of->n - n);
		print_bytes(&of->fold);
	}
}

static void print_text(const struct why_run *w, const struct slice *s, const struct why_options *o,
		       uint64_t executed)
{
	printf("%s slice of ", direction(o));
	printable_print(stdout, w->said, PRINT_TEXT);
	printf(": %zu places of %zu functions, %" PRIu64 " instances of %" PRIu64 " executed\n",
	       s->whole, s->functions, s->fold.instances, executed);
	if (s->beside)
		printf("and %zu lines of jumps that are not in it, and went another way than in "
		       "runs that passed\n",
		       s->beside);
	if (s->whole + s->beside != s->n)
		printf("of them %zu are in the other slices as well\n", s->n);
	if (s->pruned)
		printf("right, as outputs show that were right: %zu, left out; the others by "
		       "doubt\n",
		       s->pruned);
	size_t left = s->n - s->pruned, n = shown(s, o);
	for (size_t i = 0; i < n; i++)
		print_line(&s->lines[i], s->critical);
	print_left_out(s->lines + n, left - n);
	print_bytes(&s->fold);
	print_threads(s, o);
	if (w->partial) {
		fputs("the values of the recording end in a gap: ", stdout);
		printable_print(stdout, value_run_gap(w->run)->text, PRINT_TEXT);
		putchar('\n');
	}
}

static void json_string(const char *name, const char *text)
{
	printf(",\"%s\":", name);
	printable_json(stdout, text);
}

static void json_line(const struct why_line *l, bool pinned)
{
	printf("{\"times\":%" PRIu64 ",\"first\":%" PRIu64 ",\"last\":%" PRIu64
	       ",\"address\":\"%" PRIx64 "\",\"line\":%u,\"ends\":%s",
	       l->times, l->first, l->last, l->elf, l->line, l->ends ? "true" : "false");
	printf(",\"instances\":%" PRIu64 ",\"pinned\":%" PRIu64, l->instances, l->pinned);
	if (pinned)
		printf(",\"confidence\":%.3f", (double)l->confidence);
	printf(",\"by_data\":%s,\"near\":%" PRIu64, l->by_data ? "true" : "false", l->near);
	if (l->evidence.runs)
		printf(",\"beside\":%s,\"runs\":%u,\"runs_executed\":%u,\"runs_same_ways\":"
		       "%u,\"new_values\":%u",
		       l->beside ? "true" : "false", l->evidence.runs, l->evidence.executed,
		       l->evidence.same_ways, l->evidence.new_values);
	json_string("function", l->function);
	fputs(",\"inlined\":", stdout);
	value_frames_json(stdout, l->frames, l->n_frames);
	json_string("file", l->file);
	json_string("event", l->event);
	json_string("text", l->text);
	json_string("value", l->value);
	putchar('}');
}

static void json_bytes(const struct fold *f)
{
	for (size_t i = 0; i < f->n_bytes; i++)
		printf("%s{\"fd\":%d,\"output\":%s,\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}",
		       i ? "," : "", f->bytes[i].fd, f->bytes[i].output ? "true" : "false",
		       f->bytes[i].from, f->bytes[i].to - 1);
}

static void json_brought(const struct brought *b)
{
	static const char *const names[BROUGHT_ENDS] = {
		[PASSAGE_WRITERS] = "writers", [PASSAGE_READERS] = "readers",
		[PASSAGE_EARLIER] = "earlier", [PASSAGE_OTHERS] = "others",
		[PASSAGE_INSIDE] = "inside",   [BROUGHT_UNTOLD] = "untold",
		[BROUGHT_DIFFER] = "differ",   [BROUGHT_LEFT_OUT] = "left_out"};
	printf("],\"brought\":{\"bytes\":%" PRIu64, b->followed);
	for (unsigned i = PASSAGE_WRITERS; i < BROUGHT_ENDS; i++)
		printf(",\"%s\":%" PRIu64, names[i], b->ends[i]);
	fputs(",\"pieces\":[", stdout);
	bool more = false;
	for (size_t i = 0; i < b->n; i++) {
		const struct brought_piece *p = &b->pieces[i];
		if (p->end)
			continue;
		printf("%s{\"task\":%" PRIu32 ",\"fd\":%d,\"from\":%" PRIu64 ",\"to\":%" PRIu64
		       ",\"writer\":%" PRIu32 ",\"writer_fd\":%d",
		       more ? ",\n" : "\n", p->task, p->fd, p->at, p->at + p->from.bytes - 1,
		       p->from.task, p->writer_fd);
		json_string("by", brought_channel(p->from.channel));
		putchar('}');
		more = true;
	}
	fputs("]}", stdout);
}

static void json_threads(const struct slice *s, const struct why_options *o)
{
	const struct why_threads *t = &s->threads;
	json_brought(&t->brought);
	printf(",\"forked_untold\":%" PRIu64, t->forked.untold);
	printf(",\"of_others\":{\"reads\":%" PRIu64 ",\"from_start\":%" PRIu64
	       ",\"beside\":%" PRIu64 ",\"untold\":%" PRIu64 ",\"left_out\":%" PRIu64
	       ",\"calls\":%" PRIu64 "},\"threads\":[",
	       t->reads, t->from_start, t->beside, t->untold, t->left_out, t->calls);
	for (size_t i = 0; i < t->n; i++) {
		printf("%s{\"task\":%" PRIu32 ",\"instances\":%" PRIu64 ",\"inexact\":%" PRIu64
		       ",\"lines\":[",
		       i ? "," : "", t->at[i].task, t->at[i].fold.instances, t->at[i].inexact);
		for (size_t k = 0; k < t->at[i].n && k < o->limit; k++) {
			fputs(k ? ",\n" : "\n", stdout);
			json_line(&t->at[i].lines[k], false);
		}
		fputs("],\"bytes\":[", stdout);
		json_bytes(&t->at[i].fold);
		fputs("]}", stdout);
	}
}

static void print_json(const struct why_run *w, const struct slice *s, const struct why_options *o,
		       uint64_t executed)
{
	printf("{\"direction\":\"%s\"", o->both ? "both" : o->forward ? "forward" : "backward");
	json_string("criterion", w->said);
	printf(",\"executed\":%" PRIu64 ",\"instances\":%" PRIu64
	       ",\"functions\":%zu,\"places\":%zu",
	       executed, s->fold.instances, s->functions, s->whole);
	printf(",\"common\":%zu,\"pruned\":%zu", s->n, s->pruned);
	printf(",\"gap\":%s,\"ends\":%s,\"lines\":[", w->partial ? "true" : "false",
	       s->ends ? "true" : "false");
	for (size_t i = 0; i < shown(s, o); i++) {
		fputs(i ? ",\n" : "\n", stdout);
		json_line(&s->lines[i], s->pinned);
	}
	fputs("],\"bytes\":[", stdout);
	json_bytes(&s->fold);
	fputs("],\"edges\":[", stdout);
	for (size_t i = 0; i < s->graph.n; i++) {
		const struct why_edge *e = &s->graph.edges[i];
		printf("%s{\"from\":%" PRIu32 ",\"to\":%" PRIu32
		       ",\"kind\":\"%s\",\"times\":%" PRIu64 "}",
		       i ? ",\n" : "\n", e->from, e->to, why_graph_kind(e->kind), e->times);
	}
	json_threads(s, o);
	puts("]}");
}

static void print_picture(const struct why_run *w, const struct slice *s,
			  const struct why_options *o, uint64_t executed)
{
	char title[400];
	snprintf(title, sizeof(title),
		 "%s slice of %s: %zu places, %" PRIu64 " instances of %" PRIu64, direction(o),
		 w->said, s->whole, s->fold.instances, executed);
	struct why_picture p = {title, s->lines, shown(s, o), 0, &s->graph};
	p.left_out = s->n - s->pruned - p.n;
	if (o->format == WHY_DOT)
		why_picture_dot(stdout, &p);
	else
		(o->format == WHY_SVG ? why_picture_svg : why_picture_html)(stdout, &p);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int count_functions(struct slice *s)
{
	const char **names = calloc(s->n + 1, sizeof(*names));
	size_t n = 0;
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++) {
		s->ends |= s->lines[i].ends;
		if (s->lines[i].function)
			names[n++] = s->lines[i].function;
	}
	if (n)
		qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 0; i < n; i++)
		s->functions += !i || strcmp(names[i], names[i - 1]);
	free(names);
	return 0;
}

/* Does not finish @fold. */
static int one_slice(struct why_run *w, const struct slice_criterion *c, unsigned follow,
		     const struct slice_control *control, bool backward, bool forward,
		     struct fold *fold)
{
	const struct dep_trace *t = dep_build_trace(w->build);
	int err = 0;
	fold->trace = t;
	if (backward)
		err = slice_backward(t, c, follow, control, fold_visit, fold);
	if (!err && forward)
		err = slice_forward(t, c, follow, control, fold_visit, fold);
	return err;
}

static int finish(struct fold *fold, int err)
{
	fold_finish(fold);
	return err || !fold->no_memory ? err : -ENOMEM;
}

/* The executions that lines are near to: of critical jumps, else what is asked about. */
static int find_centers(const struct why_run *w, struct slice *s, const struct why_options *o)
{
	size_t n = 0;
	s->centers = calloc(w->n_extras + 1, sizeof(*s->centers));
	if (!s->centers)
		return -ENOMEM;
	for (unsigned i = 0; i < w->n_extras; i++)
		if (w->extras[i].kind == WHY_THROUGH || w->extras[i].kind == WHY_ALSO)
			s->centers[n++] = w->extras[i].criterion.count;
	s->critical = n || o->critical;
	if (!n || o->critical)
		s->centers[n++] = w->criterion.count;
	s->fold.centers = s->centers;
	s->fold.n_centers = n;
	return 0;
}

/* All that was read of others is followed: the line does not end the slice. */
static void goes_on(struct why_line *l)
{
	if (l->event && l->kind == DEP_OTHERS)
		l->ends = false;
}

/* The slice that is asked for, as lines. */
static int main_slice(struct why_run *w, struct slice *s, const struct why_options *o)
{
	bool alone = o->forward || o->both;
	int err = alone ? 0 : why_threads_open(w, o, &s->threads);
	if (!err && !alone)
		err = fold_foreigns_init(&s->foreign, dep_build_trace(w->build));
	if (!err && !alone && dep_build_trace(w->build)->n_spans)
		err = fold_foreigns_ask(&s->foreign, w->criterion.defs, w->criterion.n_defs,
					w->criterion.count, w->addr);
	s->fold.foreign = alone ? NULL : &s->foreign;
	s->fold.pinned = s->pinned;
	if (!err && (o->format != WHY_TEXT || s->pinned)) {
		s->fold.trace = dep_build_trace(w->build);
		err = fold_keep_members(&s->fold);
	}
	uint64_t *tainted = NULL;
	struct dep_units left = {{0}};
	bool onward = o->forward && !o->both;
	w->criterion.left = &left;
	if (onward)
		w->criterion.tainted = &tainted;
	err = err ? err
		  : one_slice(w, &w->criterion, o->follow, w->control, !o->forward || o->both,
			      o->forward || o->both, &s->fold);
	w->criterion.tainted = NULL;
	if (!err && onward)
		err = why_threads_onward(w, o, tainted, &s->threads);
	free(tainted);
	s->fold.foreign = NULL;
	w->criterion.left = NULL;
	if (!err && !alone)
		err = why_threads_take(w, &s->foreign, &left, &s->fold, &s->threads);
	err = err ? err : why_also(w, o, &s->fold);
	if (!err && s->passing)
		err = why_passing_add(s->passing, &s->fold);
	err = finish(&s->fold, err);
	err = err ? err : why_lines(w, &s->fold, o->instructions, o->forward, &s->lines, &s->n);
	for (size_t i = 0; !err && i < s->n; i++)
		s->beside += s->lines[i].beside;
	s->whole = s->n - s->beside;
	if (!err && !alone &&
	    (s->foreign.n || s->foreign.calls || s->threads.brought.n || s->threads.forked.n))
		err = why_threads_follow(w, o, &s->foreign, &s->threads);
	bool whole = !err && !alone && why_threads_whole(&s->threads);
	for (size_t i = 0; i < s->n && whole; i++)
		goes_on(&s->lines[i]);
	for (size_t i = 0; i < s->threads.n && !err; i++)
		for (size_t k = 0; k < s->threads.at[i].n; k++) {
			if (whole)
				goes_on(&s->threads.at[i].lines[k]);
			s->ends |= s->threads.at[i].lines[k].ends;
		}
	return err;
}

/* Leaves the lines that all the other slices have as well. */
static int keep_common(struct why_run *w, struct slice *s, const struct why_options *o)
{
	int err = 0;
	for (unsigned i = 0; !err && i < w->n_extras; i++) {
		const struct why_extra *e = &w->extras[i];
		struct fold other = {0};
		if (e->kind != WHY_FROM && e->kind != WHY_THROUGH)
			continue;
		err = one_slice(w, &e->criterion, o->follow, w->control, e->kind == WHY_THROUGH,
				true, &other);
		err = finish(&other, err);
		err = err ? err : why_keep_common(w, &other, o, s->lines, &s->n);
		fold_deinit(&other);
	}
	return err;
}

/* Which lines are in the slices by data alone of what lines are near to. */
static int mark_by_data(struct why_run *w, struct slice *s, const struct why_options *o)
{
	struct fold by_data = {0};
	int err = 0;
	bool any = false;
	for (unsigned i = 0; !err && i < w->n_extras; i++)
		if (w->extras[i].kind == WHY_THROUGH || w->extras[i].kind == WHY_ALSO) {
			err = one_slice(w, &w->extras[i].criterion, SLICE_DATA, NULL, true, true,
					&by_data);
			any = true;
		}
	if (!err && (!any || o->critical))
		err = one_slice(w, &w->criterion, SLICE_DATA, NULL, true, s->critical, &by_data);
	err = finish(&by_data, err);
	err = err ? err : why_mark_data(w, &by_data, o, s->lines, s->n);
	fold_deinit(&by_data);
	return err;
}

static int compute(struct why_run *w, struct slice *s, const struct why_options *o,
		   struct pugmark_diag *diag)
{
	s->ranked = o->n_sets || o->n_passing || o->ranked || o->critical;
	int err = o->n_passing ? why_passing_new(w, o, &s->passing, diag) : 0;
	err = err ? err : why_pinned(w, &s->pinned);
	err = err ? err : find_centers(w, s, o);
	err = err ? err : main_slice(w, s, o);
	err = err ? err : keep_common(w, s, o);
	if (!err && s->passing)
		why_passing_lines(s->passing, &s->fold, s->lines, s->n);
	if (!err && s->ranked) {
		err = mark_by_data(w, s, o);
		if (!err && s->pinned)
			err = why_doubt(w, o, s->pinned, &s->fold, s->lines, s->n, diag);
		s->pruned = err ? 0 : why_put_by_doubt(s->lines, s->n);
	}
	if (!err && o->format != WHY_TEXT)
		err = why_graph_init(&s->graph, dep_build_trace(w->build), &s->fold, s->lines,
				     shown(s, o), o->follow, w->control);
	return err ? err : count_functions(s);
}

int why_print(const struct why_options *o, struct pugmark_diag *diag)
{
	struct why_run w;
	struct slice s = {0};
	int err = why_run_init(&w, o, diag);
	if (!err) {
		err = compute(&w, &s, o, diag);
		if (err == -ENOMEM)
			pugmark_diag_set(diag, err, o->dir, PUGMARK_NO_OFFSET, "%s",
					 strerror(-err));
	}
	if (!err) {
		uint64_t executed = dep_build_trace(w.build)->count;
		why_lines_values(&w, s.lines, s.n < o->limit ? s.n : o->limit);
		static void (*const printers[])(const struct why_run *, const struct slice *,
						const struct why_options *,
						uint64_t) = {[WHY_TEXT] = print_text,
							     [WHY_JSON] = print_json,
							     [WHY_DOT] = print_picture,
							     [WHY_SVG] = print_picture,
							     [WHY_HTML] = print_picture};
		printers[o->format](&w, &s, o, executed);
	}
	bool partial = s.ends || w.partial;
	partial |= !err && !why_threads_whole(&s.threads);
	why_threads_deinit(&s.threads);
	fold_foreigns_deinit(&s.foreign);
	why_lines_free(s.lines, s.n);
	why_graph_deinit(&s.graph);
	fold_deinit(&s.fold);
	free(s.pinned);
	why_passing_free(s.passing);
	free(s.centers);
	why_run_deinit(&w);
	return err ? err : partial;
}
