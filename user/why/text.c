// SPDX-License-Identifier: LGPL-2.1-or-later
/* text.c: see print.h. */
#include "user/why/print.h"
#include "user/why/lines.h"

#include "user/cli/printable.h"
#include "user/values/names/value_frames.h"

#include <inttypes.h>
#include <stdio.h>

enum { NEAR = 100 }; /* instructions from a critical jump that are told */

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
static void print_threads(const struct why_slice *s, const struct why_options *o)
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

void why_print_text(const struct why_run *w, const struct why_slice *s, const struct why_options *o,
		    uint64_t executed)
{
	printf("%s slice of ", why_direction(o));
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
	size_t left = s->n - s->pruned, n = why_shown(s, o);
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
