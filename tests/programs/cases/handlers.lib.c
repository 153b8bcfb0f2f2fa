// SPDX-License-Identifier: LGPL-2.1-or-later
/* handlers.lib.c: a library that handles signals, and calls the program back from its handlers. */
#include <signal.h>
#include <stddef.h>

static void (*back)(int);
static volatile int times;

static void calls(int signal)
{
	for (int i = 0; i < times; i++)
		back(signal);
	__asm__ volatile("" ::: "memory");
}

static void jumps(int signal)
{
	back(signal);
	back(signal);
}

void handle_by(int signal, void (*f)(int), int n, int flags)
{
	struct sigaction action = {.sa_handler = n ? calls : jumps, .sa_flags = flags};
	back = f;
	times = n;
	sigaction(signal, &action, NULL);
}

void repeat(int n, void (*f)(int))
{
	while (n--)
		f(n);
	__asm__ volatile("" ::: "memory");
}
