// SPDX-License-Identifier: LGPL-2.1-or-later
/* values_speed.c: how fast a recording of level values is executed again, in processor time.
 *
 *   values_speed DIR [MILLIONS]
 *
 * Prints lines "name number unit": instructions of the first task, and of libraries, which are
 * executed as well and in no other number here; millions of instructions a
 * second without a trace, and with all dependences (of the first MILLIONS, 100, as they are kept in
 * memory); ms from a snapshot to a point a hundred million instructions behind it; and ms of a step
 * back, as gdb asks for it, at fifty places over the whole and at five steps in a row at each: the
 * median and the longest. */
#include "offline/dep/dep.h"
#include "offline/replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PLACES = 50, STEPS = 5, DISTANCE = 100000000 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct value_run *new_run(struct value_replay *replay)
{
	struct pugmark_diag diag;
	struct value_run *run;
	uint32_t n;
	const uint32_t *tasks = captures_tasks(value_replay_captures(replay), &n);
	if (!n || value_run_new(replay, tasks[0], &run, &diag)) {
		fprintf(stderr, "no task has values\n");
		exit(1);
	}
	return run;
}

static void say_rate(const char *name, uint64_t count, double seconds)
{
	printf("%s %.1f M/s\n", name, seconds > 0 ? (double)count / seconds / 1e6 : 0);
}

/* As it is without snapshots, which are measured apart. */
static uint64_t plain(struct value_replay *replay)
{
	struct value_run *run = new_run(replay);
	value_run_snapshot_every(run, UINT64_MAX / 2);
	double start = now();
	value_run_forward(run, UINT64_MAX / 4, NULL);
	uint64_t count = value_run_count(run);
	double took = now() - start;
	printf("instructions %lu count\n", (unsigned long)count);
	printf("libraries %lu count\n", (unsigned long)value_run_library_count(run));
	say_rate("plain", count, took);
	value_run_free(run);
	return count;
}

static void dependences(struct value_replay *replay, uint64_t until)
{
	struct value_run *run = new_run(replay);
	struct dep_build *build;
	value_run_snapshot_every(run, UINT64_MAX / 2);
	if (dep_build_new(run, &build))
		exit(1);
	double start = now();
	dep_build_forward(build, until);
	say_rate("dependences", value_run_count(run), now() - start);
	dep_build_free(build);
	value_run_free(run);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double seek_ms(struct value_run *run, uint64_t count)
{
	double start = now();
	if (value_run_seek(run, count) != VALUE_REPLAY_LIMIT || value_run_count(run) != count) {
		fprintf(stderr, "instruction %lu was not reached\n", (unsigned long)count);
		exit(1);
	}
	return 1e3 * (now() - start);
}

static void distance(struct value_replay *replay, uint64_t count)
{
	struct value_run *run = new_run(replay);
	value_run_snapshot_every(run, DISTANCE);
	value_run_forward(run, count / DISTANCE * DISTANCE - 1, NULL);
	uint64_t last = count > 2 * DISTANCE ? count / DISTANCE * DISTANCE - 1 : count - 1;
	printf("distance %.1f ms\n", seek_ms(run, last - 1));
	value_run_free(run);
}

static void steps(struct value_replay *replay, uint64_t count)
{
	struct value_run *run = new_run(replay);
	double ms[PLACES * STEPS];
	value_run_forward(run, count - 1, NULL);
	for (unsigned i = 0; i < PLACES; i++) {
		/* As after a breakpoint there, which was reached going back. */
		uint64_t at =
			count / 4 + (uint64_t)(i * 2654435761u) % (count * 3 / 4 - STEPS) + STEPS;
		seek_ms(run, at);
		for (unsigned k = 0; k < STEPS; k++)
			ms[i * STEPS + k] = seek_ms(run, at - 1 - k);
	}
	qsort(ms, PLACES * STEPS, sizeof(*ms), by_value);
	printf("back_median %.3f ms\nback_longest %.3f ms\n", ms[PLACES * STEPS / 2],
	       ms[PLACES * STEPS - 1]);
	value_run_free(run);
}

int main(int argc, char **argv)
{
	struct pugmark_diag diag;
	struct value_replay *replay;
	if (argc < 2 || argc > 3)
		return 2;
	if (value_replay_open(argv[1], &replay, &diag)) {
		fprintf(stderr, "%s: %s\n", diag.file, diag.text);
		return 1;
	}
	uint64_t most = 1000000ull * (argc > 2 ? strtoull(argv[2], NULL, 10) : 100);
	uint64_t count = plain(replay);
	dependences(replay, most < count ? most : count);
	distance(replay, count);
	steps(replay, count);
	value_replay_free(replay);
	return 0;
}
