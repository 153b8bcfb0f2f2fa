// SPDX-License-Identifier: LGPL-2.1-or-later
/* parser_feed.c: one event: where the grammar leads to it, the parser follows; else what else it
 * can be, in the order of docs/theory.md, and last a gap. */
#include "offline/recover/parser_state.h"
#include "offline/recover/stack_scan.h"

#include <errno.h>

/* parser_call_before(), once for each return address. */
static const struct origin *origin_of(struct parser *p, uint16_t module, uint64_t ret)
{
	struct origin *o = &p->origins[ret * 0x9e3779b97f4a7c15 >> (64 - ORIGINS_BITS)];
	if (o->ret == ret && o->module == module)
		return o;
	*o = (struct origin){.ret = ret, .module = module};
	o->node = parser_call_before(p, module, ret, &o->from);
	return o;
}

static struct lookahead look(struct parser *p, const struct pugmark_witness_event *e)
{
	const struct site_facts *facts = &p->tables[e->module]->sites[e->site];
	struct lookahead la = {
		.e = e,
		.entered = facts->entered,
		.origin = PUGMARK_NONE,
		.own_cfa = facts->own_cfa,
	};
	if (la.entered == PUGMARK_NONE || !e->ret)
		return la;
	const struct origin *known = origin_of(p, e->module, e->ret);
	la.origin = known->node;
	la.from = known->from;
	la.foreign = la.origin == PUGMARK_NONE;
	if (!la.foreign && la.own_cfa) {
		la.cfa = e->cfa;
		la.ret = e->ret;
	}
	return la;
}

/* parser_find(), and where it finds nothing, whether the module that the last witnessed call or
 * jump went to has jumped back: then it is the function it jumped to that returns to our code. */
static bool find(struct parser *p, struct lookahead *la, uint32_t *level, uint32_t *alt)
{
	if (parser_find(p, la, level, alt))
		return true;
	if (p->torn || la->foreign || !la->cfa)
		return false;
	la->jumped_back = true;
	if (parser_find(p, la, level, alt))
		return true;
	la->jumped_back = false;
	return false;
}

static void feed_witness(struct parser *p, const struct pugmark_witness_event *e)
{
	if (!(p->bias_known >> e->module & 1) || p->bias[e->module] != e->bias)
		parser_set_bias(p, e->module, e->bias);
	struct lookahead la = look(p, e);
	uint32_t level, alt, first = PUGMARK_NONE;
	if (p->lost) {
		parser_emit_gap(p, p->lost_cause);
		p->gap_cause = p->lost_cause;
	}
	uint64_t sp = 0, ip = 0, bp = 0;
	uint32_t live;
	bool begins = !p->begun;
	p->begun = true;
	p->torn = false;
	if (begins && parser_begin_thread(p, &la))
		return;
	if (p->position != LOST && find(p, &la, &level, &alt)) {
		parser_end_before(p, level + 1, &la);
		first = alt;
	} else if (p->torn) {
		parser_reanchor(p, &la, PUGMARK_CAUSE_UNRESOLVED);
		return;
	} else if (la.foreign && parser_enter_from_handler(p, &la)) {
		first = PUGMARK_NONE;
	} else if (la.foreign &&
		   (stack_signal(e, &sp, &ip, &bp) || e->flags & PUGMARK_EVENT_FROM_SIGNAL)) {
		parser_enter_handler(p, &la, sp, ip, bp);
	} else if (p->position == LOST && parser_begin_attached(p, &la)) {
		return;
	} else if (parser_enter_injected(p, &la)) {
		first = PUGMARK_NONE;
	} else if (parser_try_switch(p, &la)) {
		return;
	} else if (p->position == LOST) {
		parser_reanchor(p, &la, p->gap_cause);
		return;
	} else if (la.foreign || (p->position == OUTSIDE && la.entered != PUGMARK_NONE)) {
		if (parser_explain_callback(p, &la, &live))
			return;
		parser_enter_foreign(p, &la, live);
	} else if (parser_starts_program(p, &la)) {
		parser_enter_root(p, &la);
	} else if (parser_try_unwinding(p, &la)) {
		return;
	} else if (!p->tables[e->module]->go_runtime) {
		/* Only where stacks move may it follow from where the parser is all the same. */
		parser_reanchor(p, &la, parser_misfit_cause(p, &la));
		return;
	}
	if (!parser_derive(p, &la, first) && !p->failed)
		parser_reanchor(p, &la,
				p->torn ? PUGMARK_CAUSE_UNRESOLVED : parser_misfit_cause(p, &la));
}

/* The task has ended: unless it was stopped in the middle, what is still open and can end in
 * silence did. */
