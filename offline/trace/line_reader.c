// SPDX-License-Identifier: LGPL-2.1-or-later
/* line_reader.c: puts the pieces of a line together. At the begin of each it is known what is open
 * on the line (all that came before), and what its thread knows to be open. The frames that the two
 * have in common stay; those that only the line has were left in silence, as a thread leaves
 * runtime.mcall; those that only the thread has are to be left in this piece. Where they have none
 * in common there is a gap. */
#include "offline/trace/lines_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 512 };

/* What a thread knew to be open when the line went on elsewhere. */
struct known_frames {
	uint32_t task;
	uint64_t at; /* behind the last event of its piece */
	struct line_frames frames;
};

struct line_reader {
	const struct lines *lines;
	uint32_t piece, end; /* the next one, and past the last */
	uint64_t at, left;   /* events of the piece that is read: the next one, and how many */
	uint32_t base;	     /* depth of the stack's outermost frame on the line */
	uint32_t task;	     /* that the last piece was of */
	bool any, lost;	     /* there was one; it ended in a gap */
	struct line_frames open;
	struct line_frames own;		/* that the piece's thread knows to be open */
	VEC(struct known_frames) known; /* of other threads that have had the line */
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
	for (uint32_t i = 0; i < r->known.n; i++)
		VEC_FREE(&r->known.at[i].frames);
	VEC_FREE(&r->known);
	VEC_FREE(&r->own);
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

static struct known_frames *known_of(struct line_reader *r, uint32_t task)
{
	for (uint32_t i = 0; i < r->known.n; i++)
		if (r->known.at[i].task == task)
			return &r->known.at[i];
	if (!VEC_PUSH(&r->known, (struct known_frames){.task = task}))
		return NULL;
	return &r->known.at[r->known.n - 1];
}

/* From what the thread of the last piece, which ends at event @end, knows to what that of @p does
 * when it begins. */
static bool change_thread(struct line_reader *r, const struct piece *p, uint64_t end)
{
	struct known_frames *last = r->any ? known_of(r, r->task) : NULL;
	if (r->any && !last)
		return false;
	if (last) {
		const struct line_frames unused = last->frames;
		last->frames = r->own;
		last->at = end;
		r->own = unused;
	}
	r->own.n = 0;
	if (p->goes_on) {
		struct known_frames *then = known_of(r, p->task);
		if (!then)
			return false;
		const struct line_frames unused = r->own;
		if (then->at == p->first) {
			r->own = then->frames;
			then->frames = unused;
		}
		return true;
	}
	if (!VEC_RESERVE(&r->own, p->n_frames))
		return false;
	if (p->n_frames)
		memcpy(r->own.at, r->lines->frames.at + p->first_frame,
		       p->n_frames * sizeof(*r->own.at));
	r->own.n = p->n_frames;
	return true;
}

/* Brings the line to where the piece begins. */
static bool join(struct line_reader *r, const struct piece *p)
{
	const struct line_frame *stack = r->own.at;
	uint32_t base, n = r->own.n, common = line_frames_match(&r->open, stack, n, &base);
	bool room = true;
	if (r->any && !r->lost && !common && (n || r->open.n)) {
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
	for (uint32_t i = common; i < n && room; i++)
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
	uint64_t end = r->at;
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
	room = room && change_thread(r, p, end) && join(r, p);
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
		if (!line_frames_follow(&r->own, e))
			return -ENOMEM;
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
