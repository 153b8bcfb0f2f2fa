// SPDX-License-Identifier: LGPL-2.1-or-later
/* loops.lib.c: a library with a main loop, as GTK's: sources that it asks whether they are ready,
 * calls back, and frees with a function of the program's; a function that the program puts another
 * in the place of; and one that calls whatever has a name. */
#include "case.h"
#include "loops.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { MAX = 8 };

static struct source {
	int (*ready)(void *data);
	int (*call)(void *data); /* NULL: the slot is free */
	void (*destroy)(void *data);
	void *data;
	int running;
} sources[MAX];
static int level, left, quit;

void loop_add(int (*ready)(void *data), int (*call)(void *data), void (*destroy)(void *data),
	      void *data)
{
	struct source *s = sources;
	while (s->call)
		if (++s == sources + MAX)
			abort();
	*s = (struct source){ready, call, destroy, data, 0};
	left++;
}

static void dispatch(struct source *s)
{
	if (!s->call || s->running || (s->ready && !s->ready(s->data)))
		return;
	s->running = 1;
	int more = s->call(s->data);
	s->running = 0;
	if (more)
		return;
	s->call = NULL;
	left--;
	if (s->destroy)
		s->destroy(s->data);
}

void loop_quit(void)
{
	quit = level;
}

void loop_run(void)
{
	level++;
	while (left && quit < level)
		for (int i = 0; i < MAX && quit < level; i++)
			dispatch(&sources[i]);
	level--;
	quit = 0;
}

/* The program has one of this name as well. */
FN int interposed(int n)
{
	KEEP;
	return n;
}
int calls_interposed(int n)
{
	return interposed(n) + interposed(n + 1);
}

int calls_by_name(const char *name, int n)
{
	int (*f)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, name);
	return f ? f(n) : -1;
}
