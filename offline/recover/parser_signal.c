// SPDX-License-Identifier: LGPL-2.1-or-later
/* parser_signal.c: signals. What one interrupts is brought up to where it was (settle.c);
 * then its handler is open on top of that, and returns without an event. Whether an event is still
 * of the handler is told by its stack. */
#include "offline/recover/parser_state.h"
#include "offline/recover/stack_scan.h"

/* Opens the handler on top of what it interrupts. */
static void enter(struct parser *p, const struct lookahead *la, enum settled settled, uint64_t sp)
{
	uint8_t boundary = p->n ? BELOW_HANDLER : BELOW_ROOT;
	parser_enter(p, la, boundary, PUGMARK_CAUSE_SIGNAL);
	if (boundary == BELOW_ROOT || p->failed)
		return;
	struct interruption *h = &p->handlers[p->n_handlers - 1];
	h->sp = sp;
	h->settled = settled != UNSETTLED;
	h->ahead = settled == SETTLED_AHEAD;
	if (settled)
		h->since_ns = p->now_ns;
}

/* Of what a handler at @sp interrupts it is not known how far it came: what ran before it is not
 * reported, nor taken for something that ran after it. */
static void lose_place(struct parser *p, const struct pugmark_witness_event *e, uint64_t sp)
{
	uint32_t live = stack_frames_above(p, e, sp ? sp : e->cfa);
	if (p->position != LOST) {
		parser_emit_gap(p, PUGMARK_CAUSE_STACK);
		p->gap_cause = PUGMARK_CAUSE_STACK;
	}
	parser_drop_frames(p, live);
	p->position = live ? LOST : OUTSIDE;
}

void parser_enter_handler(struct parser *p, const struct lookahead *la, uint64_t sp, uint64_t ip,
			  uint64_t bp)
{
	enum settled settled = UNSETTLED;
	if (!p->n)
		settled = SETTLED;
	else if (sp && p->position != LOST)
		settled = parser_settle(p, la->e, sp, ip, bp);
	if (!settled)
		lose_place(p, la->e, sp);
	enter(p, la, settled, sp);
}

/* The entry of a function that the handler of @by has called or jumped to: goes on before that
 * handler, which may have called another one before. */
static bool may_come_from(struct parser *p, const struct lookahead *la, struct foreign_handler *by)
{
	const struct pugmark_witness_event *e = la->e;
	const struct interruption *h = p->n_handlers ? &p->handlers[p->n_handlers - 1] : NULL;
	*by = p->foreign;
	if (h && h->since_ns >= by->since_ns && h->foreign)
		*by = h->by;
	else if (h && h->since_ns >= by->since_ns)
		return false;
	if (!by->settled || !by->sp || !la->own_cfa || p->position == LOST)
		return false;
	uint64_t sp, ip, bp;
	bool jumped = e->flags & PUGMARK_EVENT_FROM_SIGNAL || stack_signal(e, &sp, &ip, &bp);
	if (jumped ? !stack_signal(e, &sp, &ip, &bp) || sp != by->sp || ip != by->ip
		   : !stack_handler_runs(e, by->sp, by->ip))
		return false;
	if (!h || !h->foreign || h->by.sp != by->sp)
		return true;
	/* What it has called before is open, and has called out itself; or has ended. */
	const struct frame *f = &p->stack[h->frame];
	if ((!jumped && f->cfa > e->cfa && stack_slot_holds(p, e, f->cfa, f->ret)) ||
	    parser_can_end_down_to(p, h->frame) != h->frame)
		return false;
	parser_end_frames(p, h->frame);
	return true;
}

bool parser_enter_from_handler(struct parser *p, const struct lookahead *la)
{
	struct foreign_handler by;
	if (!may_come_from(p, la, &by))
		return false;
	enter(p, la, by.settled, by.sp);
	if (p->failed || parser_top(p)->boundary != BELOW_HANDLER)
		return true;
	struct interruption *h = &p->handlers[p->n_handlers - 1];
	h->foreign = true;
	h->by = by;
	h->alt = by.alt;
	h->alt_bytes = by.alt_bytes;
	h->since_ns = by.since_ns;
	return true;
}

