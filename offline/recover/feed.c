// SPDX-License-Identifier: LGPL-2.1-or-later
/* feed.c: one event: mostly a shortcut leads to it. Else it is asked what can have led to it
 * (explain/causes.c), and that is committed; where nothing or several things can have, there is a
 * gap. */
#include "offline/recover/explain/explain.h"
#include "offline/recover/explain/other_stacks.h"

#include <errno.h>

/* The call of ours that returns to @ret: searched for once, and then taken from the cache. */
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
	if (la.entered == PUGMARK_NONE || !pugmark_event_ret(e))
		return la;
	const struct origin *known = origin_of(p, e->module, pugmark_event_ret(e));
	la.origin = known->node;
	la.from = known->from;
	la.foreign = la.origin == PUGMARK_NONE;
	if (!la.foreign && la.own_cfa) {
		la.cfa = pugmark_event_cfa(e);
		la.ret = pugmark_event_ret(e);
	}
	return la;
}

/* Makes the candidate so, and goes on to the event; false where nothing leads there after all, in
 * *@torn whether since two ways do. */
static bool commit(struct parser *p, struct lookahead *la, const struct candidate *c, bool *torn)
{
	uint32_t first = PUGMARK_NONE;
	*torn = false;
	enum commit result = cause_commit(c)(p, la, c, &first);
	if (result != COMMIT_GO_ON)
		return result == COMMIT_TAKEN;
	enum found derived = parser_derive(p, la, first);
	*torn = derived == FOUND_TORN;
	return derived == FOUND_ONE;
}

static void feed_witness(struct parser *p, const struct pugmark_witness_event *e)
{
	if (!(p->bias_known >> e->module & 1) || p->bias[e->module] != e->bias)
		parser_set_bias(p, e->module, e->bias);
	struct lookahead la = look(p, e);
	if (p->lost) {
		parser_emit_misfit(p, p->lost_cause, e);
		p->gap_cause = p->lost_cause;
	} else
		parser_end_preempted(p, &la);
	bool begins = !p->begun, torn;
	p->begun = true;
	struct candidates set;
	bool looked = causes_ask(p, &la, begins, &set);
	const struct candidate *c = set.n == 1 ? &set.at[0] : NULL;
	if (looked)
		parser_forget_overwritten(p, &la, c && c->cause == CAUSE_SWITCH ? c : NULL);
	torn = set.n > 1;
	if (c && commit(p, &la, c, &torn))
		return;
	if (!p->notes->failed)
		parser_reanchor(p, &la,
				torn ? PUGMARK_CAUSE_UNRESOLVED : parser_misfit_cause(p, &la));
}

/* With whose goroutine it is. */
static void feed_numbered(struct parser *p, const struct pugmark_witness_event *e)
{
	uint32_t first = p->n_out;
	feed_witness(p, e);
	/* What has ended in silence may have before. */
	while (first < p->n_out && p->out[first].kind == PUGMARK_TRACE_RET)
		first++;
	if (e->goroutine && e->goroutine == p->goroutine && first < p->n_out)
		p->out[first].numbered = true;
	stacks_number(p, e->goroutine);
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
	return e->kind == PUGMARK_EVENT_WITNESS && p->position <= AT_CALL && !p->n_handlers &&
	       !p->lost && !p->holds && !p->attach_waits && p->begun && e->module < p->n_modules &&
	       (!e->goroutine || e->goroutine == p->goroutine) && p->bias[e->module] == e->bias &&
	       p->bias_known >> e->module & 1;
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
		feed_numbered(p, e);
		break;
	case PUGMARK_EVENT_SIGNAL:
		parser_signal(p, e);
		break;
	case PUGMARK_EVENT_LOST:
		if (!p->lost || e->flags & PUGMARK_EVENT_DAMAGED)
			p->lost_cause = e->flags & PUGMARK_EVENT_DAMAGED ? PUGMARK_CAUSE_RECORDING
									 : PUGMARK_CAUSE_LOST;
		if (!p->lost)
			parser_note_lost(p);
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
		parser_finish(p, true);
		p->position = LOST;
		p->gap_cause = PUGMARK_CAUSE_PLAN;
		parser_forget_biases(p); /* what follows may be of the same file by another plan */
		p->paused = true;
		break;
	case PUGMARK_EVENT_DIVERGED: /* nothing more is known, nor of a call that would be next */
		p->position = LOST;
		parser_emit_gap(p, PUGMARK_CAUSE_DIVERGED);
		parser_finish(p, true);
		break;
	case PUGMARK_EVENT_END:
		end_pause(p);
		if (p->lost)
			parser_emit_gap(p, p->lost_cause);
		else if (pugmark_event_stopped(e) && p->unplaced)
			parser_emit_gap(p, PUGMARK_CAUSE_STACK);
		parser_finish(p, pugmark_event_stopped(e) || p->placed);
		break;
	case PUGMARK_EVENT_EXEC:
	case PUGMARK_EVENT_STOP:
		end_pause(p);
		if (p->lost)
			parser_emit_gap(p, p->lost_cause);
		parser_finish(p, true);
		if (e->kind == PUGMARK_EVENT_EXEC)
			parser_forget_biases(p);
		break;
	default:
		break;
	}
	parser_attach_end(p, e);
	return p->own_notes.failed ? -ENOMEM : 0;
}

int parser_feed_more(struct parser *p, const struct pugmark_witness_event *e)
{
	int err = 0;
	p->now_ns = e->time_ns;
	p->since_ns = e->time_ns - e->early_ns;
	p->from_ns = p->last_ns;
	p->own_notes.doubted = false;
	if (may_be_short(p, e) && parser_shortcut(p, e)) {
		p->placed = p->unplaced = false;
		p->attach_cfa = 0;
		err = p->own_notes.failed ? -ENOMEM : 0;
	} else {
		err = feed_any(p, e);
	}
	p->last_hit = e->kind == PUGMARK_EVENT_WITNESS
			      ? (struct hit){e->arm.witness.cfa, e->site, e->module}
			      : (struct hit){.site = PUGMARK_NONE};
	p->caught &= e->kind == PUGMARK_EVENT_SIGNAL;
	/* Of times that are bounds, one that begins earlier tells nothing new. */
	if (!e->early_ns || p->since_ns > p->last_ns)
		p->last_ns = p->since_ns;
	return err;
}
