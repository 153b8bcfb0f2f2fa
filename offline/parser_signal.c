// SPDX-License-Identifier: LGPL-2.1-or-later
/* parser_signal.c: signals. What one interrupts is brought up to where it was (parser_silent.c);
 * then its handler is open on top of that, and returns without an event. Whether an event is still
 * of the handler is told by its stack. */
#include "offline/parser_state.h"
#include "offline/stack_scan.h"

/* Opens the handler on top of what it interrupts. */
static void enter(struct parser *p, const struct lookahead *la, enum settled settled, uint64_t sp)
{
	uint8_t boundary = p->n ? BELOW_HANDLER : BELOW_ROOT;
	parser_enter(p, la, boundary, CAUSE_SIGNAL);
	if (boundary == BELOW_ROOT || p->failed)
		return;
	struct interruption *h = &p->handlers[p->n_handlers - 1];
	h->sp = sp;
	h->settled = settled != UNSETTLED;
	h->ahead = settled == SETTLED_AHEAD;
	if (settled)
		h->since_ns = p->now_ns;
}

/* What is interrupted is not known to the last call: its stack pointer says which frames have
 * ended. */
static void end_frames_below(struct parser *p, const struct witness_event *e, uint64_t sp)
{
	uint32_t live = stack_frames_above(p, e, sp);
	if (parser_can_end_down_to(p, live) == live) {
		parser_end_frames(p, live);
		return;
	}
	parser_emit_gap(p, CAUSE_MODEL);
	parser_drop_frames(p, live);
	p->position = live ? LOST : OUTSIDE;
	p->gap_cause = CAUSE_MODEL;
}

/* Whether @ip lies between a witness that the call of frame @i has and that call: the call has been
 * reported, and the frame above opened, but it was not made yet. */
static bool before_call(const struct parser *p, uint32_t i, uint64_t ip)
{
	const struct frame *f = &p->stack[i];
	const struct plan_node *n = node_at(p, f->module, f->node);
	uint64_t bias;
	return p->stack[i + 1].boundary == BELOW_CALL && n->site != PUGMARK_NONE &&
	       module_bias(p, f->module, &bias) &&
	       ip - bias > p->plans[f->module]->sites[n->site].addr && ip - bias <= n->addr;
}

void parser_enter_handler(struct parser *p, const struct lookahead *la, uint64_t sp, uint64_t ip)
{
	uint32_t live = stack_frames_above(p, la->e, sp);
	if (!live || live == p->n || !before_call(p, live - 1, ip))
		end_frames_below(p, la->e, sp);
	enter(p, la, UNSETTLED, sp);
}

void parser_signal(struct parser *p, const struct witness_event *e)
{
	if (p->position == LOST || p->lost)
		return; /* the handler's own entry says enough */
	enum settled settled = parser_settle(p, e, e->cfa, e->ret);
	p->placed = settled != UNSETTLED;
	struct witness_event entry = {.kind = EVENT_SIGNAL, .time_ns = e->time_ns};
	uint32_t func = e->val ? parser_function_at(p, e->val, &entry.module) : PUGMARK_NONE;
	if (func == PUGMARK_NONE || p->plans[entry.module]->funcs[func].entry == PUGMARK_NONE)
		return;
	if (!settled)
		end_frames_below(p, e, e->cfa);
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

void parser_release_held(struct parser *p, const struct witness_event *next)
{
	p->holds = false;
	if (next->kind != EVENT_SIGNAL || next->cfa != p->held_sp || next->ret != p->held_ip) {
		parser_emit(p, &p->held);
		return;
	}
	parser_drop_frames(p, p->n - 1);
	p->position = p->n ? parser_top(p)->position : OUTSIDE;
}

void parser_handlers_bound(const struct parser *p, const struct witness_event *e, uint32_t *lo,
			   uint32_t *hi)
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