bool parser_enter_injected(struct parser *p, struct lookahead *la)
{
	const struct pugmark_witness_event *e = la->e;
	const struct interruption *h = p->n_handlers ? &p->handlers[p->n_handlers - 1] : NULL;
	enum settled settled = SETTLED;
	struct place at;
	if (!p->tables[e->module]->go_runtime || la->entered == PUGMARK_NONE || !la->own_cfa ||
	    !p->held_sp || p->held_sp != e->cfa || !parser_place_at(p, e->cfa, e->ret, 0, &at) ||
	    at.func == PUGMARK_NONE)
		return false;
	if (h && h->sp == e->cfa) {
		if (!h->settled || parser_can_end_down_to(p, h->frame) != h->frame)
			return false;
		settled = h->ahead ? SETTLED_AHEAD : SETTLED;
		parser_end_frames(p, h->frame);
	}
	if (p->position == LOST || !p->n)
		return false;
	la->origin = PUGMARK_NONE; /* that a call returns there is chance */
	la->foreign = true;
	enter(p, la, settled, 0); /* where its frames lie says nothing: it may switch stacks */
	return true;
}

void parser_signal(struct parser *p, const struct pugmark_witness_event *e)
{
	if (e->val)
		p->foreign.sp = 0;
	if (p->lost)
		return; /* the handler's own entry says enough */
	enum settled settled = UNSETTLED;
	if (p->position == LOST && parser_begin_placed(p, e))
		settled = SETTLED;
	else if (p->position == LOST)
		return;
	else if (p->n || !p->context)
		settled = parser_settle(p, e, e->cfa, e->ret, e->signal.bp);
	if (!settled && (parser_settle_elsewhere(p, e) || !p->n))
		settled = SETTLED;
	p->placed = settled != UNSETTLED;
	struct pugmark_witness_event entry = {.kind = PUGMARK_EVENT_SIGNAL, .time_ns = e->time_ns};
	uint32_t func = e->val ? parser_function_at(p, e->val, &entry.module) : PUGMARK_NONE;
	p->unplaced = !settled && !e->val;
	if (func == PUGMARK_NONE && e->val)
		p->foreign = (struct foreign_handler){
			.sp = e->cfa,
			.ip = e->ret,
			.alt = e->signal.alt,
			.alt_bytes = e->signal.alt_bytes,
			.since_ns = e->time_ns,
			.settled = settled,
		};
	if (func == PUGMARK_NONE || p->plans[entry.module]->funcs[func].entry == PUGMARK_NONE)
		return;
	if (!settled)
		lose_place(p, e, e->cfa);
	struct lookahead la = {.e = &entry, .entered = func, .origin = PUGMARK_NONE};
	uint32_t n_out = p->n_out;
	enter(p, &la, settled, e->cfa);
	if (p->failed || p->n_out == n_out)
		return;
	p->held = p->out[--p->n_out];
	p->held_sp = e->cfa;
	p->held_ip = e->ret;
	p->holds = true;
	if (parser_top(p)->boundary == BELOW_HANDLER) {
		p->handlers[p->n_handlers - 1].alt = e->signal.alt;
		p->handlers[p->n_handlers - 1].alt_bytes = e->signal.alt_bytes;
	}
}

void parser_release_held(struct parser *p, const struct pugmark_witness_event *next)
{
	p->holds = false;
	if (next->kind != PUGMARK_EVENT_SIGNAL || next->cfa != p->held_sp ||
	    next->ret != p->held_ip) {
		parser_emit(p, &p->held);
		return;
	}
	parser_drop_frames(p, p->n - 1);
	p->position = p->n ? parser_top(p)->position : OUTSIDE;
}

void parser_handlers_bound(const struct parser *p, const struct pugmark_witness_event *e,
			   uint32_t *lo, uint32_t *hi)
{
	for (uint32_t i = p->n_handlers; i-- > 0;) {
		const struct interruption *h = &p->handlers[i];
		bool inside = e->cfa - 8 - h->alt < h->alt_bytes;
		if (h->alt_bytes && inside) {
			*lo = h->frame;
			return;
		}
		if (h->sp && (h->alt_bytes || e->cfa > h->sp) && *hi > h->frame)
			*hi = h->frame;
	}
}
