// SPDX-License-Identifier: LGPL-2.1-or-later
/* recorded.c: a recording of level values against the processor. The program that was recorded is
 * run again, stepped by ptrace, while the replay executes what was recorded; before each
 * instruction of traced code all that the replay calls exact is compared: general registers, flags,
 * vector registers, MXCSR and x87, what it will load, what the instruction before has stored and
 * where, and now and then all memory that may be written.
 *
 *   recorded [-n STEPS] [-i INPUT] [-o OUTPUT] DIR PROGRAM [ARG...]
 *
 * DIR is a recording of PROGRAM with these arguments, this input, output and environment, without
 * address space randomization. What chance decides is given to the second run as the first had it:
 * at the start all bytes that differ (the canary, the thread's number; START_MAX at most), results
 * of system calls of a list, of the kernel's clock, of rdtsc and its like. A system call that
 * differs otherwise ends the comparison.
 *
 * Prints one line; exit 1: a value was wrong, nothing was compared, or the process went another way
 * ("parted") before STEPS and before its end. */
#include "offline/replay/replay.h"
#include "tests/value/followed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Of all instructions up to here. */
static void print_shares(const struct followed *f)
{
	uint64_t assumed, unknown;
	value_machine_inexact(f->machine, &assumed, &unknown);
	assumed += value_run_supposed(f->run);
	uint64_t all = value_run_count(f->run);
	printf("%8.4f %% of %9lu exact, %.4f %% assumed, %.4f %% unknown",
	       share(all - assumed - unknown, all), all, share(assumed, all), share(unknown, all));
}

/* The replay goes on alone, so that the shares that are said last are those of the whole run. */
static void report(struct followed *f, const char *name)
{
	printf("%-14s %8lu compared, %lu wrong, ", name, f->compared, f->wrong);
	print_shares(f);
	printf("; %lu loads, %lu stores, %lu pages; %lu bytes of chance at the start, %lu later",
	       f->loads, f->stores, f->pages, f->start_bytes, f->chances);
	value_run_crossings(f->run, NULL, NULL);
	enum value_replay_stop stop = value_run_forward(f->run, UINT64_MAX, NULL);
	printf("; to the %s: ", stop == VALUE_REPLAY_END ? "end" : "gap");
	print_shares(f);
	if (*f->parted)
		printf("; parted: %s", f->parted);
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct pugmark_diag diag = {.text = ""};
	struct followed *f = calloc(1, sizeof(*f));
	struct value_replay *replay;
	const char *input = "/dev/null", *output = "/dev/null";
	uint64_t max = 1000000;
	uint32_t n;
	int option;
	while ((option = getopt(argc, argv, "+n:i:o:")) != -1) {
		if (option == 'n')
			max = strtoull(optarg, NULL, 0);
		else if (option == 'i')
			input = optarg;
		else if (option == 'o')
			output = optarg;
		else
			return 2;
	}
	if (!f || argc - optind < 2)
		return 2;
	if (value_replay_open(argv[optind], &replay, &diag)) {
		fprintf(stderr, "%s: %s\n", argv[optind], diag.text);
		return 2;
	}
	const uint32_t *tasks = captures_tasks(value_replay_captures(replay), &n);
	if (!n || value_run_new(replay, tasks[0], &f->run, &diag)) {
		fprintf(stderr, "%s: %s\n", argv[optind], diag.text);
		return 2;
	}
	const char *name = strrchr(argv[optind + 1], '/');
	stepped_start(&f->p, argv + optind + 1, input, output);
	followed_begin(f, value_replay_captures(replay), tasks[0]);
	followed_go(f, max);
	report(f, name ? name + 1 : argv[optind + 1]);
	bool fine = !f->wrong && f->compared && !*f->parted;
	stepped_end(&f->p);
	followed_end(f);
	value_replay_free(replay);
	free(f);
	return !fine;
}
