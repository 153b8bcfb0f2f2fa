// SPDX-License-Identifier: LGPL-2.1-or-later
/* lines.c: cuts what threads did into pieces, and finds those of each goroutine. Where a piece
 * begins, the frames are kept that its thread knows to be open on that stack: from another
 * thread's stack that is what its first events report (PUGMARK_CAUSE_RESUMED). Where it goes on
 * with what the thread had before, line_reader.c has them.
 * line_reader.c puts a line together. */
#include "offline/trace/lines_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A stack of a thread that was left, and what is open on it. */
struct left {
	uint32_t number;
	struct line_frames frames;
};

/* A thread that is gone through. */
struct cutting {
	struct lines *lines;
	uint32_t task;
	struct line_frames frames; /* of the stack that it is on, */
	uint32_t on;		   /* whose number that is */
	VEC(struct left) left;
	struct piece piece; /* the one that has begun */
	bool failed;	    /* memory is out */
	int unwritten;	    /* why events could not be kept in the file; 0: they could */
};

static int error_of(const struct cutting *c)
{
	return c->failed ? -ENOMEM : c->unwritten;
}

static struct line_frames *frames_of(struct cutting *c, uint32_t number)
{
	for (uint32_t i = c->left.n; i-- > 0;)
		if (c->left.at[i].number == number)
			return &c->left.at[i].frames;
	if (!VEC_PUSH(&c->left, (struct left){.number = number}))
		return NULL;
	return &c->left.at[c->left.n - 1].frames;
}

/* Of stacks that were left with nothing open nothing is kept. */
static void drop_left(struct cutting *c, const struct line_frames *frames)
{
	struct left *l = (struct left *)((char *)frames - offsetof(struct left, frames));
	*l = c->left.at[--c->left.n];
}

static void go_on_at(struct cutting *c, uint32_t number)
{
	if (number == c->on)
		return;
	if (c->frames.n) {
		struct line_frames *kept = frames_of(c, c->on);
		c->failed |= !kept;
		if (kept)
			*kept = c->frames;
	} else {
		VEC_FREE(&c->frames);
	}
	struct line_frames *next = frames_of(c, number);
	c->failed |= !next;
	c->frames = next ? *next : (struct line_frames){0};
	if (next)
		drop_left(c, next);
	c->on = number;
}

static void put_frame(struct cutting *c, struct line_frame f)
{
	c->failed |= !VEC_PUSH(&c->lines->frames, f);
	c->piece.n_frames++;
}

static void store(struct cutting *c, const struct pugmark_trace_event *e)
{
	if (fwrite(e, sizeof(*e), 1, c->lines->events) != 1 && !c->unwritten)
		c->unwritten = errno ? -errno : -EIO;
	c->piece.n++;
	c->piece.last_ns = e->to_ns;
	c->lines->n_events++;
}

static void end_piece(struct cutting *c)
{
	if (c->piece.n || (c->piece.goroutine && c->piece.n_frames))
		c->failed |= !VEC_PUSH(&c->lines->pieces, c->piece);
}

static void begin_piece(struct cutting *c, uint64_t goroutine, uint64_t at_ns, bool goes_on)
{
	end_piece(c);
	c->piece = (struct piece){
		.goroutine = goroutine,
		.begin_ns = at_ns,
		.last_ns = at_ns,
		.first = c->lines->n_events,
		.first_frame = c->lines->frames.n,
		.task = c->task,
		.goes_on = goes_on,
	};
	for (uint32_t i = 0; goroutine && !goes_on && i < c->frames.n; i++)
		put_frame(c, c->frames.at[i]);
}

/* What a thread did of no goroutine says where it went from there. */
static void switch_to(struct cutting *c, const struct pugmark_trace_event *e)
{
	if (!c->piece.goroutine && c->piece.n && e->target)
		store(c, e);
	go_on_at(c, e->func);
	begin_piece(c, e->target, e->to_ns, false);
	if (!e->target)
		store(c, e);
}

