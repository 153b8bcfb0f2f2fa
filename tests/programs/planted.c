// SPDX-License-Identifier: LGPL-2.1-or-later
/* planted.c: `planted [PLACE]`: sixty calls of eight functions, always the same ones, but that call
 * number PLACE (from 0) is of another function. It prints which it called. */
#include <stdio.h>
#include <stdlib.h>
#define FN __attribute__((noipa))
static volatile int grid[2][2][2][2][2][2][2], size = 2;
#define EACH(i) for (int i = 0; i < size; i++)
#define WORK(name, test, step)                                                                     \
	FN static void name(int seed)                                                              \
	{                                                                                          \
		int sum = seed;                                                                    \
		EACH(i) EACH(j) EACH(k) EACH(l) EACH(m) EACH(n) EACH(o)                            \
		{                                                                                  \
			if (grid[i][j][k][l][m][n][o] test)                                        \
				grid[i][j][k][l][m][n][o] = sum step k;                            \
			else                                                                       \
				sum += j;                                                          \
		}                                                                                  \
		grid[0][0][0][0][0][0][0] = sum;                                                   \
	}
WORK(one, < 3, +)
WORK(two, > 3, ^)
WORK(three, != 5, -)
WORK(four, == 7, +)
WORK(five, < 9, ^)
WORK(six, > 1, -)
WORK(seven, != 2, ^)
WORK(eight, == 4, +)

FN static void play(int which, int round)
{
	switch (which) {
	case 0:
		return one(round);
	case 1:
		return two(round);
	case 2:
		return three(round);
	case 3:
		return four(round);
	case 4:
		return five(round);
	case 5:
		return six(round);
	case 6:
		return seven(round);
	default:
		return eight(round);
	}
}

int main(void)
{
	static const char *const names[] = {"one",  "two", "three", "four",
					    "five", "six", "seven", "eight"};
	int place = getenv("PLACE") ? atoi(getenv("PLACE")) : -1, called[60];
	for (int i = 0; i < 60; i++) {
		called[i] = (i * i / 3 + i) % 8;
		if (i == place)
			called[i] = (called[i] + 3) % 8;
		play(called[i], i);
	}
	for (int i = 0; i < 60; i++)
		puts(names[called[i]]);
	return 0;
}
