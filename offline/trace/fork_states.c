// SPDX-License-Identifier: LGPL-2.1-or-later
/* fork_states.c: one slot a task, under a lock that is held for a moment only. */
#include "offline/trace/fork_states.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct slot {
	struct parser *state;
	bool parsed;
};

struct fork_states {
	const struct pugmark_recording *rec;
	const struct pugmark_recording_task *tasks;
	uint32_t n;
	struct slot *slots;
	pthread_mutex_t lock;
};

int fork_states_grow(struct fork_states *s)
{
	uint32_t n;
	s->tasks = pugmark_recording_tasks(s->rec, &n);
	struct slot *slots = realloc(s->slots, (n + 1ul) * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots + s->n, 0, (n + 1ul - s->n) * sizeof(*slots));
	s->slots = slots;
	s->n = n;
	return 0;
}

int fork_states_new(const struct pugmark_recording *rec, struct fork_states **out)
{
	struct fork_states *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->rec = rec;
	if (fork_states_grow(s)) {
		free(s);
		return -ENOMEM;
	}
	pthread_mutex_init(&s->lock, NULL);
	*out = s;
	return 0;
}

void fork_states_free(struct fork_states *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n; i++)
		parser_free(s->slots[i].state);
	free(s->slots);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int fork_states_keep(struct fork_states *s, uint32_t child, const struct parser *parser)
{
	uint32_t i = pugmark_recording_task_index(s->rec, child);
	struct parser *state;
	if (i == PUGMARK_NONE || fork_states_of(s, i))
		return 0;
	int err = parser_fork(parser, NULL, &state);
	if (err)
		return err;
	pthread_mutex_lock(&s->lock);
	if (!s->slots[i].state) {
		s->slots[i].state = state;
		state = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	parser_free(state);
	return 0;
}

const struct parser *fork_states_of(struct fork_states *s, uint32_t task)
{
	pthread_mutex_lock(&s->lock);
	const struct parser *state = s->slots[task].state;
	pthread_mutex_unlock(&s->lock);
	return state;
}

uint32_t fork_states_missing(struct fork_states *s, uint32_t task)
{
	const struct pugmark_recording_task *t = &s->tasks[task];
	uint32_t parent =
		t->parent ? pugmark_recording_task_index(s->rec, t->parent) : PUGMARK_NONE;
	/* Parents are older: a damaged recording must not make a circle of them. */
	if (parent == PUGMARK_NONE || t->parent >= t->number || s->tasks[parent].pid == t->pid ||
	    fork_states_of(s, task))
		return PUGMARK_NONE;
	pthread_mutex_lock(&s->lock);
	bool parsed = s->slots[parent].parsed;
	pthread_mutex_unlock(&s->lock);
	return parsed ? PUGMARK_NONE : parent;
}

void fork_states_parsed(struct fork_states *s, uint32_t task)
{
	pthread_mutex_lock(&s->lock);
	s->slots[task].parsed = true;
	pthread_mutex_unlock(&s->lock);
}