/* Behind a gap nothing tells whose stack it is, until a switch does. */
static void gap(struct cutting *c, const struct pugmark_trace_event *e)
{
	bool was_known = c->piece.goroutine;
	store(c, e);
	if (!was_known)
		return;
	begin_piece(c, 0, e->to_ns, false);
	store(c, &(struct pugmark_trace_event){
			 .kind = PUGMARK_TRACE_SWITCH,
			 .from_ns = e->from_ns,
			 .to_ns = e->to_ns,
			 .func = c->on,
			 .depth = e->depth,
			 .import = "",
		 });
}

static void cut(struct cutting *c, const struct pugmark_trace_event *e)
{
	if (e->kind == PUGMARK_TRACE_SWITCH) {
		switch_to(c, e);
		return;
	}
	if (e->kind == PUGMARK_TRACE_GAP) {
		gap(c, e);
		return;
	}
	/* The thread may have come back, having gone to no other goroutine, and another thread may
	 * have had this one meanwhile. Where none had, the two pieces are told as one. */
	if (e->numbered && c->piece.goroutine && c->piece.n)
		begin_piece(c, c->piece.goroutine, e->to_ns, true);
	c->failed |= !line_frames_follow(&c->frames, e);
	if (c->piece.goroutine && !c->piece.n && !c->piece.goes_on &&
	    e->kind == PUGMARK_TRACE_ENTER && e->cause == PUGMARK_CAUSE_RESUMED)
		put_frame(c, (struct line_frame){e->func, e->module});
	else
		store(c, e);
}

int lines_add_task(struct lines *l, uint32_t task, struct cutting **out)
{
	struct cutting *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->lines = l;
	c->task = task;
	begin_piece(c, 0, 0, false);
	*out = c;
	return 0;
}

int lines_cut(struct cutting *c, const struct pugmark_trace_event *events, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		cut(c, &events[i]);
	return error_of(c);
}

int lines_end_task(struct cutting *c)
{
	if (!c)
		return 0;
	end_piece(c);
	int err = error_of(c);
	for (uint32_t i = 0; i < c->left.n; i++)
		VEC_FREE(&c->left.at[i].frames);
	VEC_FREE(&c->left);
	VEC_FREE(&c->frames);
	free(c);
	return err;
}

/* Goroutines before what is of none; the pieces of one by time, those of a thread in their order.
 */
static int by_line(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	if (x->goroutine != y->goroutine)
		return x->goroutine - 1 < y->goroutine - 1 ? -1 : 1;
	if (!x->goroutine && x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->goroutine && x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int list(struct lines *l)
{
	if (l->pieces.n)
		qsort(l->pieces.at, l->pieces.n, sizeof(*l->pieces.at), by_line);
	for (uint32_t i = 0; i < l->pieces.n; i++) {
		const struct piece *p = &l->pieces.at[i], *before = p - 1;
		bool same = i && p->goroutine == before->goroutine &&
			    (p->goroutine || p->task == before->task);
		if (!same &&
		    (!VEC_PUSH(&l->list, (struct pugmark_trace_line){.goroutine = p->goroutine,
								     .task = p->task,
								     .first_ns = p->begin_ns}) ||
		     !VEC_PUSH(&l->first_piece, i)))
			return -ENOMEM;
		struct pugmark_trace_line *line = &l->list.at[l->list.n - 1];
		line->n_events += p->n;
		if (p->last_ns > line->last_ns)
			line->last_ns = p->last_ns;
	}
	return VEC_PUSH(&l->first_piece, l->pieces.n) ? 0 : -ENOMEM;
}

int lines_finish(struct lines *l)
{
	return fflush(l->events) ? -errno : list(l);
}

int lines_new(const struct pugmark_plan *const *plans, const struct pugmark_recording_task *tasks,
	      struct lines **out)
{
	struct lines *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->plans = plans;
	l->tasks = tasks;
	l->events = tmpfile();
	if (!l->events) {
		int err = -errno;
		free(l);
		return err;
	}
	*out = l;
	return 0;
}

void lines_free(struct lines *l)
{
	if (!l)
		return;
	fclose(l->events);
	VEC_FREE(&l->pieces);
	VEC_FREE(&l->frames);
	VEC_FREE(&l->list);
	VEC_FREE(&l->first_piece);
	free(l);
}

const struct pugmark_trace_line *lines_list(const struct lines *l, uint32_t *n)
{
	*n = l->list.n;
	return l->list.at;
}
