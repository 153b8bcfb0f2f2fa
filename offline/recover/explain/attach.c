// SPDX-License-Identifier: LGPL-2.1-or-later
/* attach.c: where the trace of a thread begins that ran before it was recorded. The recorder
 * has unwound its stack, through whatever modules, and kept the return addresses. Those after our
 * calls are frames of ours with the call in progress; between them lies code that is not traced.
 * The thread is at its first event, or wherever a signal finds it that comes before. */
#include "offline/recover/explain/explain.h"
#include "offline/recover/grammar/grammar.h"
#include "offline/recover/stack/cursor.h"

#include <stdlib.h>

/* A return address on the stack, at the end of the frame at @cfa: of the call @call of @module, or
 * PUGMARK_NONE: of one of code that is not traced. */
struct slot {
	uint64_t cfa, ret;
	uint16_t module;
	uint32_t call;
};

/* Each word of such a stack is a return address or not known: so a scan goes from frame to frame.
 */
static uint32_t read_slots(const struct parser *p, const struct pugmark_witness_event *e,
			   struct slot *slots)
{
	struct frame_cursor at = cursor_at(p, e, 0, e->stack_addr);
	uint32_t n = 0;
	for (enum cursor_step step; (step = cursor_scan(&at)) != STEP_NONE; at.module = 0)
		slots[n++] = (struct slot){
			.cfa = at.cfa,
			.ret = at.ret,
			.module = at.module,
			.call = step == STEP_SCAN ? PUGMARK_NONE : at.call,
		};
	return n;
}

/* Whether the event goes on further in than what the one before it has told: a stack that is too
 * much for one comes in several, the outermost part first. */
static bool goes_on(const struct parser *p, const struct pugmark_witness_event *e)
{
	return p->attach_cfa && e->stack_words && e->stack_addr < p->attach_cfa &&
	       (p->attach_cfa - e->stack_addr) / 8 > e->stack_words;
}

/* Opens the next frame further in. Returns whether there is memory for it. */
static bool open(struct parser *p, struct frame f)
{
	parser_emit_frame(p, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_ATTACH, &f);
	return parser_push_on(p, f, p->attach_boundary, PUGMARK_CAUSE_ATTACH);
}

void parser_attach(struct parser *p, const struct pugmark_witness_event *e)
{
	struct slot *slots = e->stack_words ? malloc(e->stack_words * sizeof(*slots)) : NULL;
	uint32_t n = slots ? read_slots(p, e, slots) : 0;
	bool complete = n && !e->stack[e->stack_words - 1];
	p->notes->failed |= e->stack_words && !slots;
	p->attach_waits = false;
	if (!goes_on(p, e)) {
		p->attach_cfa = p->attach_ret = 0;
		p->attach_boundary = complete ? BELOW_ROOT : BELOW_GAP;
	}
	/* From the outermost on: the frame that slot i ends returns by the one before, if that is
	 * known. */
	for (uint32_t i = n; i-- > 0;) {
		const struct slot *s = &slots[i];
		struct frame f = {
			.module = s->module,
			.cfa = p->attach_cfa,
			.ret = p->attach_ret,
			.node = s->call,
			.announced =
				true, /* by whom, if not by this thread before it was recorded */
		};
		p->attach_cfa = s->cfa;
		p->attach_ret = s->ret;
		if (s->call == PUGMARK_NONE) {
			p->attach_boundary = p->n ? BELOW_CALLBACK : p->attach_boundary;
			continue;
		}
		const struct pugmark_plan_node *call = node_at(p, s->module, s->call);
		f.func = call->func;
		/* no event of the call will tell: it was before */
		f.call_cfa = call->height == PUGMARK_HEIGHT_UNKNOWN ? s->cfa : 0;
		open(p, f);
		p->attach_boundary = BELOW_CALL;
	}
	free(slots);
}

bool parser_stopped_at(const struct parser *p, const struct place *at, struct frame *f,
		       uint8_t *position)
{
	if (at->func == PUGMARK_NONE || at->next == PUGMARK_NONE || at->next & PUGMARK_POINT_AFTER)
		return false;
	f->func = at->func;
	f->module = at->module;
	if (at->next & PUGMARK_POINT_PASSED) {
		f->node = PUGMARK_POINT_NODE(at->next);
		*position = AT_CALL;
		return node_at(p, at->module, f->node)->kind == PUGMARK_NODE_KIND_UNKNOWN;
	}
	f->decision = parser_decision_before(p->plans[at->module], at->func, at->next);
	*position = AT_DECISION;
	return f->decision != PUGMARK_NONE;
}

