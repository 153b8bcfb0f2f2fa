/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* differs.c: `differs WAY`: twelve rounds, each of which runs one of three functions: by the clock,
 * by chance, or by how addresses sort. It prints which. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#define FN __attribute__((noipa))
static volatile int grid[6][6][6][6][6], size = 2;
#define EACH(i) for (int i = 0; i < size; i++)
#define WORK(name, test, step)                                                                     \
	FN static void name(int seed)                                                              \
	{                                                                                          \
		int sum = seed;                                                                    \
		EACH(i) EACH(j) EACH(k) EACH(l) EACH(m)                                            \
		{                                                                                  \
			if (grid[i][j][k][l][m] test)                                              \
				grid[i][j][k][l][m] = sum step k;                                  \
			else                                                                       \
				sum += j;                                                          \
		}                                                                                  \
		grid[0][0][0][0][0] = sum;                                                         \
	}
WORK(one, < 3, +)
WORK(two, > 3, ^)
WORK(three, != 5, -)
static volatile int rounds;
FN static void mark(int round)
{
	rounds = round;
}
/* Which function each round runs: by the clock, by chance, or by how addresses sort. */
static void choose(const char *by, unsigned char *which)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	unsigned seed = now.tv_nsec >> 6;
	if (!strcmp(by, "chance"))
		getrandom(&seed, sizeof(seed), 0);
	uintptr_t places[] = {(uintptr_t)&now >> 12, (uintptr_t)grid >> 12,
			      (uintptr_t)stdout >> 12};
	for (int i = 0; i < 12; i++) {
		uintptr_t a = places[0] * (2 * i + 3) % 8191, b = places[1] * (2 * i + 5) % 8191,
			  c = places[2] * (2 * i + 7) % 8191;
		which[i] = !strcmp(by, "addresses") ? (a < b && a < c ? 0
						       : b < c	      ? 1
								      : 2)
						    : rand_r(&seed) >> 8 & 3;
	}
}
/* Nothing comes after its work: what all runs see of a round comes before that. */
FN static void play(int round, int which)
{
	mark(round);
	if (which == 0)
		one(round);
	else if (which == 1)
		two(round);
	else
		three(round);
}
int main(int argc, char **argv)
{
	unsigned char which[12];
	if (argc < 2)
		return 1;
	choose(argv[1], which);
	play(0, which[0]);
	play(1, which[1]);
	play(2, which[2]);
	play(3, which[3]);
	play(4, which[4]);
	play(5, which[5]);
	play(6, which[6]);
	play(7, which[7]);
	play(8, which[8]);
	play(9, which[9]);
	play(10, which[10]);
	play(11, which[11]);
	for (int i = 0; i < 12; i++)
		printf("%d ", which[i] < 2 ? which[i] : 2);
	return 0;
}
