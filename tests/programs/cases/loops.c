// SPDX-License-Identifier: LGPL-2.1-or-later
/* loops.c: what a library's main loop calls back (loops.lib.c): idle functions, timeouts, a dialog
 * that runs the loop again, and one that ends it; a function that takes the place of the library's
 * own; one that it finds by its name; and an IFUNC. */
#include "case.h"

#include "loops.h"

#include <stdlib.h>

struct work {
	int left, every, tick;
};

FN void leaf(void)
{
	KEEP;
}
FN void other(void)
{
	KEEP;
}
FN int ready(void *data)
{
	struct work *w = data;
	KEEP;
	return ++w->tick % w->every == 0;
}
FN int idle(void *data)
{
	struct work *w = data;
	leaf();
	KEEP;
	return --w->left;
}
FN int timeout(void *data)
{
	struct work *w = data;
	if (w->left % 2)
		leaf();
	else
		other();
	KEEP;
	return --w->left;
}
FN void destroy(void *data)
{
	other();
	free(data);
	KEEP;
}
FN struct work *work(int left, int every)
{
	struct work *w = malloc(sizeof(*w));
	if (!w)
		abort();
	*w = (struct work){.left = left, .every = every};
	KEEP;
	return w;
}
FN int answer(void *data)
{
	(void)data;
	leaf();
	loop_quit();
	KEEP;
	return 0;
}
FN int dialog(void *data)
{
	(void)data;
	other();
	loop_add(ready, answer, destroy, work(1, 3));
	loop_run();
	leaf();
	KEEP;
	return 0;
}
FN void runs(void)
{
	loop_add(NULL, idle, destroy, work(3, 1));
	loop_add(ready, timeout, destroy, work(4, 2));
	loop_run();
	KEEP;
}
FN void runs_dialog(void)
{
	loop_add(ready, timeout, destroy, work(2, 3));
	loop_add(NULL, dialog, NULL, NULL);
	loop_run();
	KEEP;
}

FN __attribute__((visibility("default"))) int interposed(int n)
{
	if (n % 2)
		leaf();
	KEEP;
	return 2 * n;
}
FN __attribute__((visibility("default"))) int by_name(int n)
{
	leaf();
	KEEP;
	return n;
}
FN void by_library(void)
{
	calls_interposed(1);
	calls_by_name("by_name", 1);
	calls_by_name("no_such_function", 1);
	KEEP;
}

FN int fast(int n)
{
	leaf();
	KEEP;
	return n;
}
FN int slow(int n)
{
	other();
	KEEP;
	return n;
}
/* Called before the program has been relocated: it must not call anything. Named as those that a
 * compiler's instrumentation does not see. */
static __attribute__((no_instrument_function)) int (*asm_resolve(void))(int)
{
	return sizeof(void *) == 8 ? fast : slow;
}
int chosen(int n) __attribute__((ifunc("asm_resolve")));
FN void by_ifunc(void)
{
	int (*volatile f)(int) = chosen;
	chosen(1);
	f(2);
	KEEP;
}

int main(void)
{
	runs();
	runs_dialog();
	by_library();
	by_ifunc();
	KEEP;
	return 0;
}
