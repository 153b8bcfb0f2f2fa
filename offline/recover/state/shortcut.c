// SPDX-License-Identifier: LGPL-2.1-or-later
/* shortcut.c: programs repeat themselves, and so does the parser. What it did from a decision of a
 * frame on is kept, and done again at once where all that the grammar asked is the same again:
 *
 *   TO_EVENT   up to an event of that frame, or of one that it called in silence
 *   PAST       the event is not of that frame, which has ended in silence
 *   TO_END     in silence up to the frame's end, whatever comes then
 *
 * A call out of the traced code that has come back is at such a decision too (has_come_back()).
 *
 * A shortcut is what it reports (but for the times), and of TO_EVENT the frames that are there
 * then, from the deciding one up. Addresses on the stack are kept relative to the event's CFA,
 * since that is how they are compared. What a shortcut stands for depends on nothing that is not in
 * its key: neither on frames further out nor on handlers, nor on whether the last jump may have
 * come back (explain/next.c): no call that was passed in silence has told where it went. */
#include "offline/recover/state/state.h"

#include <stdlib.h>
#include <string.h>

#define SHORTCUTS_BITS 13
#define SHORTCUTS (1u << SHORTCUTS_BITS)
#define KEPT_MAX 32768 /* events, and frames: then all is forgotten */
#define LONGEST 64     /* events, or frames, of one */
#define PAST_MAX 16    /* frames that end before one event */

enum shortcut_kind { TO_EVENT, PAST, TO_END };

/* All that is looked at on the way, in words that are compared at once. */
struct key {
	uint64_t where; /* decision, site (TO_END: PUGMARK_NONE) */
	uint64_t what;	/* function, module, enum key_state; never 0 */
	uint64_t below; /* how much lower the event's CFA is than the frame's, if that is known */
	uint64_t ret;	/* the event's */
	uint64_t val;
};

enum key_state {
	KEY_USED = 1,
	KEY_RET_UNKNOWN = 2, /* the frame's */
	KEY_RET_SAME = 4,    /* as the event's */
	KEY_CFA_KNOWN = 8,
	KEY_END = 16, /* of TO_END: no event's, whatever its site */
};

/* What there is of each of these is in one line of the cache: that is what a shortcut costs. */
#define LINE 64
#define IN_A_LINE __attribute__((aligned(LINE)))

struct shortcut {
	struct key key;
	uint32_t event, frame; /* the first ones */
	uint16_t n_events, n_frames;
	uint16_t next; /* the slot of what was taken after it, the last time */
	uint8_t kind, position;
	bool own_cfa; /* the event's CFA is that of its frame */
} IN_A_LINE;

/* A frame as it is after it; the CFAs less the event's, where they are known. */
struct shortcut_frame {
	struct frame frame;
	bool cfa_known, call_cfa_known;
	bool keeps_ret; /* it is as it was */
} IN_A_LINE;
_Static_assert(sizeof(struct shortcut) == LINE && sizeof(struct shortcut_frame) == LINE &&
		       sizeof(struct pugmark_trace_event) == LINE,
	       "more than a line of the cache is read for each");

struct shortcuts {
	struct shortcut slots[SHORTCUTS];
	struct pugmark_trace_event
		events[KEPT_MAX]; /* without times; depths from the deciding frame's */
	struct shortcut_frame frames[KEPT_MAX];
	uint32_t n_events, n_frames;
	struct shortcut *last;		 /* that was taken */
	struct shortcut *past[PAST_MAX]; /* while an event is looked for: those before its own */
	bool any;
};
_Static_assert(SHORTCUTS - 1 <= UINT16_MAX, "the number of a slot is kept in 16 bits");

struct shortcuts *parser_shortcuts_new(void)
{
	/* What says which events and frames there are is cleared, not the megabytes of these: what
	 * is not used takes neither memory nor, of a thread that does little, time. */
	struct shortcuts *s = aligned_alloc(LINE, sizeof(*s));
	if (!s)
		return NULL;
	memset(s->slots, 0, sizeof(s->slots));
	s->n_events = s->n_frames = 0;
	s->last = s->slots;
	s->any = false;
	return s;
}

void parser_forget_shortcuts(struct parser *p)
{
	struct shortcuts *s = p->shortcuts;
	if (!s || !s->any)
		return;
	memset(s->slots, 0, sizeof(s->slots));
	s->n_events = s->n_frames = 0;
	s->any = false;
}

