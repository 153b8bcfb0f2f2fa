// SPDX-License-Identifier: LGPL-2.1-or-later
/* context.c: the stacks that a thread has left, each with its frames, as they were then. Which one
 * it goes on on is for others to say. */
#include "offline/recover/state/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXTS_MAX 65536 /* that are kept */
#define FIRST_FRAMES 8	   /* there may be many contexts */

struct context context_current(const struct parser *p)
{
	return (struct context){
		.stack = p->stack,
		.interruptions = p->interruptions,
		.n = p->n,
		.cap = p->cap,
		.gone = p->gone,
		.n_interruptions = p->n_interruptions,
		.cap_interruptions = p->cap_interruptions,
		.n_handlers = p->n_handlers,
		.id = p->context,
		.position = p->position,
		.gap_cause = p->gap_cause,
		.bottom = p->bottom,
		.goroutine = p->goroutine,
	};
}

void context_make_current(struct parser *p, const struct context *c)
{
	p->stack = c->stack;
	p->interruptions = c->interruptions;
	p->n = c->n;
	p->cap = c->cap;
	p->gone = c->gone;
	p->n_interruptions = c->n_interruptions;
	p->cap_interruptions = c->cap_interruptions;
	p->n_handlers = c->n_handlers;
	p->context = c->id;
	p->position = c->position;
	p->gap_cause = c->gap_cause;
	p->bottom = c->bottom;
	p->goroutine = c->goroutine;
	p->ended.ret = 0;
}

struct parser context_view(const struct parser *p, const struct context *c)
{
	struct parser view = *p;
	context_make_current(&view, c);
	return view;
}

void context_free(struct context *c)
{
	free(c->stack);
	free(c->interruptions);
	free(c->held);
}

void parser_forget_contexts(struct parser *p)
{
	while (p->n_contexts)
		context_free(&p->contexts[--p->n_contexts]);
	p->n_aside = 0;
}

struct held_words *held_words_copy(const struct held_words *from)
{
	size_t bytes = sizeof(*from) + from->n * sizeof(*from->at);
	struct held_words *to = malloc(bytes);
	if (to)
		memcpy(to, from, bytes);
	return to;
}

static bool copy_context(struct context *to, const struct context *from)
{
	*to = *from;
	to->cap = from->n + 1;
	to->cap_interruptions = from->n_interruptions + 1;
	to->stack = malloc(to->cap * sizeof(*to->stack));
	to->interruptions = malloc(to->cap_interruptions * sizeof(*to->interruptions));
	to->held = from->held ? held_words_copy(from->held) : NULL;
	if (to->stack && from->n)
		memcpy(to->stack, from->stack, from->n * sizeof(*to->stack));
	if (to->interruptions && from->n_interruptions)
		memcpy(to->interruptions, from->interruptions,
		       from->n_interruptions * sizeof(*to->interruptions));
	return to->stack && to->interruptions && (to->held || !from->held);
}

int parser_copy_contexts(struct parser *p, const struct parser *from)
{
	struct context own, now = context_current(from);
	p->contexts = NULL;
	p->n_contexts = p->cap_contexts = 0;
	bool copied = copy_context(&own, &now);
	context_make_current(p, &own);
	if (from->n_contexts)
		p->contexts = calloc(from->n_contexts, sizeof(*p->contexts));
	if (!copied || (from->n_contexts && !p->contexts))
		return -ENOMEM;
	p->cap_contexts = from->n_contexts;
	for (uint32_t i = 0; i < from->n_contexts; i++) {
		p->n_contexts++;
		if (!copy_context(&p->contexts[i], &from->contexts[i]))
			return -ENOMEM;
	}
	return 0;
}

struct context context_take(struct parser *p, uint32_t i)
{
	struct context c = p->contexts[i];
	memmove(&p->contexts[i], &p->contexts[i + 1], (p->n_contexts - i - 1) * sizeof(c));
	p->n_contexts--;
	p->n_aside -= c.aside;
	return c;
}

/* Between which addresses its frames are. Inner ones lie lower, but for those of handlers. */
static void note_span(struct context *c)
{
	c->low = c->high = 0;
	for (uint32_t i = 0; i < c->n && !c->high; i++)
		c->high = c->stack[i].cfa;
	for (uint32_t i = c->n; i-- > 0 && (!c->low || c->n_handlers);) {
		uint64_t cfa = c->stack[i].cfa;
		if (cfa && (!c->low || cfa < c->low))
			c->low = cfa;
		if (cfa > c->high)
			c->high = cfa;
	}
}

/* Makes room for one more. Past the limit the oldest but the thread's own is forgotten. */
static bool make_room(struct parser *p)
{
	if (p->n_contexts == CONTEXTS_MAX) {
		struct context oldest = context_take(p, p->contexts[0].id ? 0 : 1);
		context_free(&oldest);
	}
	if (p->n_contexts < p->cap_contexts)
		return true;
	uint32_t cap = p->cap_contexts ? 2 * p->cap_contexts : 4;
	struct context *more = realloc(p->contexts, cap * sizeof(*more));
	if (!more) {
		p->notes->failed = true;
		return false;
	}
	p->contexts = more;
	p->cap_contexts = cap;
	return true;
}

void context_keep(struct parser *p, struct context *left)
{
	if (!left->n || !make_room(p)) {
		context_free(left);
		return;
	}
	note_span(left);
	p->contexts[p->n_contexts++] = *left;
	p->n_aside += left->aside;
}

/* A stack is used again, from its first frame on: what was left on it is no more. */
void context_drop_overwritten(struct parser *p, uint64_t cfa)
{
	for (uint32_t i = p->n_contexts; cfa && i-- > 0;) {
		const struct context *kept = &p->contexts[i];
		if (!kept->id || kept->aside || (kept->bottom ? kept->bottom : kept->high) != cfa)
			continue;
		struct context gone = context_take(p, i);
		context_free(&gone);
	}
}

/* Room for the first frames of a new context, and the record of the first: see parser_push(). */
bool context_give_room(struct parser *p, struct context *c)
{
	c->cap = FIRST_FRAMES;
	c->cap_interruptions = 1;
	c->stack = malloc(c->cap * sizeof(*c->stack));
	c->interruptions = malloc(c->cap_interruptions * sizeof(*c->interruptions));
	if (c->stack && c->interruptions)
		return true;
	context_free(c);
	p->notes->failed = true;
	return false;
}
