// SPDX-License-Identifier: LGPL-2.1-or-later
/* wet_show.c: see wet_show.h. Timestamps are those of nodes; an instruction is in one or in several
 * nodes, whose executions are merged in the order of time. */
#include "user/wet/wet_show.h"

#include "offline/wet/recompute/times.h"
#include "offline/wet/recompute/values.h"

#include "user/cli/printable.h"
#include "user/wet/wet_gather.h"
#include "user/wet/wet_walk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const struct wet_asked *a, int err, struct pugmark_diag *diag)
{
	static const struct {
		int err;
		const char *why;
	} reasons[] = {{-EBADMSG, "a stream is damaged"},
		       {-ENOTSUP, "a stream is compressed by what this build lacks"},
		       {-E2BIG, "it has more code than a trace is believed to have"}};
	const char *why = "out of memory";
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].err == err)
			why = reasons[i].why;
	return pugmark_diag_set(diag, err, a->path, PUGMARK_NO_OFFSET, "%s", why);
}

static void print_place(const struct wet_file *f, uint32_t stmt, bool json)
{
	const struct wet_file_stmt *s = &f->stmts[stmt];
	const char *function = f->nodes[s->node].function;
	if (json) {
		printf("\"address\":\"%" PRIx64 "\",\"module\":", s->addr);
		printable_json(stdout, s->module < f->n_modules ? f->modules[s->module] : NULL);
		fputs(",\"function\":", stdout);
		printable_json(stdout, *function ? function : NULL);
		return;
	}
	printable_print(stdout, *function ? function : "?", PRINT_TEXT);
	printf(" 0x%" PRIx64, s->addr);
}

/* --- control flow ---------------------------------------------------------------------------- */

static void print_node(const struct wet_file *f, const struct wet_asked *a, uint64_t time,
		       uint32_t node, bool first)
{
	const struct wet_file_node *n = &f->nodes[node];
	if (a->json) {
		printf("%s\n{\"time\":%" PRIu64 ",\"node\":%u,\"instructions\":%u,",
		       first ? "" : ",", time, node, n->n_stmts);
		print_place(f, n->first_stmt, true);
		putchar('}');
		return;
	}
	printf("%12" PRIu64 "  node %-6u ", time, node);
	print_place(f, n->first_stmt, false);
	printf("  %u instructions\n", n->n_stmts);
}

int wet_show_blocks(const struct wet_file *f, const struct wet_asked *a, struct pugmark_diag *diag)
{
	struct wet_walk walk;
	uint64_t time, from = a->from ? a->from : 1, shown = 0;
	uint64_t to = a->to < f->totals.paths ? a->to : f->totals.paths;
	uint32_t node;
	bool more = false;
	int err = wet_walk_init(&walk, f, a->backward ? to : from, a->backward);
	if (err)
		return failed(a, err, diag);
	if (a->json)
		fputs("{\"nodes\":[", stdout);
	while (wet_walk_step(&walk, &time, &node) && time >= from && time <= to) {
		more = shown == a->limit;
		if (more)
			break;
		if (f->nodes[node].n_stmts)
			print_node(f, a, time, node, !shown);
		shown++;
	}
	bool whole = more || from > to || shown == to - from + 1;
	wet_walk_deinit(&walk);
	if (a->json)
		printf("],\"more\":%s}\n", more ? "true" : "false");
	else if (more)
		puts("and more (--limit)");
	return whole ? 0 : failed(a, -EBADMSG, diag);
}

/* --- an instruction -------------------------------------------------------------------------- */

/* One of the statements that an instruction is. */
struct at_node {
	uint32_t stmt;
	struct wet_times *times;
	struct wet_cursor *pattern;	/* NULL: always the first tuple */
	uint64_t next;			/* timestamp of its next execution, or backward of the
					 * one before; 0: none */
	uint64_t execution;		/* its number */
	uint32_t n_values, first_value; /* of the node's */
	struct wet_cursor **uvals;	/* of each value; NULL: it is executed again */
};

