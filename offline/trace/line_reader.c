// SPDX-License-Identifier: LGPL-2.1-or-later
/* line_reader.c: puts the pieces of a line together. At the begin of each it is known what is open
 * on the line (all that came before), and what its thread knows to be open. The frames that the two
 * have in common stay; those that only the line has were left in silence, as a thread leaves
 * runtime.mcall; those that only the thread has are to be left in this piece. Where they have none
 * in common there is a gap. */
#include "offline/trace/lines_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { BATCH = 512 };

struct line_reader {
	const struct lines *lines;
	uint32_t piece, end; /* the next one, and past the last */
	uint64_t at, left;   /* events of the piece that is read: the next one, and how many */
	uint32_t base;	     /* depth of the stack's outermost frame on the line */
	uint32_t task;	     /* that the last piece was of */
	bool any, lost;	     /* there was one; it ended in a gap */
	struct line_frames open;
	VEC(struct pugmark_trace_event) out;
};

int line_reader_new(const struct lines *lines, uint32_t line, struct line_reader **out)
{
	struct line_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->lines = lines;
	r->piece = lines->first_piece.at[line];
	r->end = lines->first_piece.at[line + 1];
	*out = r;
	return 0;
}

void line_reader_free(struct line_reader *r)
{
	if (!r)
		return;
	VEC_FREE(&r->open);
	VEC_FREE(&r->out);
	free(r);
}

static bool emit(struct line_reader *r, const struct piece *p, struct pugmark_trace_event e)
{
	e.from_ns = e.to_ns = p->begin_ns;
	if (e.kind != PUGMARK_TRACE_GAP)
		e.import = "";
	return VEC_PUSH(&r->out, e);
}

static bool emit_frame(struct line_reader *r, const struct piece *p, uint8_t kind, uint8_t cause,
		       const struct line_frame *f, uint32_t depth)
{
	if (f->func == PUGMARK_NONE)
		return true;
	const struct pugmark_plan *plan = r->lines->plans[f->module];
	return emit(r, p,
		    (struct pugmark_trace_event){
			    .kind = kind,
			    .cause = cause,
			    .module = f->module,
			    .func = f->func,
			    .addr = plan->funcs[f->func].addr,
			    .depth = depth,
		    });
}

/* Brings the line to where the piece begins. */
static bool join(struct line_reader *r, const struct piece *p)
{
	const struct line_frame *stack = r->lines->frames.at + p->first_frame;
	uint32_t base, common = line_frames_match(&r->open, stack, p->n_frames, &base);
	bool room = true;
	if (r->any && !r->lost && !common && (p->n_frames || r->open.n)) {
		room = emit(r, p,
			    (struct pugmark_trace_event){.kind = PUGMARK_TRACE_GAP,
							 .cause = PUGMARK_CAUSE_SWITCH,
							 .was = {PUGMARK_NONE, PUGMARK_NONE},
							 .func = PUGMARK_NONE,
							 .depth = r->open.n});
		base = r->open.n = 0;
	}
	for (; r->open.n > base + common && room; r->open.n--)
		room = r->lost || emit_frame(r, p, PUGMARK_TRACE_RET, PUGMARK_CAUSE_NONE,
					     &r->open.at[r->open.n - 1], r->open.n);
	for (uint32_t i = common; i < p->n_frames && room; i++)
		room = emit_frame(r, p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_RESUMED, &stack[i],
				  base + i) &&
		       VEC_PUSH(&r->open, stack[i]);
	r->base = base;
	r->lost = false;
	return room;
}

static bool begin_piece(struct line_reader *r)
{
	const struct piece *p = &r->lines->pieces.at[r->piece++];
	bool room = true;
	/* No other thread had it in between. */
	bool same = p->goes_on && r->any && p->task == r->task && p->first == r->at;
	r->at = p->first;
	r->left = p->n;
	if (same)
		return true;
	r->base = 0;
	if (!p->goroutine)
		return true;
	if (!r->any || p->task != r->task)
		room = emit(
			r, p,
			(struct pugmark_trace_event){.kind = PUGMARK_TRACE_SWITCH,
						     .addr = (uint32_t)r->lines->tasks[p->task].tid,
						     .depth = r->open.n});
	room = room && join(r, p);
	r->any = true;
	r->task = p->task;
	return room;
}

static int read_events(struct line_reader *r)
{
	uint32_t n = r->left < BATCH ? (uint32_t)r->left : BATCH, from = r->out.n;
	if (!VEC_RESERVE(&r->out, n))
		return -ENOMEM;
	size_t bytes = n * sizeof(*r->out.at);
	if (pread(fileno(r->lines->events), r->out.at + from, bytes,
		  (off_t)(r->at * sizeof(*r->out.at))) != (ssize_t)bytes)
		return -EIO;
	r->out.n += n;
	r->at += n;
	r->left -= n;
	bool goroutine = r->any;
	for (uint32_t i = from; i < r->out.n && goroutine; i++) {
		struct pugmark_trace_event *e = &r->out.at[i];
		e->depth += r->base;
		r->lost |= e->kind == PUGMARK_TRACE_GAP;
		if (!line_frames_follow(&r->open, e))
			return -ENOMEM;
	}
	return 0;
}

int line_reader_batch(struct line_reader *r, const struct pugmark_trace_event **events, uint32_t *n)
{
	r->out.n = 0;
	while (!r->out.n) {
		if (!r->left && r->piece == r->end)
			return 0;
		if (!r->left && !begin_piece(r))
			return -ENOMEM;
		int err = r->left ? read_events(r) : 0;
		if (err)
			return err;
	}
	*events = r->out.at;
	*n = r->out.n;
	return 1;
}
