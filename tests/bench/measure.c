// SPDX-License-Identifier: LGPL-2.1-or-later
/* measure.c: runs commands in turns and says what each of them cost.
 *
 *   measure ROUNDS COMMAND [ARGS] [--- COMMAND [ARGS]]...
 *
 * In each round every command runs once, stdout thrown away, so that what else the machine does
 * falls on all of them alike. Prints a line a command: the medians of wall and of processor seconds
 * (user and system, children included) over the rounds, and the peak resident memory in KB.
 * Exit status 1 if any of them fails, unless ANY_STATUS is set. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ROUNDS = 1000, MAX_COMMANDS = 64 };

struct command {
	char **argv;
	double wall[MAX_ROUNDS], cpu[MAX_ROUNDS];
	long peak_kb;
};

static struct command commands[MAX_COMMANDS];

static double seconds(struct timeval t)
{
	return t.tv_sec + t.tv_usec / 1e6;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int run(struct command *c, int round)
{
	double start = now();
	pid_t pid = fork();
	if (pid < 0) {
		perror("fork");
		return 1;
	}
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);
		if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
			_exit(126);
		execvp(c->argv[0], c->argv);
		fprintf(stderr, "%s: %s\n", c->argv[0], strerror(errno));
		_exit(127);
	}
	int status;
	struct rusage usage;
	while (wait4(pid, &status, 0, &usage) < 0)
		if (errno != EINTR) {
			perror("wait4");
			return 1;
		}
	c->wall[round] = now() - start;
	c->cpu[round] = seconds(usage.ru_utime) + seconds(usage.ru_stime);
	if (usage.ru_maxrss > c->peak_kb)
		c->peak_kb = usage.ru_maxrss;
	if (status && !getenv("ANY_STATUS")) {
		fprintf(stderr, "%s: wait status %#x\n", c->argv[0], (unsigned)status);
		return 1;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, int n)
{
	qsort(values, n, sizeof(*values), compare);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[1]) : 0, n = 0;
	if (rounds < 1 || rounds > MAX_ROUNDS) {
		fputs("usage: measure ROUNDS COMMAND [ARGS] [--- COMMAND [ARGS]]...\n", stderr);
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "---"))
			argv[i] = NULL;
		else if (i == 2 || !argv[i - 1]) {
			if (n == MAX_COMMANDS)
				return 2;
			commands[n++].argv = &argv[i];
		}
	}
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < n; i++)
			if (run(&commands[i], round))
				return 1;
	for (int i = 0; i < n; i++)
		printf("%.4f %.4f %ld\n", median(commands[i].wall, rounds),
		       median(commands[i].cpu, rounds), commands[i].peak_kb);
	return 0;
}
