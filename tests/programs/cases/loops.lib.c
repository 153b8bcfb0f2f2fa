// SPDX-License-Identifier: LGPL-2.1-or-later
/* loops.lib.c: a library with a main loop, as GTK's: sources that it asks whether they are ready,
 * calls back, and frees with a function of the program's; a function that the program puts another
 * in the place of; and one that calls whatever has a name. */
#include "loops.h"

#include <dlfcn.h>
#include <stdlib.h>

struct source {
	struct source *next;
	int (*ready)(void *data);
	int (*call)(void *data);
	void (*destroy)(void *data);
	void *data;
};

static struct source *sources;
static int level, quit;

void loop_add(int (*ready)(void *data), int (*call)(void *data), void (*destroy)(void *data),
	      void *data)
{
	struct source *s = malloc(sizeof(*s)), **at = &sources;
	if (!s)
		abort();
	*s = (struct source){NULL, ready, call, destroy, data};
	while (*at)
		at = &(*at)->next;
	*at = s;
}

static void dispatch(struct source **at)
{
	struct source *s = *at;
	if (s->ready && !s->ready(s->data))
		return;
	if (s->call(s->data))
		return;
	for (at = &sources; *at && *at != s;)
		at = &(*at)->next;
	if (*at)
		*at = s->next;
	if (s->destroy)
		s->destroy(s->data);
	free(s);
}

void loop_quit(void)
{
	quit = level;
}

void loop_run(void)
{
	level++;
	while (sources && quit < level)
		for (struct source **at = &sources; *at && quit < level;) {
			struct source *s = *at;
			dispatch(at);
			if (*at == s)
				at = &s->next;
		}
	level--;
	quit = 0;
}

/* The program has one of this name as well. */
__attribute__((noipa)) int interposed(int n)
{
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
