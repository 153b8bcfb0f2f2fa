// SPDX-License-Identifier: LGPL-2.1-or-later
/* wet_speed.c: how fast the values of a WET file are walked, in processor time.
 *
 *   wet_speed FILE [MILLIONS]
 *
 * Prints lines "name number unit": all values one behind the other, each asked for as whoever shows
 * it asks, from the first on and from the last one back; of values that are stored, each stream on
 * its own. The first MILLIONS (200) of them, or all. Both ways must have met the same values. */
#include "offline/wet/file/file.h"
#include "offline/wet/recompute/block_paths.h"
#include "offline/wet/recompute/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What was met: the sum does not ask for the order. */
struct met {
	uint64_t n, sum;
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

/* --- executed again -------------------------------------------------------------------------- */

static void walk_block(const struct wet_file *f, struct wet_values *values,
		       const struct block_paths *paths, uint32_t block, bool back, struct met *met)
{
	for (uint64_t i = 0; i < paths->n; i++) {
		uint64_t path = back ? paths->n - 1 - i : i, v;
		uint32_t n = f->nodes[paths->nodes[path]].n_values;
		for (uint32_t k = 0; k < n; k++) {
			uint32_t value = back ? n - 1 - k : k;
			if (wet_values_at(values, f->again[block].paths + path + 1, value, &v))
				fail("a value cannot be executed again");
			met->sum += v;
		}
		met->n += n;
	}
}

/* The first @blocks of them. */
static struct met walk_executed(const struct wet_file *f, uint32_t blocks, bool back)
{
	struct block_paths paths = {0};
	struct wet_values *values;
	struct met met = {0};
	if (wet_values_open(f, &values) || block_paths_init(&paths, f))
		fail("it cannot be executed again");
	for (uint32_t i = 0; i < blocks; i++) {
		uint32_t block = back ? blocks - 1 - i : i;
		if (block_paths_read(&paths, block))
			fail("paths cannot be read");
		walk_block(f, values, &paths, block, back, &met);
	}
	block_paths_deinit(&paths);
	wet_values_free(values);
	return met;
}

static uint32_t blocks_of(const struct wet_file *f, uint64_t most)
{
	uint64_t n = 0;
	uint32_t i = 0;
	while (i < f->n_again && n < most)
		n += f->again[i++].n_results;
	return i;
}

/* --- stored ---------------------------------------------------------------------------------- */

struct cursors {
	struct wet_cursor **at;
	uint32_t n;
	uint64_t values;
};

static void open_stream(const struct wet_file *f, uint32_t stream, struct cursors *c)
{
	if (wet_file_stream(f, stream, &c->at[c->n]))
		fail("a stream cannot be read");
	c->values += wet_cursor_length(c->at[c->n++]);
}

static struct cursors open_stored(const struct wet_file *f, uint64_t most)
{
	struct cursors c = {calloc(f->n_streams + (size_t)1, sizeof(*c.at)), 0, 0};
	if (!c.at)
		fail("out of memory");
	for (uint32_t i = 0; i < f->n_groups && c.values < most; i++) {
		const struct wet_file_group *g = &f->groups[i];
		if (g->executed)
			continue;
		if (g->pattern != WET_NONE)
			open_stream(f, g->pattern, &c);
		for (uint32_t k = 0; k < g->width; k++)
			open_stream(f, g->uvals + k, &c);
	}
	return c;
}

static struct met walk_stored(const struct cursors *c, bool back)
{
	struct met met = {0};
	uint64_t v;
	for (uint32_t i = 0; i < c->n; i++)
		while (back ? wet_cursor_previous(c->at[i], &v) : wet_cursor_next(c->at[i], &v)) {
			met.sum += v;
			met.n++;
		}
	return met;
}

/* --------------------------------------------------------------------------------------------- */

static void say_rate(const char *name, const struct met *met, double seconds)
{
	printf("%s %.1f M/s\n", name, seconds > 0 ? (double)met->n / seconds / 1e6 : 0);
}

int main(int argc, char **argv)
{
	struct pugmark_diag diag;
	struct wet_file *f;
	if (argc < 2 || argc > 3)
		return 2;
	if (wet_file_open(argv[1], &f, &diag)) {
		fprintf(stderr, "%s: %s\n", diag.file, diag.text);
		return 1;
	}
	uint64_t most = 1000000ull * (argc > 2 ? strtoull(argv[2], NULL, 10) : 200);
	uint32_t blocks = blocks_of(f, most);
	struct cursors c = blocks ? (struct cursors){0} : open_stored(f, most);
	struct met met[2];
	for (int back = 0; back < 2; back++) {
		double start = now();
		met[back] = blocks ? walk_executed(f, blocks, back) : walk_stored(&c, back);
		say_rate(back ? "values_backward" : "values_forward", &met[back], now() - start);
	}
	for (uint32_t i = 0; i < c.n; i++)
		wet_cursor_free(c.at[i]);
	free(c.at);
	wet_file_close(f);
	if (met[0].n != met[1].n || met[0].sum != met[1].sum)
		fail("the two ways have met other values");
	return 0;
}