static inline struct key key_of(const struct frame *f, uint32_t decision,
				const struct pugmark_witness_event *e)
{
	uint64_t state = KEY_USED | !f->ret * KEY_RET_UNKNOWN |
			 (f->ret == pugmark_event_ret(e)) * KEY_RET_SAME |
			 (f->cfa != 0) * KEY_CFA_KNOWN;
	return (struct key){
		.where = (uint64_t)decision << 32 | e->site,
		.what = (uint64_t)f->func << 32 | (uint64_t)f->module << 16 | state,
		.below = f->cfa ? f->cfa - pugmark_event_cfa(e) : 0,
		.ret = pugmark_event_ret(e),
		.val = pugmark_event_val(e),
	};
}

static inline struct key key_of_end(const struct frame *f)
{
	return (struct key){
		.where = (uint64_t)f->decision << 32 | PUGMARK_NONE,
		.what = (uint64_t)f->func << 32 | (uint64_t)f->module << 16 | KEY_USED | KEY_END,
	};
}

static inline bool same_key(const struct key *a, const struct key *b)
{
	return !((a->where ^ b->where) | (a->what ^ b->what) | (a->below ^ b->below) |
		 (a->ret ^ b->ret) | (a->val ^ b->val));
}

/* The two places of a key. */
static inline struct shortcut *places_of(struct shortcuts *s, const struct key *key)
{
	const uint64_t odd = 0x9e3779b97f4a7c15;
	uint64_t h = (key->where ^ (key->ret + key->what) * odd) + (key->below << 20) + key->val;
	h = (h ^ h >> 32) * odd;
	return &s->slots[h >> (64 - SHORTCUTS_BITS) & ~1u];
}

static inline struct shortcut *look_up(struct shortcuts *s, const struct key *key)
{
	struct shortcut *at = places_of(s, key);
	return same_key(&at->key, key) ? at : same_key(&at[1].key, key) ? at + 1 : NULL;
}

/* The shortcut of @key, which is about to be taken. Tried first is the one that was taken after the
 * last one the time before. */
static inline struct shortcut *look_up_next(struct shortcuts *all, const struct key *key)
{
	struct shortcut *s = &all->slots[all->last->next];
	if (!same_key(&s->key, key)) {
		s = look_up(all, key);
		if (!s)
			return NULL;
		all->last->next = (uint16_t)(s - all->slots);
	}
	all->last = s;
	__builtin_prefetch(&all->slots[s->next]);
	return s;
}

/* Whether nothing else of the event matters. */
static inline bool is_plain(const struct parser *p, const struct pugmark_witness_event *e)
{
	if (p->own_notes.doubted || p->stack[p->n - 1].doubtful || e->stack || e->n_values ||
	    e->flags & PUGMARK_EVENT_FROM_SIGNAL)
		return false;
	const struct pugmark_plan *plan = p->plans[e->module];
	return !(e->flags & PUGMARK_EVENT_HAS_TARGET) ||
	       (e->site < plan->n_sites && plan->sites[e->site].kind == PUGMARK_WITNESS_TARGET);
}

/* ---- taking one ---- */

static inline bool report(struct parser *p, const struct shortcut *s)
{
	const struct pugmark_trace_event *from = &p->shortcuts->events[s->event];
	struct pugmark_trace_event *to = parser_reserve(p, s->n_events);
	uint32_t depth = p->n - p->gone;
	uint64_t from_ns = p->from_ns, now_ns = p->now_ns;
	if (!to)
		return false;
	for (const struct pugmark_trace_event *end = from + s->n_events; from < end; from++, to++) {
		*to = *from;
		to->from_ns = from_ns;
		to->to_ns = now_ns;
		to->depth += depth;
	}
	p->n_out += s->n_events;
	return true;
}

static inline void place(struct frame *f, const struct shortcut_frame *from, uint64_t cfa)
{
	*f = from->frame;
	f->cfa = from->frame.cfa + (from->cfa_known ? cfa : 0);
	f->call_cfa = from->frame.call_cfa + (from->call_cfa_known ? cfa : 0);
}

/* Opens the @n frames of @from, which are behind the deciding one. */
static __attribute__((noinline)) bool
open_frames(struct parser *p, const struct shortcut_frame *from, uint32_t n, uint64_t cfa)
{
	for (uint32_t i = 0; i < n; i++) {
		if (p->n == p->cap && !parser_grow_stack(p))
			return false;
		if (from[i].frame.boundary != BELOW_CALL &&
		    !parser_interrupt(p, from[i].frame.boundary, PUGMARK_CAUSE_NONE))
			return false;
		place(&p->stack[p->n++], &from[i], cfa);
		if (p->unsure)
			parser_note_doubt(p);
	}
	return true;
}

