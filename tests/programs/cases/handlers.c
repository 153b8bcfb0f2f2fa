// SPDX-License-Identifier: LGPL-2.1-or-later
/* handlers.c: signals whose handlers are a library's (handlers.lib.c) and call the program back,
 * once, several times and as the last thing they do, on an alternate stack as well; out of a
 * callback of the same library; functions that call the library themselves while it handles a
 * signal; and handlers that call nothing. */
#include "case.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

void handle_by(int signal, void (*f)(int), int n, int flags);
void repeat(int n, void (*f)(int));

static char stack[64 << 10];
static sigjmp_buf out;

FN void leaf(void)
{
	KEEP;
}
FN void odd(int n)
{
	if (n % 2)
		leaf();
	KEEP;
}
FN void called_back(int signal)
{
	(void)signal;
	leaf();
	KEEP;
}
FN void calls_again(int signal)
{
	(void)signal;
	repeat(2, odd);
	leaf();
	KEEP;
}
FN void says_nothing(int signal)
{
	(void)signal;
	KEEP;
}
FN void jumps_out(int signal)
{
	(void)signal;
	leaf();
	siglongjmp(out, 1);
}
FN void raises(int n)
{
	leaf();
	if (n % 2)
		raise(SIGUSR1);
	odd(n);
	KEEP;
}
FN void handled(void (*f)(int), int n, int flags)
{
	handle_by(SIGUSR1, f, n, flags);
	for (int i = 0; i < 4; i++)
		raises(i);
	repeat(2, raises);
	leaf();
	KEEP;
}
FN void left(void)
{
	handle_by(SIGUSR1, jumps_out, 1, SA_NODEFER);
	for (volatile int i = 0; i < 3; i++)
		if (!sigsetjmp(out, 1))
			raises(1);
		else
			leaf();
	KEEP;
}

int main(void)
{
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	sigaltstack(&alternate, NULL);
	handled(called_back, 1, 0);
	handled(called_back, 3, 0);
	handled(called_back, 0, 0);
	handled(called_back, 2, SA_ONSTACK);
	handled(calls_again, 2, 0);
	handled(says_nothing, 2, 0);
	left();
	KEEP;
	return 0;
}
