// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_cost.c: how fast the encoders are, and how much memory they take, on the trace of a
 * recording that lies in memory as one string of symbols a thread, so that recovering it is not
 * measured along; and that trace as a raw file.
 *
 *   encode_cost DIR         a line for each encoder: name, symbols, seconds, bytes
 *   encode_cost DIR FILE    also writes the raw trace to FILE: for each call a byte, the address of
 *                           the called and of the calling place; for each return a byte and the
 *                           function's address (Reiss and Renieris count the first argument and the
 *                           value returned as well) */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "offline/base/vec.h"
#include "offline/encode/encode_dag.h"
#include "offline/encode/encode_fsa.h"
#include "offline/encode/encode_rle.h"
#include "offline/encode/encode_sequitur.h"

static void fail(const char *what)
{
	fprintf(stderr, "encode_cost: %s\n", what);
	exit(1);
}

static void must(int err)
{
	if (err)
		fail("out of memory, or an encoder failed");
}

/* All sequences, one after the other; each ends at ends[i]. */
static struct {
	VEC(uint32_t) symbols;
	VEC(uint32_t) ends;
} all;

static int keep_begin(void *ctx, const struct tree_place *place)
{
	(void)ctx, (void)place;
	return 0;
}

static int keep_open(void *ctx, const struct tree_call *call)
{
	(void)ctx;
	return VEC_PUSH(&all.symbols, call->symbol) ? 0 : -ENOMEM;
}

static int keep_close(void *ctx, const struct tree_return *ret)
{
	(void)ctx;
	return VEC_PUSH(&all.symbols, ret->token) ? 0 : -ENOMEM;
}

static int keep_end(void *ctx, enum tree_edge why)
{
	(void)ctx, (void)why;
	return VEC_PUSH(&all.ends, all.symbols.n) ? 0 : -ENOMEM;
}

static void write_raw(FILE *file, const struct pugmark_trace_event *e)
{
	bool leaves = e->kind == PUGMARK_TRACE_RET || e->kind == PUGMARK_TRACE_UNWIND;
	uint64_t callee = e->target ? e->target : (uint64_t)(uintptr_t)e->import;
	if (e->kind == PUGMARK_TRACE_GAP || e->kind >= PUGMARK_TRACE_BLOCK)
		return;
	fputc(e->kind, file);
	if (!leaves && fwrite(e->kind == PUGMARK_TRACE_ENTER ? &e->addr : &callee, 8, 1, file) != 1)
		fail("cannot write the raw trace");
	if (fwrite(&e->addr, 8, 1, file) != 1)
		fail("cannot write the raw trace");
}

static void read_trace(const char *dir, FILE *raw)
{
	static const struct tree_sink sink = {NULL,	  keep_begin, keep_open,
					      keep_close, keep_end,   NULL};
	struct pugmark_diag diag;
	struct pugmark_trace *trace;
	struct symbols *symbols;
	struct symbol_map *map;
	struct tree_walk *walk;
	uint32_t n;
	if (pugmark_trace_open(dir, &trace, &diag))
		fail(diag.text);
	must(symbols_new(&symbols) || symbol_map_new(trace, symbols, &map) ||
	     tree_walk_new(map, &sink, &walk));
	pugmark_recording_tasks(pugmark_trace_recording(trace), &n);
	for (uint32_t i = 0; i < n; i++) {
		struct pugmark_trace_iter *it;
		const struct pugmark_trace_event *e;
		const struct tree_place place = {.task = i, .thread = ""};
		must(pugmark_trace_iter_new(trace, i, &it) || tree_walk_begin(walk, &place));
		while (pugmark_trace_next(it, &e) == 1) {
			must(tree_walk_event(walk, e));
			if (raw)
				write_raw(raw, e);
		}
		must(tree_walk_end(walk));
		pugmark_trace_iter_free(it);
	}
	tree_walk_free(walk);
	symbol_map_free(map);
	symbols_free(symbols);
	pugmark_trace_free(trace);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void line(const char *name, uint64_t n, double start, size_t bytes)
{
	printf("%s %llu %.4f %zu\n", name, (unsigned long long)n, now() - start, bytes);
	fflush(stdout);
}

static void cost_dag(void)
{
	struct dag *dag;
	double start = now();
	uint32_t at = 0;
	must(dag_new(0, &dag));
	for (uint32_t i = 0; i < all.ends.n; i++) {
		must(dag_begin(dag));
		for (; at < all.ends.at[i]; at++) {
			uint32_t symbol = all.symbols.at[at];
			struct tree_time time = {at, at + 1};
			must(symbol_closes(symbol)
				     ? dag_close(dag, &(struct tree_return){.time = time,
									    .token = symbol})
				     : dag_open(dag, &(struct tree_call){.time = time,
									 .symbol = symbol}));
		}
		must(dag_end(dag));
	}
	line("dag", dag_calls(dag), start, dag_bytes(dag));
	dag_free(dag);
}

static int count_items(void *ctx, const uint32_t *symbols, size_t n, uint64_t count)
{
	(void)symbols, (void)count;
	*(uint64_t *)ctx += n;
	return 0;
}

static void cost_rle(bool balanced)
{
	static struct rle rle;
	uint64_t items = 0;
	double start = now();
	uint32_t at = 0;
	rle_init(&rle, 3, balanced, count_items, &items);
	for (uint32_t i = 0; i < all.ends.n; at = all.ends.at[i++])
		must(rle_put(&rle, all.symbols.at + at, all.ends.at[i] - at) || rle_finish(&rle));
	line(balanced ? "rle-balanced" : "rle", all.symbols.n, start, sizeof(rle));
}

static void cost_sequitur(void)
{
	struct sequitur *s;
	double start = now();
	uint32_t at = 0, sequence;
	must(sequitur_new(false, &s));
	for (uint32_t i = 0; i < all.ends.n; at = all.ends.at[i++])
		must(sequitur_begin(s, &sequence) ||
		     sequitur_put(s, sequence, all.symbols.at + at, all.ends.at[i] - at));
	line("sequitur", all.symbols.n, start, sequitur_bytes(s));
	sequitur_free(s);
}

static void cost_fsa(void)
{
	struct fsa_builder *b;
	struct fsa_cursor c;
	struct fsa *fsa;
	double start = now();
	uint32_t at = 0, automaton;
	must(fsa_builder_new(3, true, &b) || fsa_builder_add(b, &automaton));
	for (uint32_t i = 0; i < all.ends.n; i++) {
		fsa_begin(&c, automaton, 1);
		for (; at < all.ends.at[i]; at++)
			must(fsa_put(b, &c, all.symbols.at[at]));
		must(fsa_end(b, &c, true));
	}
	must(fsa_finish(b, automaton, FSA_MINIMAL, &fsa));
	line("fsa", all.symbols.n, start, fsa_builder_bytes(b));
	fsa_free(fsa);
	fsa_builder_free(b);
}

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 3)
		fail("usage: encode_cost DIR [FILE]");
	FILE *raw = argc == 3 ? fopen(argv[2], "w") : NULL;
	if (argc == 3 && !raw)
		fail("cannot open the file");
	read_trace(argv[1], raw);
	if (raw && fclose(raw))
		fail("cannot write the raw trace");
	cost_dag();
	cost_rle(false);
	cost_rle(true);
	cost_sequitur();
	cost_fsa();
	VEC_FREE(&all.symbols);
	VEC_FREE(&all.ends);
	return 0;
}