static inline void go_to_event(struct parser *p, const struct shortcut *s,
			       const struct pugmark_witness_event *e)
{
	const struct shortcut_frame *from = &p->shortcuts->frames[s->frame];
	struct frame *f = parser_top(p);
	uint8_t boundary = f->boundary;
	uint64_t ret = from->keeps_ret ? f->ret : from->frame.ret;
	place(f, from, pugmark_event_cfa(e));
	f->boundary = boundary;
	f->ret = ret;
	if (s->n_frames > 1 && !open_frames(p, from + 1, s->n_frames - 1, pugmark_event_cfa(e)))
		return;
	p->position = s->position;
	if (parser_top(p)->called_ns)
		parser_top(p)->called_ns = e->early_ns ? 0 : p->now_ns;
}

/* What a shortcut begins with: the first @n frames are open, the innermost of them at @decision. */
struct beginning {
	uint32_t n, decision;
};

/* Whether the call that the innermost frame is in can only have come back before the event, as
 * parser_find() would say: the event enters no function, and nothing makes another way as likely.
 * In *@from where that leads: behind the call, or, if it is a jump out, behind the call of the
 * frame, which has ended with it. */
static inline bool has_come_back(const struct parser *p, const struct pugmark_witness_event *e,
				 struct beginning *from)
{
	const struct frame *f = parser_top_of(p);
	const struct pugmark_plan_node *n = node_at(p, f->module, f->node);
	const struct parse_tables *t = p->tables[e->module];
	if (n->flags & PUGMARK_NODE_NORETURN || parser_unsure_call(p, f) ||
	    e->site >= p->plans[e->module]->n_sites)
		return false;
	uint32_t node = parse_tables_node_of(t, e->site);
	if (node == PUGMARK_NONE || parse_tables_entered_by(t, e->site) != PUGMARK_NONE ||
	    (t->unsure_root && t->unsure_root[node]))
		return false;
	from->n = p->n;
	if (n->flags & PUGMARK_NODE_TAIL) {
		if (p->n == 1 || f->boundary != BELOW_CALL)
			return false;
		from->n--;
		f--;
		n = node_at(p, f->module, f->node);
	}
	from->decision = pugmark_node_next(n);
	return true;
}

/* @in_call: once the call that the innermost frame is in has come back. */
static inline __attribute__((always_inline)) bool take_from(struct parser *p,
							    const struct pugmark_witness_event *e,
							    struct beginning from, bool in_call)
{
	struct shortcut *s, **past = p->shortcuts->past;
	const struct frame *f = &p->stack[from.n - 1];
	uint32_t n = 0;
	for (;; n++, f--) {
		struct key key = key_of(f, from.decision, e);
		s = f->module == e->module && !f->gone ? look_up_next(p->shortcuts, &key) : NULL;
		if (!s)
			return false;
		if (s->kind == TO_EVENT)
			break;
		if (n == PAST_MAX || n + 1 == from.n || f->boundary != BELOW_CALL)
			return false;
		past[n] = s;
		from.decision = pugmark_node_next(node_at(p, f[-1].module, f[-1].node));
	}
	if (!s->own_cfa)
		return false;
	if (in_call)
		parser_leave_call(p);
	for (uint32_t i = 0; i < n; i++) {
		if (!report(p, past[i]))
			return false;
		p->n--; /* no more than a frame: it is not gone, and a call made it */
	}
	p->lowest = p->n < p->lowest ? p->n : p->lowest;
	if (report(p, s))
		go_to_event(p, s, e);
	return true;
}

static __attribute__((noinline)) bool take_behind_call(struct parser *p,
						       const struct pugmark_witness_event *e)
{
	struct beginning from;
	return has_come_back(p, e, &from) && take_from(p, e, from, true);
}

bool parser_shortcut(struct parser *p, const struct pugmark_witness_event *e)
{
	if (!is_plain(p, e))
		return false;
	if (p->position == AT_CALL)
		return take_behind_call(p, e);
	return take_from(p, e, (struct beginning){p->n, parser_top(p)->decision}, false);
}

