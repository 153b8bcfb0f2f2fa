// SPDX-License-Identifier: LGPL-2.1-or-later
/* sandbox_cost.c: what the sandbox adds to planning a binary: processor seconds of this process and
 * of its children, planned in a sandbox and without one in turns, nothing from the cache.
 *
 *   sandbox_cost ROUNDS BINARY
 *
 * Prints the medians, with and without; and of the rounds' differences, in per cent of what it
 * takes without, the median and bounds of it at 95 % confidence. The bounds are two of the
 * differences in their order: how many lie below a median is a coin's tosses, whatever they are
 * distributed like. So at least six rounds are needed. */
#include "user/plan/plan_entered.h"
#include "user/plan/planning.h"

#include <math.h>
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
	int err = plan_modules_list(options, &modules, diag);
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

/* The largest k, from 0, with which fewer than k of @n tosses show heads in at most 2.5 %. */
static int bound_at(int n)
{
	double p = pow(0.5, n), below = 0;
	int k = 0;
	for (; below + p <= 0.025; k++) {
		below += p;
		p = p * (n - k) / (k + 1);
	}
	return k;
}

/* One planning, in a child that is new: what was freed before is not free. Negative: it failed. */
static double take(plans *plan, const char *binary)
{
	const struct planning_options options = {.mode = MODE_BEST, .fresh = true};
	struct planning_result result;
	struct pugmark_diag diag;
	double before = used();
	pid_t pid = fork();
	if (!pid) {
		int err = plan(binary, &options, &result, &diag);
		if (err)
			fprintf(stderr, "%s: %s\n", diag.file, diag.text);
		_exit(err != 0);
	}
	int status;
	return waitpid(pid, &status, 0) != pid || status ? -1 : used() - before;
}

int main(int argc, char **argv)
{
	static plans *const ways[] = {planning_make, make_here};
	int rounds = argc > 2 ? atoi(argv[1]) : 0, k = bound_at(rounds);
	double *took[2], *more = calloc((size_t)rounds + 1, sizeof(double));
	if (rounds < 1 || !k)
		return 2;
	for (int w = 0; w < 2; w++)
		took[w] = calloc((size_t)rounds, sizeof(double));
	for (int i = 0; i < rounds; i++) {
		for (int turn = 0; turn < 2; turn++) {
			int w = (i + turn) % 2;
			took[w][i] = take(ways[w], argv[2]);
			if (took[w][i] < 0)
				return 1;
		}
		more[i] = 100 * (took[0][i] / took[1][i] - 1);
	}
	for (int w = 0; w < 2; w++)
		qsort(took[w], (size_t)rounds, sizeof(double), by_value);
	qsort(more, (size_t)rounds, sizeof(double), by_value);
	printf("%.3f %.3f %.2f %.2f %.2f\n", took[0][rounds / 2], took[1][rounds / 2],
	       more[rounds / 2], more[k - 1], more[rounds - k]);
	return 0;
}
