// SPDX-License-Identifier: LGPL-2.1-or-later
/* handlers.c: what runs a server: a loop that calls whatever function an event has for now; and
 * such a function may make another one the handler and go on in that by a jump. */
#include <stdio.h>

#define NOINLINE __attribute__((noipa))

struct event {
	void (*handler)(struct event *);
	int n, sum;
};

NOINLINE int step(struct event *e)
{
	return e->sum += e->n;
}

NOINLINE int again(struct event *e)
{
	return e->sum ^= 5;
}

NOINLINE void reads(struct event *e)
{
	step(e);
	if (e->n & 1)
		again(e);
	e->n--;
}

NOINLINE void begins(struct event *e)
{
	e->sum = again(e);
	e->handler = reads;
	reads(e);
}

NOINLINE void runs(struct event *e)
{
	for (int i = 0; i < 4; i++)
		e->handler(e);
}

int main(void)
{
	struct event e = {begins, 6, 0};
	for (int i = 0; i < 10; i++) {
		e.handler = begins;
		runs(&e);
	}
	printf("%d\n", e.sum);
	return 0;
}