bool parser_shortcut_here(struct parser *p, const struct pugmark_witness_event *e)
{
	const struct frame *f = parser_top(p);
	if (f->gone || f->module != e->module || !is_plain(p, e))
		return false;
	struct key key = key_of(f, f->decision, e);
	const struct shortcut *s = look_up(p->shortcuts, &key);
	if (!s || s->kind != TO_EVENT || !report(p, s))
		return false;
	go_to_event(p, s, e);
	return true;
}

bool parser_shortcut_to_end(struct parser *p)
{
	const struct frame *f = parser_top(p);
	struct key key = key_of_end(f);
	const struct shortcut *s = f->gone ? NULL : look_up(p->shortcuts, &key);
	return s && report(p, s);
}

/* ---- keeping one ---- */

struct shortcut_start parser_shortcut_start(struct parser *p)
{
	p->lowest = p->n;
	return (struct shortcut_start){
		.frame = *parser_top(p),
		.n = p->n,
		.n_out = p->n_out,
		.gone = p->gone,
		.from_ns = p->from_ns,
	};
}

static void keep_events(struct parser *p, const struct shortcut_start *start)
{
	struct shortcuts *s = p->shortcuts;
	uint32_t depth = start->n - start->gone;
	for (uint32_t i = start->n_out; i < p->n_out; i++) {
		struct pugmark_trace_event *to = &s->events[s->n_events++];
		*to = p->out[i];
		to->depth -= depth;
		to->lost = 0;
	}
}

static void keep_frame(struct parser *p, const struct frame *f, uint64_t cfa)
{
	struct shortcut_frame *to = &p->shortcuts->frames[p->shortcuts->n_frames++];
	*to = (struct shortcut_frame){*f, f->cfa != 0, f->call_cfa != 0, false};
	to->frame.cfa -= f->cfa ? cfa : 0;
	to->frame.call_cfa -= f->call_cfa ? cfa : 0;
}

/* The place for what was done since @start; NULL: it is not one to be kept. */
static struct shortcut *room_for(struct parser *p, const struct shortcut_start *start,
				 uint32_t n_frames, struct key *key)
{
	struct shortcuts *s = p->shortcuts;
	uint32_t n_events = p->n_out - start->n_out;
	if (p->own_notes.failed ||
	    p->position == LOST || /* a gap is counted, and leaves its cause */
	    p->gone != start->gone || start->frame.gone || p->from_ns != start->from_ns ||
	    n_events > LONGEST || n_frames > LONGEST)
		return NULL;
	if (s->n_events + LONGEST > KEPT_MAX || s->n_frames + LONGEST > KEPT_MAX)
		parser_forget_shortcuts(p);
	struct shortcut *to = places_of(s, key);
	s->any = true;
	to[1] = to[0];
	*to = (struct shortcut){
		.key = *key,
		.event = s->n_events,
		.n_events = n_events,
		.frame = s->n_frames,
		.n_frames = n_frames,
		.position = p->position,
	};
	return to;
}

void parser_keep_to_event(struct parser *p, const struct shortcut_start *start,
			  const struct lookahead *la)
{
	struct key key = key_of(&start->frame, start->frame.decision, la->e);
	if (p->lowest < start->n || la->e->module != start->frame.module || !is_plain(p, la->e))
		return;
	struct shortcut *s = room_for(p, start, p->n - start->n + 1, &key);
	if (!s)
		return;
	s->kind = TO_EVENT;
	s->own_cfa = la->own_cfa;
	keep_events(p, start);
	for (uint32_t i = start->n - 1; i < p->n; i++)
		keep_frame(p, &p->stack[i], pugmark_event_cfa(la->e));
	p->shortcuts->frames[s->frame].keeps_ret = p->stack[start->n - 1].ret == start->frame.ret;
}

void parser_keep_end(struct parser *p, const struct shortcut_start *start)
{
	struct key key = key_of_end(&start->frame);
	struct shortcut *s = room_for(p, start, 0, &key);
	if (!s)
		return;
	s->kind = TO_END;
	keep_events(p, start);
}

void parser_keep_past(struct parser *p, const struct lookahead *la)
{
	const struct frame *f = parser_top(p);
	struct key end = key_of_end(f), key = key_of(f, f->decision, la->e);
	const struct shortcut *s = look_up(p->shortcuts, &end);
	if (!s || f->gone || !la->own_cfa || p->n_handlers || la->e->module != f->module ||
	    !is_plain(p, la->e) || look_up(p->shortcuts, &key))
		return;
	struct shortcut past = *s, *to = places_of(p->shortcuts, &key);
	past.kind = PAST;
	past.key = key;
	to[1] = to[0];
	*to = past;
}
