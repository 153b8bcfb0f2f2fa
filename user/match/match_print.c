// SPDX-License-Identifier: LGPL-2.1-or-later
/* match_print.c: see match_print.h. */
#include "user/match/match_print.h"

#include "user/cli/printable.h"
#include "user/values/names/value_frames.h"
#include "user/match/intervals.h"
#include "user/match/match_list.h"

#include <pugmark/recording.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_MS = 1000 }; /* between two comparisons that follow */

struct shown {
	struct match_run runs[2];
	struct match_names names;
	struct match_found *found; /* of the second run's instructions */
	struct match_intervals intervals;
	struct match_run others[2];	  /* on an input on which both did the same */
	struct match_found *others_found; /* of the second one's instructions */
	uint8_t *on_others; /* enum match_on_others of each instruction of the second run */
	struct match_list list;
	uint32_t n_valued, n_matched; /* instructions of the second run with a history */
	uint64_t executions, agreed;  /* of them; consistent with their partner's */
};

static const char *const kinds[MATCH_KINDS] = {"result", "load", "store", "jump"};

/* --- the input on which both did the same ---------------------------------------------------- */

struct placed {
	uint64_t ip;
	uint32_t number;
};

static int by_ip(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

static struct placed *by_address(const struct match_side *side)
{
	struct placed *at = calloc(side->n + 1, sizeof(*at));
	for (uint32_t i = 0; at && i < side->n; i++)
		at[i] = (struct placed){side->insns[i].ip, i};
	if (at && side->n)
		qsort(at, side->n, sizeof(*at), by_ip);
	return at;
}

/* Sets @s->on_others. */
static int look_at_others(struct shown *s)
{
	const struct match_run *run = &s->runs[1], *other = &s->others[1];
	struct placed *at = by_address(&other->side);
	uint64_t bias = 0, other_bias = 0;
	captures_bias(value_replay_captures(run->replay), 0, &bias);
	captures_bias(value_replay_captures(other->replay), 0, &other_bias);
	for (uint32_t i = 0; at && i < run->side.n; i++) {
		struct placed key = {run->side.insns[i].ip - bias + other_bias, 0};
		const struct placed *found = bsearch(&key, at, other->side.n, sizeof(*at), by_ip);
		bool known = found && other->side.insns[found->number].n;
		s->on_others[i] = !known				   ? OTHERS_UNKNOWN
				  : s->others_found[found->number].matched ? OTHERS_MATCHED
									   : OTHERS_UNMATCHED;
	}
	free(at);
	return at ? 0 : -ENOMEM;
}

static int compare_others(struct shown *s, const struct match_options *o, struct pugmark_diag *diag)
{
	s->on_others = malloc(s->runs[1].side.n + 1);
	int err = s->on_others ? 0 : -ENOMEM;
	if (!err)
		memset(s->on_others, OTHERS_UNKNOWN, s->runs[1].side.n + 1);
	if (err || !o->dirs[2])
		return err;
	for (int i = 0; !err && i < 2; i++)
		err = match_run_init(&s->others[i], o->dirs[2 + i], 0, &s->names, diag);
	err = err ? err : match_find(&s->others[0].side, &s->others[1].side, &s->others_found);
	return err ? err : look_at_others(s);
}

/* --- counting -------------------------------------------------------------------------------- */

static void count(struct shown *s)
{
	const struct match_side *b = &s->runs[1].side;
	for (uint32_t i = 0; i < b->n; i++) {
		s->n_valued += !!b->insns[i].n;
		s->n_matched += b->insns[i].n && s->found[i].matched;
		s->executions += b->insns[i].n;
		s->agreed += s->found[i].matched ? b->insns[i].n : 0;
	}
}

/* --- text ------------------------------------------------------------------------------------ */

static double share(uint64_t a, uint64_t b)
{
	return b ? 100 * (double)a / (double)b : 100;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void print_place(const struct match_run *r, uint32_t i)
{
	struct value_frame f[VALUE_FRAMES];
	uint32_t module;
	uint64_t elf = 0, ip = r->side.insns[i].ip;
	uint32_t n = value_names_frames(r->names, ip, f);
	value_names_at(r->names, ip, &module, &elf);
	if (f->line) {
		printable_print(stdout, base_name(f->file), PRINT_TEXT);
		printf(":%u ", f->line);
	}
	printable_print(stdout, f->function ? f->function : "?", PRINT_TEXT);
	printf(" 0x%" PRIx64 " %s %s", elf, ZydisMnemonicGetString(r->side.insns[i].mnemonic),
	       kinds[r->side.insns[i].kind]);
	fputs(n > 1 ? " " : "", stdout);
	value_frames_print(stdout, f, n, n, PRINT_TEXT);
}

static void print_line(const struct shown *s, const struct match_line *l)
{
	uint32_t i = s->list.insns[l->from];
	const struct match_insn *m = &s->runs[1].side.insns[i];
	const struct match_found *f = &s->found[i];
	printf("%12u  ", match_left(&s->runs[1].side, s->found, i));
	print_place(&s->runs[1], i);
	if (s->on_others[i] != OTHERS_UNKNOWN)
		fputs(s->on_others[i] == OTHERS_MATCHED ? "  | matched on the other input"
							: "  | unmatched on the other input, too",
		      stdout);
	if (!s->list.parting.common[i])
		fputs("  | its values are not in the other program", stdout);
	if (l->n > 1)
		printf("  | and %u more of this line", l->n - 1);
	if (f->partner == MATCH_NONE) {
		puts("\n              like nothing in the other program");
		return;
	}
	printf("\n              as ");
	print_place(&s->runs[0], f->partner);
	if (f->agreed < m->n)
		printf(": %u of %u executions, and another value then\n", f->agreed, m->n);
	else
		printf(": %u executions, too few values to tell\n", m->n);
}

static void print_match(const struct shown *s, uint32_t i)
{
	const struct match_found *f = &s->found[i];
	print_place(&s->runs[1], i);
	printf("\n              as ");
	print_place(&s->runs[0], f->partner);
	printf(": %u executions of %u; makers %u of %u; %u alike\n", s->runs[1].side.insns[i].n,
	       s->runs[0].side.insns[f->partner].n, f->makers_matched, f->makers, f->alike);
}

static void print_text(const struct shown *s, const struct match_options *o)
{
	const struct match_intervals *in = &s->intervals;
	printf("%u of %u instructions matched (%.1f %%), %.1f %% of their %" PRIu64 " executions\n",
	       s->n_matched, s->n_valued, share(s->n_matched, s->n_valued),
	       share(s->agreed, s->executions), s->executions);
	for (int i = 0; i < 2; i++)
		if (s->runs[i].partial) {
			fputs("the values of ", stdout);
			printable_print(stdout, o->dirs[i], PRINT_TEXT);
			fputs(" end in a gap: ", stdout);
			printable_print(stdout, value_run_gap(s->runs[i].run)->text, PRINT_TEXT);
			putchar('\n');
		}
	puts("\n    interval of instructions  executed  unmatched  of them matched before");
	for (uint64_t i = 0; i < in->n; i++)
		if (in->at[i].executed || in->at[i].unmatched)
			printf("%13" PRIu64 " %13" PRIu64 " %9u %10u %10u%s\n", in->at[i].from,
			       in->at[i].to, in->at[i].executed, in->at[i].unmatched,
			       in->at[i].left, i == in->rise ? "  the rise" : "");
	puts(in->rise < in->n ? "\nunmatched, the most suspicious first:"
			      : "\nno rise; unmatched, the most suspicious first:");
	for (uint32_t i = 0; i < s->list.n_lines && i < o->limit; i++)
		print_line(s, &s->list.lines[i]);
	if (s->list.n_lines > o->limit)
		printf("and %" PRIu64 " more (--limit)\n", s->list.n_lines - o->limit);
	if (o->all)
		puts("\nmatched:");
	for (uint32_t i = 0; o->all && i < s->runs[1].side.n; i++)
		if (s->runs[1].side.insns[i].n && s->found[i].matched)
			print_match(s, i);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void json_text(const char *name, const char *text)
{
	printf("\"%s\":", name);
	printable_json(stdout, text);
}

static void json_place(const struct match_run *r, uint32_t i)
{
	struct value_frame f[VALUE_FRAMES];
	uint32_t module;
	uint64_t elf = 0, ip = r->side.insns[i].ip;
	uint32_t n = value_names_frames(r->names, ip, f);
	value_names_at(r->names, ip, &module, &elf);
	printf("{\"address\":\"%" PRIx64 "\",\"line\":%u,\"kind\":\"%s\",\"executions\":%u,", elf,
	       f->line, kinds[r->side.insns[i].kind], r->side.insns[i].n);
	json_text("function", f->function);
	putchar(',');
	json_text("file", f->file);
	fputs(",\"inlined\":", stdout);
	value_frames_json(stdout, f, n);
	putchar('}');
}

static void json_pair(const struct shown *s, uint32_t i)
{
	const struct match_found *f = &s->found[i];
	uint32_t left = match_left(&s->runs[1].side, s->found, i);
	fputs("{\"second\":", stdout);
	json_place(&s->runs[1], i);
	fputs(",\"first\":", stdout);
	if (f->partner == MATCH_NONE)
		fputs("null", stdout);
	else
		json_place(&s->runs[0], f->partner);
	printf(",\"agreed\":%u,\"makers\":%u,\"makers_matched\":%u,\"alike\":%u,\"left\":",
	       f->agreed, f->makers, f->makers_matched, f->alike);
	if (left == UINT32_MAX)
		fputs("null", stdout);
	else
		printf("%u", left);
	static const char *const on_others[] = {"true", "null", "false"};
	printf(",\"matched_on_others\":%s", on_others[s->on_others[i]]);
}

/* The most suspicious of its instructions, and the addresses of the others. */
static void json_line(const struct shown *s, const struct match_line *l)
{
	const uint32_t *insns = s->list.insns + l->from;
	json_pair(s, insns[0]);
	printf(",\"common\":%u,\"more\":[", s->list.parting.common[insns[0]]);
	for (uint32_t i = 1; i < l->n; i++) {
		uint32_t module;
		uint64_t elf = 0;
		value_names_at(s->runs[1].names, s->runs[1].side.insns[insns[i]].ip, &module, &elf);
		printf("%s\"%" PRIx64 "\"", i > 1 ? "," : "", elf);
	}
	fputs("]}", stdout);
}

static void print_json(const struct shown *s, const struct match_options *o)
{
	const struct match_intervals *in = &s->intervals;
	bool any = false;
	printf("{\"instructions\":%u,\"matched\":%u,\"executions\":%" PRIu64
	       ",\"executions_matched\":%" PRIu64 ",\"gap\":%s,\"rise\":",
	       s->n_valued, s->n_matched, s->executions, s->agreed,
	       s->runs[0].partial || s->runs[1].partial ? "true" : "false");
	if (in->rise < in->n)
		printf("%" PRIu64, in->rise);
	else
		fputs("null", stdout);
	fputs(",\"intervals\":[", stdout);
	for (uint64_t i = 0; i < in->n; i++)
		printf("%s{\"from\":%" PRIu64 ",\"to\":%" PRIu64
		       ",\"executed\":%u,\"unmatched\":%u,\"matched_before\":%u}",
		       i ? "," : "", in->at[i].from, in->at[i].to, in->at[i].executed,
		       in->at[i].unmatched, in->at[i].left);
	printf("],\"unmatched_instructions\":%u,\"unmatched_lines\":%u,\"unmatched\":[",
	       s->list.n_insns, s->list.n_lines);
	for (uint32_t i = 0; i < s->list.n_lines && i < o->limit; i++) {
		fputs(i ? ",\n" : "\n", stdout);
		json_line(s, &s->list.lines[i]);
	}
	fputs("],\"matches\":[", stdout);
	for (uint32_t i = 0; o->all && i < s->runs[1].side.n; i++) {
		if (!s->runs[1].side.insns[i].n || !s->found[i].matched)
			continue;
		fputs(any ? ",\n" : "\n", stdout);
		any = true;
		json_pair(s, i);
		putchar('}');
	}
	puts("]}");
}

/* --- all of it ------------------------------------------------------------------------------- */

/* @going_on: they are still recorded, and are compared as far as both have come. */
static int compare(struct shown *s, const struct match_options *o, bool going_on,
		   struct pugmark_diag *diag)
{
	int err = match_run_init(&s->runs[0], o->dirs[0], o->tasks[0], &s->names, diag);
	err = err ? err : match_run_init(&s->runs[1], o->dirs[1], o->tasks[1], &s->names, diag);
	if (err)
		return err;
	if (going_on)
		err = match_run_cut(&s->runs[1], match_run_both(&s->runs[0], &s->runs[1]));
	err = err ? err : match_find(&s->runs[0].side, &s->runs[1].side, &s->found);
	err = err ? err
		  : match_intervals_of(&s->runs[1].side, s->found, s->runs[1].executed,
				       o->intervals, &s->intervals);
	if (!err)
		err = compare_others(s, o, diag);
	if (!err)
		err = match_list_init(&s->list, s->runs, s->found, s->on_others, going_on);
	if (err == -ENOMEM)
		pugmark_diag_set(diag, err, o->dirs[1], PUGMARK_NO_OFFSET, "out of memory");
	if (!err)
		count(s);
	return err;
}

static void shown_deinit(struct shown *s)
{
	match_list_deinit(&s->list);
	free(s->intervals.at);
	free(s->found);
	free(s->names.at);
	free(s->on_others);
	free(s->others_found);
	match_run_deinit(&s->others[0]);
	match_run_deinit(&s->others[1]);
	match_run_deinit(&s->runs[0]);
	match_run_deinit(&s->runs[1]);
}

/* One line; and all of it when the rise is there for the first time. */
static void print_so_far(const struct shown *s, const struct match_options *o, bool *risen)
{
	bool rise = s->intervals.rise < s->intervals.n;
	if (o->json)
		printf("{\"so_far\":%" PRIu64 ",\"instructions\":%u,\"matched\":%u,\"rise\":%s}\n",
		       s->runs[1].executed, s->n_valued, s->n_matched, rise ? "true" : "false");
	else
		printf("so far, %" PRIu64 " instructions: %u of %u matched, %s\n",
		       s->runs[1].executed, s->n_matched, s->n_valued,
		       rise ? "with a rise" : "no rise");
	if (rise && !*risen && !o->json)
		print_text(s, o);
	*risen |= rise;
	fflush(stdout);
}

static int are_over(const struct match_options *o, bool *over, struct pugmark_diag *diag)
{
	*over = true;
	for (int i = 0; i < 2; i++) {
		struct pugmark_recording *rec;
		int err = pugmark_recording_open(o->dirs[i], &rec, diag);
		if (err)
			return err;
		*over &= pugmark_recording_info(rec)->closed;
		pugmark_recording_free(rec);
	}
	return 0;
}

/* Until both are over. What takes long is done less often. */
static int follow(const struct match_options *o, struct pugmark_diag *diag)
{
	uint64_t last = 0;
	bool over = false, risen = false;
	int err = are_over(o, &over, diag);
	while (!err && !over) {
		struct shown s = {0};
		struct timespec from, to;
		clock_gettime(CLOCK_MONOTONIC, &from);
		err = compare(&s, o, true, diag);
		/* Not all is written yet that there has to be, of one of them. */
		bool none = err == -ENOENT || err == -EBADMSG || err == -ENODATA;
		if (!err && s.runs[1].executed > last) {
			print_so_far(&s, o, &risen);
			last = s.runs[1].executed;
		}
		shown_deinit(&s);
		clock_gettime(CLOCK_MONOTONIC, &to);
		int64_t took =
			(to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
		poll(NULL, 0, took < LEAST_MS ? LEAST_MS : (int)took);
		err = none ? 0 : err;
		err = err ? err : are_over(o, &over, diag);
	}
	return err;
}

int match_print(const struct match_options *o, struct pugmark_diag *diag)
{
	struct shown s = {0};
	int err = o->follow ? follow(o, diag) : 0;
	err = err ? err : compare(&s, o, false, diag);
	if (!err)
		(o->json ? print_json : print_text)(&s, o);
	bool said = s.intervals.rise < s.intervals.n || s.runs[0].partial || s.runs[1].partial;
	shown_deinit(&s);
	return err ? err : said;
}