struct instruction {
	struct at_node *at;
	uint32_t n;
	struct block_paths paths;  /* where there are blocks */
	struct wet_values *values; /* NULL: nobody needs it */
};

static void instruction_deinit(struct instruction *in)
{
	for (uint32_t i = 0; i < in->n; i++) {
		wet_times_free(in->at[i].times);
		wet_cursor_free(in->at[i].pattern);
		for (uint32_t k = 0; k < in->at[i].n_values; k++)
			wet_cursor_free(in->at[i].uvals[k]);
		free(in->at[i].uvals);
	}
	free(in->at);
	block_paths_deinit(&in->paths);
	wet_values_free(in->values);
}

/* Opens the stream of value @value of the node, the @k-th of the statement's. */
static int open_value(const struct wet_file *f, const struct wet_file_node *n, uint32_t value,
		      uint32_t k, struct at_node *at)
{
	uint32_t place = 0, first = 0;
	while (place < n->n_values && f->order[n->first_value + place] != value)
		place++;
	for (uint32_t i = n->first_group; i < n->first_group + n->n_groups; i++) {
		const struct wet_file_group *g = &f->groups[i];
		int err = 0;
		if (place - first >= g->width) {
			first += g->width;
			continue;
		}
		if (g->executed)
			return 0;
		/* All values of a statement are of one group, in what was written here. */
		if (g->pattern != WET_NONE && !at->pattern)
			err = wet_file_stream(f, g->pattern, &at->pattern);
		return err ? err : wet_file_stream(f, g->uvals + (place - first), &at->uvals[k]);
	}
	return -EBADMSG;
}

static int open_values(const struct wet_file *f, struct at_node *at)
{
	const struct wet_file_stmt *s = &f->stmts[at->stmt];
	const struct wet_file_node *n = &f->nodes[s->node];
	uint32_t value = 0;
	int err = 0;
	for (uint32_t i = n->first_stmt; i < at->stmt; i++)
		value += f->stmts[i].n_results;
	at->first_value = value;
	at->uvals = calloc(s->n_results + (size_t)1, sizeof(struct wet_cursor *));
	if (!at->uvals)
		return -ENOMEM;
	at->n_values = s->n_results;
	for (uint32_t k = 0; k < at->n_values && !err; k++)
		err = open_value(f, n, value + k, k, at);
	return err;
}

/* 0 or -EBADMSG: there is a next one that cannot be read. */
static int pass_execution(struct at_node *at, bool backward)
{
	uint64_t v;
	if (backward) {
		at->next = wet_times_previous(at->times, &v) ? v : 0;
		at->execution = wet_times_position(at->times);
		return at->next || !at->execution ? 0 : -EBADMSG;
	}
	at->execution = wet_times_position(at->times);
	at->next = wet_times_next(at->times, &v) ? v : 0;
	return at->next || at->execution == wet_times_length(at->times) ? 0 : -EBADMSG;
}

/* The statements of @a->addr. */
static int find_instruction(const struct wet_file *f, const struct wet_asked *a,
			    struct instruction *in, struct pugmark_diag *diag)
{
	*in = (struct instruction){.at = calloc(f->n_stmts + (size_t)1, sizeof(*in->at))};
	if (!in->at)
		return failed(a, -ENOMEM, diag);
	int err = f->n_again ? block_paths_init(&in->paths, f) : 0;
	for (uint32_t i = 0; i < f->n_stmts && !err; i++) {
		struct at_node *at = &in->at[in->n];
		if (f->stmts[i].addr != a->addr)
			continue;
		in->n++;
		at->stmt = i;
		err = wet_times_open(f, &in->paths, f->stmts[i].node, &at->times);
		if (!err)
			err = open_values(f, at);
		for (uint32_t k = 0; k < at->n_values && !err && !in->values; k++)
			if (!at->uvals[k])
				err = wet_values_open(f, &in->values);
		if (!err && a->backward && !wet_times_seek(at->times, wet_times_length(at->times)))
			err = -EBADMSG;
		if (!err)
			err = pass_execution(at, a->backward);
	}
	if (err || !in->n)
		instruction_deinit(in);
	if (err)
		return failed(a, err, diag);
	return in->n ? 0
		     : pugmark_diag_set(diag, -ENOENT, a->path, PUGMARK_NO_OFFSET,
					"no instruction at 0x%" PRIx64 " was executed", a->addr);
}

