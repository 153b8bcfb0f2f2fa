// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode.c: the call trees of Reiss and Renieris, section 3.1, and sequences whose automata can be
 * told beforehand: A, B and C call each other in three ways, `use` opens, reads and closes. With
 * SWAPPED two calls in `a_both` are exchanged. */
#include <stdio.h>

#define NOINLINE __attribute__((noipa))

static volatile int sink;

NOINLINE static void c(void)
{
	sink++;
}
NOINLINE static void b(void)
{
	sink++;
}
NOINLINE static void b_calls_c(void)
{
	c();
	sink++;
}
NOINLINE static void a_both(void)
{
#ifdef SWAPPED
	c();
	b();
#else
	b();
	c();
#endif
	sink++;
}
NOINLINE static void a_nested(void)
{
	b_calls_c();
	sink++;
}
NOINLINE static void a_alone(void)
{
	sink++;
}

NOINLINE static void file_open(void)
{
	sink++;
}
NOINLINE static void file_read(void)
{
	sink++;
}
NOINLINE static void file_close(void)
{
	sink++;
}
NOINLINE static void use(int reads)
{
	file_open();
	for (int i = 0; i < reads; i++)
		file_read();
	file_close();
	sink++;
}

NOINLINE static void work(void)
{
	a_both();
	a_nested();
	a_alone();
	b();
	c();
	for (int i = 0; i < 5; i++)
		use(3);
	use(0);
	use(7);
	sink++;
}

int main(void)
{
	work();
	return 0;
}
