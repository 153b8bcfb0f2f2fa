// SPDX-License-Identifier: LGPL-2.1-or-later
/* slices.c: what tests/value/naive_slices.c prints, by Pugmark: of the first task of a recording.
 *
 *   slices DIR NUMBER ADDRESSES [INSTANCE|times]
 *
 * ADDRESSES is written: the ELF address of every instruction, for the other one to compare.
 * "times": slices alone, without the edges between their instances. */
#include "offline/slice/edges.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct numbers {
	uint64_t *at;
	size_t n, room;
};

struct sliced {
	const struct dep_trace *trace;
	struct numbers instances;
	struct slice_members members;
	struct numbers edges; /* of each: the maker, the reader */
};

struct times {
	double *at; /* of each slice */
	size_t n;
	bool edges; /* are printed as well */
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15;
	return h ^ h >> 29;
}

static void add(struct numbers *l, uint64_t v)
{
	if (l->n == l->room) {
		l->room = 2 * l->room + 1024;
		l->at = realloc(l->at, l->room * sizeof(*l->at));
		if (!l->at)
			exit(1);
	}
	l->at[l->n++] = v;
}

static void visit(void *ctx, const struct slice_step *step)
{
	struct sliced *s = ctx;
	if (!step->insn)
		return;
	add(&s->instances, step->count);
	slice_members_add(&s->members, s->trace, step);
}

static uint32_t node(void *ctx, const struct slice_step *step)
{
	(void)ctx;
	return (uint32_t)step->count + 1;
}

static void edge(void *ctx, uint32_t from, uint32_t to, enum slice_edge_kind kind, uint64_t reader)
{
	(void)reader;
	if (kind == SLICE_EDGE_DATA)
		add(&((struct sliced *)ctx)->edges, (uint64_t)(from - 1) << 32 | (to - 1));
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The run-time address of instruction @count, and whether it is a string instruction. */
static uint64_t address(const struct dep_trace *t, uint64_t count, bool *string)
{
	const struct dep_mark *m = dep_trace_mark(t, count);
	uint64_t at = m->count;
	for (uint64_t i = m->item; i < t->items.n; i++) {
		if (t->items.at[i] & DEP_ITEM_EVENT) {
			at = t->events[t->items.at[i] & ~DEP_ITEM_EVENT].count;
			continue;
		}
		const struct dep_block *b = t->blocks[t->items.at[i]];
		if (at + b->n_insns > count) {
			*string = b->insns[count - at].string;
			return b->ip + b->insns[count - at].ip_off;
		}
		at += b->n_insns;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* How many different ones there are, and their hash; they are sorted. */
static void print_numbers(const char *name, uint64_t instance, struct numbers *l)
{
	uint64_t h = 0;
	size_t n = 0;
	if (l->n)
		qsort(l->at, l->n, sizeof(*l->at), by_value);
	for (size_t i = 0; i < l->n; i++)
		if (!i || l->at[i] != l->at[i - 1]) {
			h = mix(h, l->at[i]);
			n++;
		}
	printf("%s %" PRIu64 " %zu %" PRIx64 "\n", name, instance, n, h);
}

static void print_slice(const struct dep_trace *t, uint64_t instance, bool forward, bool list,
			struct times *times)
{
	struct sliced s = {.trace = t};
	struct slice_criterion c = {.count = instance, .insn = true};
	int err = slice_members_init(&s.members, t);
	double start = now();
	if (!err)
		err = forward ? slice_forward(t, &c, SLICE_INSIDE, NULL, visit, &s)
			      : slice_backward(t, &c, SLICE_INSIDE, NULL, visit, &s);
	times->at[times->n++] = now() - start;
	if (!err && times->edges && !list)
		err = slice_edges(t, &s.members, SLICE_INSIDE, NULL, node, edge, &s);
	if (err)
		exit(1);
	if (list) {
		bool string;
		qsort(s.instances.at, s.instances.n, sizeof(*s.instances.at), by_value);
		for (size_t i = 0; i < s.instances.n; i++)
			printf("%" PRIu64 " %" PRIx64 "\n", s.instances.at[i],
			       address(t, s.instances.at[i], &string));
	} else {
		print_numbers(forward ? "forward" : "backward", instance, &s.instances);
		if (times->edges)
			print_numbers("edges", instance, &s.edges);
	}
	slice_members_deinit(&s.members);
	free(s.instances.at);
	free(s.edges.at);
}

static void put_address(FILE *f, uint64_t addr)
{
	fwrite(&addr, sizeof(addr), 1, f);
}

int main(int argc, char **argv)
{
	struct pugmark_diag diag;
	struct value_replay *replay;
	struct value_run *run;
	struct dep_build *build;
	uint32_t n;
	uint64_t bias = 0, seed = 1, count = 0;
	double start = now();
	if (argc < 4 || value_replay_open(argv[1], &replay, &diag))
		return 2;
	const struct captures *captures = value_replay_captures(replay);
	if (value_run_new(replay, captures_tasks(captures, &n)[0], &run, &diag) ||
	    dep_build_new(run, &build) || !captures_bias(captures, 0, &bias))
		return 1;
	value_run_snapshot_every(run, UINT64_MAX / 2);
	if (dep_build_forward(build, UINT64_MAX / 4) != VALUE_REPLAY_END)
		fprintf(stderr, "not to the end: %s\n", value_run_gap(run)->text);
	const struct dep_trace *t = dep_build_trace(build);
	double built = now() - start;
	FILE *addresses = fopen(argv[3], "w");
	if (!addresses)
		return 1;
	for (uint64_t i = 0; i < t->items.n; i++) {
		if (t->items.at[i] & DEP_ITEM_EVENT) {
			uint64_t at = t->events[t->items.at[i] & ~DEP_ITEM_EVENT].count;
			if (at != count)
				fprintf(stderr, "%" PRIu64 " instructions are in no block\n",
					at - count);
			count = at;
			continue;
		}
		const struct dep_block *b = t->blocks[t->items.at[i]];
		for (unsigned k = 0; k < b->n_insns; k++)
			put_address(addresses, b->ip + b->insns[k].ip_off - bias);
		count += b->n_insns;
	}
	fclose(addresses);
	printf("instances %" PRIu64 "\n", t->count);
	struct times times = {.edges = argc < 5 || strcmp(argv[4], "times") != 0};
	times.at = calloc(2 * (size_t)atoi(argv[2]) + 2, sizeof(*times.at));
	if (!times.at)
		return 1;
	for (int i = 0; i < atoi(argv[2]); i++) {
		bool string = false;
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint64_t instance = (seed >> 20) % t->count;
		address(t, instance, &string);
		if (string)
			continue;
		print_slice(t, instance, false, false, &times);
		print_slice(t, instance, true, false, &times);
	}
	if (argc > 4 && times.edges)
		print_slice(t, strtoull(argv[4], NULL, 10), false, true, &times);
	if (times.n)
		qsort(times.at, times.n, sizeof(*times.at), by_time);
	fprintf(stderr,
		"built in %.2f s, %.1f M instructions a second; a slice %.3f s in the median, "
		"%.3f s at most; %.2f bytes an instruction\n",
		built, (double)t->count / built / 1e6, times.n ? times.at[times.n / 2] : 0,
		times.n ? times.at[times.n - 1] : 0,
		4.0 * (double)(t->items.n + t->loads.n + t->many.n + t->sources.n) /
			(double)t->count);
	free(times.at);
	dep_build_free(build);
	value_run_free(run);
	value_replay_free(replay);
	return 0;
}
