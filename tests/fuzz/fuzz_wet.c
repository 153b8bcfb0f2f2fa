// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_wet.c: any bytes as a WET file, with a checksum that fits. It is refused, or each of its
 * streams that can be opened gives as many values as it says, and the same ones backward; and is
 * gone to wherever it says that it has values; so are the timestamps of nodes that blocks tell.
 * What it says is to be executed again is: that ends, and is the same in either direction; and
 * whose results were read is the same twice. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offline/base/checksum.h"
#include "offline/wet/recompute/depends.h"
#include "offline/wet/recompute/times.h"
#include "offline/wet/file/file_impl.h"
#include "offline/wet/recompute/values.h"
#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VALUES_MOST = 20000, STREAMS_MOST = 200, NODES_MOST = 50, AGAIN_MOST = 4 };

static void walk(struct wet_cursor *c)
{
	static uint64_t values[VALUES_MOST];
	uint64_t n = 0, v;
	while (n < VALUES_MOST && wet_cursor_next(c, &v))
		values[n++] = v;
	MUST(wet_cursor_position(c) == n);
	MUST(n <= wet_cursor_length(c));
	while (n && wet_cursor_previous(c, &v)) {
		n--;
		MUST(values[n] == v);
	}
	MUST(!n);
	uint64_t length = wet_cursor_length(c);
	for (uint64_t at = length; at; at /= 2)
		if (wet_cursor_seek(c, at) && wet_cursor_previous(c, &v))
			MUST(wet_cursor_position(c) == at - 1);
	MUST(length == UINT64_MAX || !wet_cursor_seek(c, length + 1));
}

/* Timestamps grow from 1 on, and are the same ones backward. */
static void walk_times(struct wet_times *t, uint64_t last)
{
	static uint64_t times[VALUES_MOST];
	uint64_t n = 0, v;
	while (n < VALUES_MOST && wet_times_next(t, &v)) {
		MUST(v > (n ? times[n - 1] : 0) && v <= last);
		times[n++] = v;
	}
	MUST(wet_times_position(t) == n && n <= wet_times_length(t));
	while (n && wet_times_previous(t, &v)) {
		n--;
		MUST(times[n] == v);
	}
	MUST(!n);
	MUST(!wet_times_seek(t, wet_times_length(t) + 1));
}

static void tell_times(const struct wet_file *f)
{
	struct block_paths paths;
	bool fine = f->n_again && !block_paths_init(&paths, f);
	for (uint32_t i = 0; fine && i < f->n_nodes && i < NODES_MOST; i++) {
		struct wet_times *t;
		if (wet_times_open(f, &paths, i, &t))
			continue;
		walk_times(t, f->totals.paths);
		wet_times_free(t);
	}
	if (f->n_again)
		block_paths_deinit(&paths);
}

/* The first value of some executions, from the first on and back. */
static void execute(const struct wet_file *f)
{
	struct wet_values *v;
	uint64_t first[AGAIN_MOST + 1], value;
	int errors[AGAIN_MOST + 1];
	if (wet_values_open(f, &v))
		return;
	for (uint64_t t = 1; t <= AGAIN_MOST; t++)
		errors[t] = wet_values_at(v, t * f->totals.paths / AGAIN_MOST, 0, &first[t]);
	for (uint64_t t = AGAIN_MOST; t; t--) {
		int err = wet_values_at(v, t * f->totals.paths / AGAIN_MOST, 0, &value);
		MUST(err == errors[t] && (err || value == first[t]));
	}
	wet_values_free(v);
}

/* A sum of dependences, each of which is of what there is. */
struct summed {
	const struct wet_file *f;
	uint64_t n, sum;
};

static bool sum(void *ctx, const struct wet_depend *d)
{
	struct summed *s = ctx;
	MUST(d->to < s->f->n_stmts && d->from < s->f->n_stmts);
	MUST(d->to_execution < s->f->nodes[s->f->stmts[d->to].node].executions);
	MUST(d->from_execution <= s->f->nodes[s->f->stmts[d->from].node].executions);
	s->sum = s->sum * 31 + d->to + d->from + d->to_execution + d->from_execution + d->operand;
	return ++s->n < VALUES_MOST;
}

/* All dependences twice, which are the same. */
static void depend(const struct wet_file *f)
{
	struct wet_depends *d;
	struct summed first = {.f = f}, second = {.f = f};
	if (wet_depends_open(f, &d))
		return;
	int err = wet_depends_run(d, 1, UINT64_MAX, NULL, sum, &first);
	MUST(wet_depends_run(d, 1, UINT64_MAX, NULL, sum, &second) == err);
	MUST(first.n == second.n && first.sum == second.sum);
	wet_depends_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wet_head head;
	struct wet_file *f;
	if (size < sizeof(head))
		return 0;
	uint8_t *bytes = malloc(size);
	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	memcpy(&head, bytes, sizeof(head));
	head.magic = WET_MAGIC;
	if (head.index >= sizeof(head) && head.index <= size) {
		head.index_len = size - head.index;
		head.checksum = checksum(bytes + sizeof(head), size - sizeof(head));
	}
	memcpy(bytes, &head, sizeof(head));
	if (!wet_file_read(bytes, size, &f)) {
		for (uint32_t i = 0; i < f->n_streams && i < STREAMS_MOST; i++) {
			struct wet_cursor *c;
			if (wet_file_stream(f, i, &c))
				continue;
			walk(c);
			wet_cursor_free(c);
		}
		/* A block of so many instructions is not what is looked for here. */
		bool small = true;
		for (uint32_t i = 0; i < f->n_again; i++)
			small &= f->again[i].n_insns <= 1 << 16 && f->again[i].n_turns <= 1 << 16;
		if (small && f->totals.paths <= 1 << 20) {
			tell_times(f);
			execute(f);
			depend(f);
		}
		wet_file_close(f);
	}
	free(bytes);
	return 0;
}