/* In a function of ours, whose frame the attach has told. */
static bool begin_inside(struct parser *p, const struct place *at, uint64_t cfa)
{
	struct frame f = {.cfa = cfa, .ret = p->attach_ret};
	uint8_t position;
	if ((at->cfa && at->cfa != cfa) || !parser_stopped_at(p, at, &f, &position) || !open(p, f))
		return false;
	p->position = position;
	p->begun = true;
	return true;
}

bool parser_begin_placed(struct parser *p, const struct pugmark_witness_event *e)
{
	struct place at;
	uint64_t cfa = p->attach_cfa;
	if (!cfa ||
	    !parser_place_at(p, pugmark_event_sp(e), pugmark_event_ip(e), e->signal.bp, &at))
		return false;
	if (at.func != PUGMARK_NONE)
		return begin_inside(p, &at, cfa);
	if (!p->n && p->attach_boundary != BELOW_ROOT)
		return false;
	p->position = p->n ? AT_CALL : OUTSIDE;
	p->begun = true;
	return true;
}

void parser_attach_waits(struct parser *p)
{
	if (p->attach_waits || !p->attach_cfa)
		return;
	p->attach_waits = true;
	p->attach_n = p->n;
}

void parser_attach_handler_over(struct parser *p, const struct pugmark_witness_event *e)
{
	if (!p->attach_waits || p->position == LOST || p->n <= p->attach_n ||
	    stack_frames_above(p, e, pugmark_event_sp(e)) > p->attach_n ||
	    !parser_can_end(p, p->attach_n))
		return;
	parser_end_frames(p, p->attach_n);
	p->position = LOST;
}

void parser_attach_end(struct parser *p, const struct pugmark_witness_event *e)
{
	bool in_handler = p->n > p->attach_n, was = p->attach_in_handler;
	p->attach_in_handler = in_handler;
	if (e->kind == PUGMARK_EVENT_ATTACH ||
	    (p->attach_waits && (e->kind == PUGMARK_EVENT_SIGNAL || in_handler || was)))
		return;
	p->attach_waits = false;
	p->attach_cfa = 0;
}

/* Whether the event is of what a call in the frame that the attach has told of has made. */
static bool is_called_there(const struct parser *p, const struct lookahead *la)
{
	const struct pugmark_plan_node *n = node_at(p, la->from, la->origin);
	return la->cfa && n->height != PUGMARK_HEIGHT_UNKNOWN &&
	       la->cfa == p->attach_cfa - n->height;
}

void ask_attached(const struct parser *p, const struct lookahead *la, struct candidates *set)
{
	bool same = la->own_cfa && pugmark_event_cfa(la->e) == p->attach_cfa;
	if (!p->attach_cfa)
		return;
	if (!p->attach_waits)
		same |= !la->own_cfa;
	else if (la->origin != PUGMARK_NONE)
		same = is_called_there(p, la);
	else
		same &= !la->foreign;
	if (same && (p->position == LOST || (p->attach_waits && parser_can_end(p, p->attach_n))))
		candidate_add(set, &(struct candidate){.cause = CAUSE_ATTACHED,
						       .unsaid = PUGMARK_CAUSE_NONE});
}

enum commit commit_attached(struct parser *p, struct lookahead *la, const struct candidate *c,
			    uint32_t *first)
{
	(void)c;
	(void)first;
	const struct pugmark_witness_event *e = la->e;
	bool called = p->attach_waits && la->origin != PUGMARK_NONE;
	uint16_t module = called ? la->from : e->module;
	uint32_t node = called ? la->origin : parse_tables_node_of(p->tables[e->module], e->site);
	if (p->attach_waits)
		parser_end_frames(p, p->attach_n);
	p->attach_waits = false;
	struct frame f = {
		.func = node_at(p, module, node)->func,
		.module = module,
		.cfa = p->attach_cfa,
		.ret = p->attach_ret,
		.node = called ? node : 0,
	};
	if (!open(p, f))
		return COMMIT_FAILED;
	if (called) {
		p->position = AT_CALL;
		return COMMIT_GO_ON;
	}
	parser_take_event(p, node, e);
	return COMMIT_TAKEN;
}