/* The one that was executed first, or backward last; NULL: there is none. */
static struct at_node *nearest(const struct instruction *in, bool backward)
{
	struct at_node *best = NULL;
	for (uint32_t i = 0; i < in->n; i++)
		if (in->at[i].next && (!best || (backward ? in->at[i].next > best->next
							  : in->at[i].next < best->next)))
			best = &in->at[i];
	return best;
}

/* Of a store, a comparison or a jump there are none. */
static bool has_results(const struct instruction *in)
{
	bool any = false;
	for (uint32_t i = 0; i < in->n; i++)
		any |= in->at[i].n_values != 0;
	return any;
}

static bool read_value(const struct instruction *in, struct at_node *at, uint32_t k,
		       uint64_t *value)
{
	uint64_t tuple = 0;
	if (!at->uvals[k])
		return !wet_values_at(in->values, at->next, at->first_value + k, value);
	if (at->pattern &&
	    (!wet_cursor_seek(at->pattern, at->execution) || !wet_cursor_next(at->pattern, &tuple)))
		return false;
	return wet_cursor_seek(at->uvals[k], tuple) && wet_cursor_next(at->uvals[k], value);
}

int wet_show_values(const struct wet_file *f, const struct wet_asked *a, struct pugmark_diag *diag)
{
	struct instruction in;
	struct at_node *at;
	uint64_t shown = 0, v;
	int err = find_instruction(f, a, &in, diag);
	if (err)
		return err;
	if (a->json)
		fputs("{\"values\":[", stdout);
	while (!err && (at = nearest(&in, a->backward))) {
		if (at->next >= a->from && at->next <= a->to) {
			if (shown == a->limit)
				break;
			printf(a->json ? "%s\n{\"time\":%" PRIu64 ",\"values\":["
				       : "%s%12" PRIu64 " ",
			       a->json && shown ? "," : "", at->next);
			for (uint32_t k = 0; k < at->n_values && !err; k++) {
				err = read_value(&in, at, k, &v) ? 0 : -EBADMSG;
				if (err)
					break;
				printf(a->json ? "%s\"0x%" PRIx64 "\"" : "%s 0x%" PRIx64,
				       a->json && k ? "," : "", v);
			}
			fputs(a->json ? "]}" : "\n", stdout);
			shown++;
		}
		err = err ? err : pass_execution(at, a->backward);
	}
	bool more = !err && nearest(&in, a->backward), results = has_results(&in);
	instruction_deinit(&in);
	if (a->json)
		printf("],\"more\":%s}\n", more ? "true" : "false");
	else if (more)
		puts("and more (--limit)");
	if (!a->json && !err && !results)
		puts("it stores, compares, jumps or the like: of what computes no value only times "
		     "are there (--depends: what it read)");
	return err ? failed(a, err, diag) : 0;
}

/* --- dependences ----------------------------------------------------------------------------- */

/* The timestamp of execution @i of the stream. */
static bool time_of(struct wet_times *times, uint64_t i, uint64_t *time)
{
	return wet_times_seek(times, i) && wet_times_next(times, time);
}

static void print_pair(const struct wet_asked *a, uint64_t to, uint64_t from, bool first)
{
	if (a->json)
		printf("%s[%" PRIu64 ",%" PRIu64 "]", first ? "" : ",", to, from);
	else
		printf("%14" PRIu64 " <- %" PRIu64 "\n", to, from);
}

