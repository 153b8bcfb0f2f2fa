// SPDX-License-Identifier: LGPL-2.1-or-later
/* Becomes another program, which is the same one, twice. */
#include "note.h"
#include <stdlib.h>
#include <string.h>
static long table[100];
int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0, s = 0;
	char next[9];
	for (int i = 0; i < 100; i++)
		table[i] = i * (n + 1);
	do {
		for (int i = 0; i < 9000; i++)
			s += table[i % 100] + strlen(argv[0]);
	} while (!n && goes_on());
	note(1 + n, s);
	note(11 + n, table[99]);
	if (n == 2)
		return 0;
	snprintf(next, sizeof(next), "%ld", n + 1);
	execl(argv[0], argv[0], next, NULL);
	return 1;
}
