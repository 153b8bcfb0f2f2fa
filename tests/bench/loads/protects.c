// SPDX-License-Identifier: LGPL-2.1-or-later
/* protects.c: a library as of a runtime with exceptions of its own: what it calls may leave it by
 * longjmp(), and then something else is called in its place, twice. */
#include <setjmp.h>
static jmp_buf *innermost;
int protect(int (*f)(int), int (*after)(int), int i)
{
	jmp_buf here, *outer = innermost;
	innermost = &here;
	int n = setjmp(here) ? -1 : f(i);
	innermost = outer;
	return n < 0 ? after(i) + after(i + 1) : n;
}
int run(int (*f)(int), int i)
{
	return f(i) + 1;
}
void raise_it(void)
{
	longjmp(*innermost, 1);
}