/* Until @a->limit were shown in all; *@more: there are others. @g: of an edge whose labels are
 * executed again. */
static int print_labels(const struct wet_file *f, const struct wet_file_edge *e,
			const struct wet_gathered_edge *g, struct block_paths *paths,
			const struct wet_asked *a, uint64_t *shown, bool *more)
{
	uint64_t n = g ? g->n : e->n;
	struct wet_cursor *labels[2] = {0};
	struct wet_times *times[2] = {0};
	const uint32_t nodes[2] = {f->stmts[e->to].node, f->stmts[e->from].node};
	bool first = true;
	int err = 0;
	for (int i = 0; i < 2 && !err; i++) {
		if (e->labels != WET_NONE)
			err = wet_file_stream(f, e->labels + i, &labels[i]);
		if (!err)
			err = wet_times_open(f, paths, nodes[i], &times[i]);
	}
	for (uint64_t i = 0; i < n && !*more && !err; i++) {
		uint64_t execution[2] = {g ? g->pairs[i].to : i, g ? g->pairs[i].from : i};
		uint64_t time[2];
		bool fine = true;
		for (int k = 0; k < 2 && fine; k++) {
			fine = !labels[k] || wet_cursor_next(labels[k], &execution[k]);
			fine = fine && time_of(times[k], execution[k], &time[k]);
		}
		err = fine ? 0 : -EBADMSG;
		if (err || time[0] < a->from || time[0] > a->to)
			continue;
		*more = *shown == a->limit;
		if (*more)
			break;
		print_pair(a, time[0], time[1], first);
		first = false;
		++*shown;
	}
	for (int i = 0; i < 2; i++) {
		wet_cursor_free(labels[i]);
		wet_times_free(times[i]);
	}
	return err;
}

int wet_show_depends(const struct wet_file *f, const struct wet_asked *a, struct pugmark_diag *diag)
{
	struct wet_gathered gathered;
	struct block_paths paths = {0};
	uint64_t shown = 0;
	bool any = false, known = false, more = false;
	int err = wet_gather(f, a, &gathered);
	if (!err && f->n_again)
		err = block_paths_init(&paths, f);
	if (a->json)
		fputs("{\"edges\":[", stdout);
	for (uint32_t i = 0; i < f->n_stmts; i++)
		known |= f->stmts[i].addr == a->addr;
	for (uint32_t i = 0; i < f->n_edges && !err; i++) {
		const struct wet_file_edge *e = &f->edges[i];
		if (f->stmts[e->to].addr != a->addr)
			continue;
		bool decided = e->operand == WET_CONTROL;
		if (a->json)
			printf("%s\n{\"instances\":%" PRIu64 ",\"decided\":%s,\"inferred\":%s,",
			       any ? "," : "", e->n, decided ? "true" : "false",
			       e->inferred ? "true" : "false");
		else
			printf("%12" PRIu64 " times %s ", e->n, decided ? "decided by" : "from");
		print_place(f, e->from, a->json);
		fputs(a->json	    ? ",\"times\":["
		      : e->inferred ? "  in the same execution\n"
				    : "\n",
		      stdout);
		any = true;
		err = print_labels(f, e, e->executed ? wet_gathered_of(&gathered, e) : NULL, &paths,
				   a, &shown, &more);
		fputs(a->json ? "]}" : "", stdout);
	}
	if (a->json)
		printf("],\"more\":%s}\n", more ? "true" : "false");
	else if (more)
		puts("and more (--limit)");
	block_paths_deinit(&paths);
	wet_gathered_deinit(&gathered);
	if (!known)
		return pugmark_diag_set(diag, -ENOENT, a->path, PUGMARK_NO_OFFSET,
					"no instruction at 0x%" PRIx64 " was executed", a->addr);
	if (!any && !a->json)
		puts("on nothing that was made in the window, but by instructions of its own node");
	return err ? failed(a, err, diag) : 0;
}
