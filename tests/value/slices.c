// SPDX-License-Identifier: LGPL-2.1-or-later
/* slices.c: what tests/value/naive_slices.c prints, by Pugmark: of the first task of a recording.
 *
 *   slices DIR NUMBER ADDRESSES [INSTANCE]
 *
 * ADDRESSES is written: the ELF address of every instruction, for the other one to compare. */
#include "offline/slice/slice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct members {
	uint64_t *at;
	size_t n, room;
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15;
	return h ^ h >> 29;
}

static void visit(void *ctx, const struct slice_step *step)
{
	struct members *m = ctx;
	if (!step->insn)
		return;
	if (m->n == m->room) {
		m->room = 2 * m->room + 1024;
		m->at = realloc(m->at, m->room * sizeof(*m->at));
		if (!m->at)
			exit(1);
	}
	m->at[m->n++] = step->count;
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

static void print_slice(const struct dep_trace *t, uint64_t instance, bool forward, bool list,
			double *worst)
{
	struct members m = {0};
	struct slice_criterion c = {.count = instance, .insn = true};
	double start = now();
	int err = forward ? slice_forward(t, &c, SLICE_INSIDE, NULL, visit, &m)
			  : slice_backward(t, &c, SLICE_INSIDE, NULL, visit, &m);
	double took = now() - start;
	*worst = took > *worst ? took : *worst;
	if (err)
		exit(1);
	uint64_t h = 0;
	if (m.n)
		qsort(m.at, m.n, sizeof(*m.at), by_value);
	for (size_t i = 0; i < m.n; i++) {
		bool string;
		h = mix(h, m.at[i]);
		if (list)
			printf("%" PRIu64 " %" PRIx64 "\n", m.at[i], address(t, m.at[i], &string));
	}
	if (!list)
		printf("%s %" PRIu64 " %zu %" PRIx64 "\n", forward ? "forward" : "backward",
		       instance, m.n, h);
	free(m.at);
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
	double start = now(), worst = 0;
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
	for (int i = 0; i < atoi(argv[2]); i++) {
		bool string = false;
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint64_t instance = (seed >> 20) % t->count;
		address(t, instance, &string);
		if (string)
			continue;
		print_slice(t, instance, false, false, &worst);
		print_slice(t, instance, true, false, &worst);
	}
	if (argc > 4)
		print_slice(t, strtoull(argv[4], NULL, 10), false, true, &worst);
	fprintf(stderr,
		"built in %.2f s, %.1f M instructions a second; slowest slice %.3f s; %.2f bytes "
		"an instruction\n",
		built, (double)t->count / built / 1e6, worst,
		4.0 * (double)(t->items.n + t->loads.n + t->many.n + t->sources.n) /
			(double)t->count);
	dep_build_free(build);
	value_run_free(run);
	value_replay_free(replay);
	return 0;
}
