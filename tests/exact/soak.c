// SPDX-License-Identifier: LGPL-2.1-or-later
/* soak.c: `soak SECONDS`: makes the same sixteen calls over and over, none of which decides
 * anything, so that one witness tells all of them; rests now and then, once for longer than 2^32
 * ns. Prints how many rounds it made. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FN __attribute__((noipa)) static

static volatile sig_atomic_t over;

static void end(int signal)
{
	(void)signal;
	over = 1;
}

FN void a(void)
{
	__asm__ volatile("");
}
FN void b(void)
{
	a();
	a();
	a();
	__asm__ volatile("");
}
FN void c(void)
{
	b();
	b();
	b();
	b();
	__asm__ volatile("");
}
FN void rest(unsigned long round)
{
	usleep(round ? 1000 : 5000000);
}

int main(int argc, char **argv)
{
	unsigned long rounds = 0;

	signal(SIGALRM, end);
	alarm(argc > 1 ? atoi(argv[1]) : 1);
	while (!over) {
		if (!(rounds & 0xfffff))
			rest(rounds);
		c();
		rounds++;
	}
	printf("%lu\n", rounds);
	return 0;
}
