// SPDX-License-Identifier: LGPL-2.1-or-later
/* sandbox_cost.c: what the sandbox adds to planning a binary: processor seconds of this process and
 * of its children, planned in a sandbox and without one in turns, nothing from the cache.
 *
 *   sandbox_cost ROUNDS BINARY
 *
 * Prints the medians, with and without, and by how much the one is more, in per cent. */
#include "user/plan/plan_entered.h"
#include "user/plan/planning.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int plans(const char *binary, const struct planning_options *options,
		  struct planning_result *out, struct pugmark_diag *diag);

/* In this process, with all that planning_make() does but the sandbox. */
static int make_here(const char *binary, const struct planning_options *options,
		     struct planning_result *out, struct pugmark_diag *diag)
{
	struct plan_modules modules;
	int err = plan_modules_list(binary, options, &modules, diag);
	return err ? err : planning_make_here(binary, options, &modules, out, diag);
}

static double used(void)
{
	double sum = 0;
	for (int who = RUSAGE_CHILDREN; who <= RUSAGE_SELF; who++) {
		struct rusage r;
		getrusage(who, &r);
		sum += (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
		       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
	}
	return sum;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	static plans *const ways[] = {planning_make, make_here};
	const struct planning_options options = {.mode = MODE_BEST, .fresh = true};
	int rounds = argc > 2 ? atoi(argv[1]) : 0;
	double *took[2];
	if (rounds < 1)
		return 2;
	for (int w = 0; w < 2; w++)
		took[w] = calloc((size_t)rounds, sizeof(double));
	for (int i = 0; i < rounds; i++)
		for (int k = 0; k < 2; k++) {
			int w = (i + k) % 2;
			struct planning_result result;
			struct pugmark_diag diag;
			double before = used();
			/* Both in a child that is new: what was freed before is not free. */
			pid_t pid = fork();
			if (!pid) {
				int err = ways[w](argv[2], &options, &result, &diag);
				if (err)
					fprintf(stderr, "%s: %s\n", diag.file, diag.text);
				_exit(err != 0);
			}
			int status;
			if (waitpid(pid, &status, 0) != pid || status)
				return 1;
			took[w][i] = used() - before;
		}
	for (int w = 0; w < 2; w++)
		qsort(took[w], (size_t)rounds, sizeof(double), by_value);
	double with = took[0][rounds / 2], without = took[1][rounds / 2];
	printf("%.3f %.3f %.2f\n", with, without, 100 * (with / without - 1));
	return 0;
}
