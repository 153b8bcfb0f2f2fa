// SPDX-License-Identifier: LGPL-2.1-or-later
/* retaddr.c: functions that look at their own return address and at the stack, and go where these
 * say: by __builtin_return_address and backtrace(). A probe must show in neither. */
#include "case.h"

#include <execinfo.h>

static void *from[4];

FN void leaf(void)
{
	KEEP;
}
FN void yes(void)
{
	leaf();
	KEEP;
}
FN void no(void)
{
	KEEP;
}
FN void *caller(void)
{
	KEEP;
	return __builtin_return_address(0);
}
FN void compare(void *a, void *b)
{
	if (a == b)
		yes();
	else
		no();
	KEEP;
}
FN void note(int i)
{
	from[i] = caller();
	KEEP;
}
FN void same_place(void)
{
	for (int i = 0; i < 3; i++)
		note(i);
	compare(from[0], from[1]);
	compare(from[1], from[2]);
	KEEP;
}
FN void other_place(void)
{
	void *a = caller();
	leaf();
	void *b = caller();
	compare(a, b);
	KEEP;
}
FN int frames_to(int n)
{
	void *frames[32];
	int got = 0;
	if (n)
		got = frames_to(n - 1);
	else
		got = backtrace(frames, 32);
	KEEP;
	return got;
}
FN void traces(void)
{
	int few = frames_to(2), more = frames_to(7);
	if (more - few == 5)
		yes();
	else
		no();
	KEEP;
}

int main(void)
{
	same_place();
	other_place();
	traces();
	KEEP;
	return 0;
}
