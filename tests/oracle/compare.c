// SPDX-License-Identifier: LGPL-2.1-or-later
/* compare.c: compares two event streams in the format of `pugmark dump --format text`:
 *
 *   compare EXPECTED ACTUAL          (a file each, or - for standard input)
 *
 * Threads are paired in the order in which they first appear and each pair's events must be the
 * same, one by one; how threads interleave does not matter, nor what their ids are. `enter`,
 * `unwind` and `switch` lines are not compared: a block trace does not have them. A `gap` is a
 * difference.
 *
 * A call that EXPECTED tells as `- handed TARGET` may be told as `-` or as TARGET (calls.c); and
 * one of `-`, as its instruction does not name what it calls, may be told as `- SYMBOL`.
 *
 * Exit status: 0 identical, 1 different (the first difference is shown with the events around it),
 * 2 for an error. Memory grows only with how far apart the two files put a thread's events. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT 6

struct queue { /* lines of one thread that were read before they were wanted */
	char **lines;
	size_t head, n, room;
};

struct source {
	const char *name;
	FILE *file;
	char *line;
	size_t room;
	char **tids; /* by thread number */
	struct queue *queues;
	size_t n_tids, last;
};

static char recent[CONTEXT][256]; /* the last events that were equal */
static size_t n_equal;

static void source_open(struct source *s, const char *name)
{
	memset(s, 0, sizeof(*s));
	s->name = name;
	s->file = strcmp(name, "-") ? fopen(name, "re") : stdin;
	if (!s->file) {
		perror(name);
		exit(2);
	}
	setvbuf(s->file, NULL, _IOFBF, 1 << 18);
}

static void source_close(struct source *s)
{
	for (size_t i = 0; i < s->n_tids; i++) {
		free(s->tids[i]);
		free(s->queues[i].lines);
	}
	free(s->tids);
	free(s->queues);
	free(s->line);
	fclose(s->file);
}

static size_t thread_number(struct source *s, const char *tid)
{
	if (s->last < s->n_tids && !strcmp(s->tids[s->last], tid))
		return s->last;
	for (s->last = 0; s->last < s->n_tids; s->last++)
		if (!strcmp(s->tids[s->last], tid))
			return s->last;
	s->tids = realloc(s->tids, (s->n_tids + 1) * sizeof(*s->tids));
	s->queues = realloc(s->queues, (s->n_tids + 1) * sizeof(*s->queues));
	s->queues[s->n_tids] = (struct queue){0};
	s->tids[s->n_tids] = strdup(tid);
	return s->n_tids++;
}

/* The next event in the file, without its TID, or NULL; borrowed until the next call. */
static char *next_any(struct source *s, size_t *thread)
{
	ssize_t len;

	while ((len = getline(&s->line, &s->room, s->file)) > 0) {
		char *event = strchr(s->line, ' ');

		if (s->line[len - 1] == '\n')
			s->line[len - 1] = 0;
		if (!event) {
			fprintf(stderr, "compare: %s: not an event: %s\n", s->name, s->line);
			exit(2);
		}
		*event++ = 0;
		if (!strncmp(event, "enter ", 6) || !strncmp(event, "unwind ", 7) ||
		    !strncmp(event, "switch ", 7))
			continue;
		*thread = thread_number(s, s->line);
		return event;
	}
	return NULL;
}

/* The next event of @thread, or NULL; freed by the caller where @owned says so. */
static char *next_of(struct source *s, size_t thread, bool *owned)
{
	size_t found;
	char *event;

	*owned = false;
	if (thread < s->n_tids && s->queues[thread].head < s->queues[thread].n) {
		*owned = true;
		return s->queues[thread].lines[s->queues[thread].head++];
	}
	while ((event = next_any(s, &found))) {
		struct queue *q = &s->queues[found];

		if (found == thread)
			return event;
		if (q->head == q->n)
			q->head = q->n = 0;
		if (q->n == q->room) {
			q->room = q->room ? q->room * 2 : 64;
			q->lines = realloc(q->lines, q->room * sizeof(*q->lines));
		}
		q->lines[q->n++] = strdup(event);
	}
	return NULL;
}

/* Whether @actual tells the event @expected. */
static bool same(const char *expected, const char *actual)
{
	static const char handed[] = "- handed ";
	const char *at = strstr(expected, handed);
	size_t len;

	if (!strcmp(expected, actual))
		return true;
	len = strlen(expected);
	if (len > 2 && !strcmp(expected + len - 2, " -") && !strncmp(expected, actual, len) &&
	    actual[len] == ' ')
		return true;
	if (!at)
		return false;
	len = at - expected;
	return !strncmp(expected, actual, len) &&
	       (!strcmp(actual + len, "-") || !strcmp(actual + len, at + strlen(handed)));
}

static void show_rest(struct source *s, size_t thread, const char *first, char mark)
{
	printf("%c %s\n", mark, first ? first : "(no more events)");
	for (int i = 1; first && i < CONTEXT; i++) {
		bool owned;
		char *event = next_of(s, thread, &owned);

		if (!event)
			break;
		printf("%c %s\n", mark, event);
		if (owned)
			free(event);
	}
}

static void show_difference(struct source *a, struct source *b, size_t thread, const char *x,
			    const char *y)
{
	printf("different after %zu equal events, in thread %zu (%s in %s)\n", n_equal, thread,
	       thread < a->n_tids ? a->tids[thread] : "missing", a->name);
	for (size_t i = n_equal < CONTEXT ? 0 : n_equal - CONTEXT; i < n_equal; i++)
		printf("  %s\n", recent[i % CONTEXT]);
	show_rest(a, thread, x, '-');
	show_rest(b, thread, y, '+');
}

int main(int argc, char **argv)
{
	struct source a, b;
	size_t thread;
	char *x, *y;
	bool owned;
	int status = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: compare EXPECTED ACTUAL\n");
		return 2;
	}
	source_open(&a, argv[1]);
	source_open(&b, argv[2]);
	while (!status && (x = next_any(&a, &thread))) {
		y = next_of(&b, thread, &owned);
		if (y && same(x, y)) {
			size_t len = strlen(x);

			len = len < sizeof(recent[0]) ? len : sizeof(recent[0]) - 1;
			memcpy(recent[n_equal % CONTEXT], x, len);
			recent[n_equal++ % CONTEXT][len] = 0;
		} else {
			show_difference(&a, &b, thread, x, y);
			status = 1;
		}
		if (owned)
			free(y);
	}
	for (size_t i = 0; !status && i < b.n_tids; i++) {
		if (b.queues[i].head == b.queues[i].n)
			continue;
		show_difference(&a, &b, i, NULL, b.queues[i].lines[b.queues[i].head]);
		status = 1;
	}
	if (!status && (y = next_any(&b, &thread))) {
		show_difference(&a, &b, thread, NULL, y);
		status = 1;
	}
	if (!status)
		printf("identical: %zu events, %zu threads\n", n_equal, a.n_tids);
	source_close(&a);
	source_close(&b);
	return status;
}