static void finish(struct parser *p, bool stopped)
{
	if (p->n && p->position == AT_CALL)
		parser_announce(p); /* a call in progress was made, whatever has become of it */
	while (p->n && !stopped && !p->failed) {
		struct frame *f = parser_top(p);
		if (p->position == AT_CALL) {
			if (node_at(p, f->module, f->node)->flags & PUGMARK_NODE_NORETURN)
				break;
			parser_leave_call(p);
			continue;
		}
		if (p->position != AT_DECISION || f->decision == PUGMARK_NONE)
			break;
		const struct decision_table *t = parse_tables_at(p->tables[f->module], f->decision);
		if (t && t->n_empty > 1)
			parser_emit_gap(p, PUGMARK_CAUSE_UNRESOLVED);
		if (!t || t->n_empty != 1)
			break;
		parser_pass(p, t->empty, NULL);
	}
	parser_drop_frames(p, 0);
	parser_forget_contexts(p);
	p->position = OUTSIDE;
}

/* What happened since what is probed was changed is not known. */
static void end_pause(struct parser *p)
{
	if (p->paused)
		parser_emit_gap(p, PUGMARK_CAUSE_PLAN);
	p->paused = false;
}

int parser_feed(struct parser *p, const struct pugmark_witness_event *e)
{
	parser_drop_events(p);
	return parser_feed_more(p, e);
}

/* Whether the event is one that a shortcut may lead to, as nearly all of most programs are. */
static inline bool may_be_short(const struct parser *p, const struct pugmark_witness_event *e)
{
	return e->kind == PUGMARK_EVENT_WITNESS && p->position == AT_DECISION && !p->n_handlers &&
	       !p->lost && !p->holds && p->begun && e->module < p->n_modules &&
	       p->bias[e->module] == e->bias && p->bias_known >> e->module & 1;
}

/* Any event that no shortcut leads to. */
static __attribute__((noinline)) int feed_any(struct parser *p,
					      const struct pugmark_witness_event *e)
{
	if (p->holds)
		parser_release_held(p, e);
	if (e->kind != PUGMARK_EVENT_END)
		p->placed = p->unplaced = false;
	switch (e->kind) {
	case PUGMARK_EVENT_WITNESS:
		if (e->module >= p->n_modules || e->site >= p->plans[e->module]->n_sites ||
		    parse_tables_node_of(p->tables[e->module], e->site) == PUGMARK_NONE) {
			parser_emit_gap(p, PUGMARK_CAUSE_RECORDING);
			break;
		}
		feed_witness(p, e);
		break;
	case PUGMARK_EVENT_SIGNAL:
		parser_signal(p, e);
		break;
	case PUGMARK_EVENT_LOST:
		if (!p->lost || e->flags & PUGMARK_EVENT_DAMAGED)
			p->lost_cause = e->flags & PUGMARK_EVENT_DAMAGED ? PUGMARK_CAUSE_RECORDING
									 : PUGMARK_CAUSE_LOST;
		p->lost += e->lost;
		p->position = LOST;
		break;
	case PUGMARK_EVENT_ATTACH:
		p->position = LOST;
		p->gap_cause = PUGMARK_CAUSE_ATTACH;
		end_pause(p);
		parser_attach(p, e);
		break;
	case PUGMARK_EVENT_PAUSE:
		if (p->paused) /* it did nothing since: one gap */
			break;
		finish(p, true);
		p->position = LOST;
		p->gap_cause = PUGMARK_CAUSE_PLAN;
		parser_forget_biases(p); /* what follows may be of the same file by another plan */
		p->paused = true;
		break;
	case PUGMARK_EVENT_END:
		end_pause(p);
		if (p->lost)
			parser_emit_gap(p, p->lost_cause);
		else if (e->val && p->unplaced)
			parser_emit_gap(p, PUGMARK_CAUSE_STACK);
		finish(p, e->val != 0 || p->placed);
		break;
	case PUGMARK_EVENT_EXEC:
	case PUGMARK_EVENT_STOP:
		end_pause(p);
		if (p->lost)
			parser_emit_gap(p, p->lost_cause);
		finish(p, true);
		if (e->kind == PUGMARK_EVENT_EXEC)
			parser_forget_biases(p);
		break;
	default:
		break;
	}
	if (e->kind != PUGMARK_EVENT_ATTACH)
		p->attach_cfa = 0;
	return p->failed ? -ENOMEM : 0;
}

int parser_feed_more(struct parser *p, const struct pugmark_witness_event *e)
{
	int err = 0;
	p->now_ns = e->time_ns;
	p->from_ns = p->last_ns;
	p->doubted = false;
	if (may_be_short(p, e) && parser_shortcut(p, e)) {
		p->placed = p->unplaced = false;
		p->attach_cfa = 0;
		err = p->failed ? -ENOMEM : 0;
	} else {
		err = feed_any(p, e);
	}
	p->last_ns = e->time_ns;
	return err;
}
