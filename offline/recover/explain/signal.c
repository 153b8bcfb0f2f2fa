// SPDX-License-Identifier: LGPL-2.1-or-later
/* signal.c: signals. What one interrupts is brought up to where it was (settle.c);
 * then its handler is open on top of that, and returns without an event. Whether an event is still
 * of the handler is told by its stack. */
#include "offline/recover/explain/explain.h"
#include "offline/recover/settle/settle.h"

void parser_open_over(struct parser *p, const struct lookahead *la, uint8_t settled, uint64_t sp,
		      uint8_t cause)
{
	uint8_t boundary = p->n ? BELOW_HANDLER : BELOW_ROOT;
	parser_enter(p, la, boundary, cause);
	if (boundary == BELOW_ROOT || p->notes->failed)
		return;
	struct interrupted *h = &parser_handler(p)->handler;
	h->sp = sp;
	h->settled = settled;
	if (settled)
		h->since_ns = p->since_ns;
}

/* Opens the handler on top of what it interrupts. */
static void enter(struct parser *p, const struct lookahead *la, enum settled settled, uint64_t sp)
{
	parser_open_over(p, la, settled, sp, PUGMARK_CAUSE_SIGNAL);
}

/* Gives up the place that a handler interrupts, which found the stack at @sp: nothing tells how far
 * the thread had come there. What ran before the handler is a gap, so that none of it is taken for
 * something that ran afterwards. */
static void lose_place(struct parser *p, const struct pugmark_witness_event *e, uint64_t sp)
{
	uint32_t live = stack_frames_above(p, e, sp ? sp : pugmark_event_stack_at(e));
	if (p->position != LOST) {
		if (e->kind == PUGMARK_EVENT_WITNESS)
			parser_emit_misfit(p, PUGMARK_CAUSE_STACK, e);
		else
			parser_emit_gap(p, PUGMARK_CAUSE_STACK);
		p->gap_cause = PUGMARK_CAUSE_STACK;
	}
	parser_drop_frames(p, live);
	p->position = live ? LOST : OUTSIDE;
}

void ask_handler(const struct parser *p, const struct lookahead *la, struct candidates *set)
{
	struct candidate c = {
		.cause = CAUSE_HANDLER, .unsaid = PUGMARK_CAUSE_NONE, .handler = {.sp = 0}};
	uint64_t ip, bp;
	if (!la->foreign || (!stack_signal(la->e, &c.handler.sp, &ip, &bp) &&
			     !(la->e->flags & PUGMARK_EVENT_FROM_SIGNAL)))
		return;
	if (!p->n)
		c.handler.settled = SETTLED;
	else if (c.handler.sp && p->position != LOST)
		c.handler.settled = settle_ask(p, la->e, c.handler.sp, ip, bp, &c.handler.how);
	if (!c.handler.settled && p->position != LOST)
		c.unsaid = PUGMARK_CAUSE_STACK;
	candidate_add(set, &c);
}

enum commit commit_handler(struct parser *p, struct lookahead *la, const struct candidate *c,
			   uint32_t *first)
{
	(void)first;
	settle_commit(p, c->handler.how);
	if (!c->handler.settled)
		lose_place(p, la->e, c->handler.sp);
	enter(p, la, c->handler.settled, c->handler.sp);
	return COMMIT_GO_ON;
}

/* A handler that is not traced has called the function or jumped to it. The function's frame is
 * opened right inside of the interrupted place; if that handler has called another function before,
 * that one has to end first (`ended`). */
void ask_called_by_handler(const struct parser *p, const struct lookahead *la,
			   struct candidates *set)
{
	const struct pugmark_witness_event *e = la->e;
	const struct interruption *last = parser_handler(p);
	const struct interrupted *h = last ? &last->handler : NULL;
	struct candidate c = {
		.cause = CAUSE_CALLED_BY_HANDLER,
		.unsaid = PUGMARK_CAUSE_NONE,
		.called.by = p->foreign,
	};
	struct interrupted *by = &c.called.by;
	if (!la->foreign)
		return;
	if (h && h->since_ns >= by->since_ns && h->foreign)
		*by = *h;
	else if (h && h->since_ns >= by->since_ns)
		return;
	if (!by->settled || !by->sp || !la->own_cfa)
		return;
	uint64_t sp, ip, bp;
	bool jumped = e->flags & PUGMARK_EVENT_FROM_SIGNAL || stack_signal(e, &sp, &ip, &bp);
	if (jumped ? !stack_signal(e, &sp, &ip, &bp) || sp != by->sp || ip != by->ip
		   : !stack_handler_runs(e, by->sp, by->ip))
		return;
	if (h && h->foreign && h->sp == by->sp) {
		/* What it has called before is open, and has called out itself; or has ended. */
		const struct frame *f = &p->stack[last->frame];
		if ((!jumped && f->cfa > pugmark_event_cfa(e) &&
		     stack_slot_holds(p, e, f->cfa, f->ret)) ||
		    !parser_can_end(p, last->frame))
			return;
		c.called.ended = true;
	}
	candidate_add(set, &c);
}

enum commit commit_called_by_handler(struct parser *p, struct lookahead *la,
				     const struct candidate *c, uint32_t *first)
{
	(void)first;
	const struct interrupted *by = &c->called.by;
	if (c->called.ended)
		parser_end_frames(p, parser_handler(p)->frame);
	enter(p, la, by->settled, by->sp);
	if (!p->notes->failed && parser_top(p)->boundary == BELOW_HANDLER)
		parser_handler(p)->handler = *by;
	return COMMIT_GO_ON;
}

/* Go: whether the frame of @module at @cfa, which returns to @ret, can be of what the last handler
 * has made the thread go on in; in *@c what is open then. */
static bool is_injected(const struct parser *p, uint16_t module, uint64_t cfa, uint64_t ret,
			struct candidate *c)
{
	const struct interruption *h = parser_handler(p);
	struct place at;
	c->injected.n = p->n;
	c->injected.ahead = false;
	if (!p->tables[module]->go_runtime || !p->held_sp || p->held_sp != cfa || !p->n ||
	    !parser_place_at(p, cfa, ret, 0, &at) || at.func == PUGMARK_NONE)
		return false;
	if (h && h->handler.sp == cfa) {
		if (!h->handler.settled || !h->frame || !parser_can_end(p, h->frame))
			return false;
		c->injected.n = h->frame;
		c->injected.ahead = h->handler.settled == SETTLED_AHEAD;
	}
	return true;
}

void ask_injected(const struct parser *p, const struct lookahead *la, struct candidates *set)
{
	const struct pugmark_witness_event *e = la->e;
	struct candidate c = {.cause = CAUSE_INJECTED, .unsaid = PUGMARK_CAUSE_NONE};
	if (la->entered != PUGMARK_NONE && la->own_cfa &&
	    is_injected(p, e->module, pugmark_event_cfa(e), pugmark_event_ret(e), &c))
		candidate_add(set, &c);
}

enum commit commit_injected(struct parser *p, struct lookahead *la, const struct candidate *c,
			    uint32_t *first)
{
	(void)first;
	parser_end_frames(p, c->injected.n);
	la->origin = PUGMARK_NONE; /* that a call returns there is chance */
	la->foreign = true;
	/* Where its frames lie says nothing: it may switch stacks. */
	enter(p, la, c->injected.ahead ? SETTLED_AHEAD : SETTLED, 0);
	return COMMIT_GO_ON;
}

/* Go: a signal finds the thread at the entry of what the handler before has made it go on in, which
 * no event has told yet. Opens that. @uncalled: only if it returns to where no call of ours does.
 */
static bool settle_injected(struct parser *p, const struct pugmark_witness_event *e, bool uncalled)
{
	struct candidate c;
	struct place at;
	uint16_t module;
	uint64_t ret;
	if (!parser_place_at(p, pugmark_event_sp(e), pugmark_event_ip(e), e->signal.bp, &at) ||
	    !parser_is_entry(p, &at) || !stack_word(e, at.cfa - 8, &ret) ||
	    (uncalled && parser_return_to(p, at.module, ret, &module) != PUGMARK_NONE) ||
	    !is_injected(p, at.module, at.cfa, ret, &c))
		return false;
	uint32_t first = PUGMARK_NONE;
	struct pugmark_witness_event entry = {.time_ns = e->time_ns, .module = at.module};
	entry.arm.witness.cfa = at.cfa;
	entry.arm.witness.ret = ret;
	struct lookahead la = {.e = &entry, .entered = at.func, .own_cfa = true};
	commit_injected(p, &la, &c, &first);
	return true;
}

/* Whether the thread is at the very instruction that told the last event, in the same frame. */
static bool is_at_last_hit(const struct parser *p, const struct pugmark_witness_event *e)
{
	const struct hit *hit = &p->last_hit;
	uint64_t bias;
	if (hit->site == PUGMARK_NONE || hit->module >= p->n_modules ||
	    hit->site >= p->plans[hit->module]->n_sites || !module_bias(p, hit->module, &bias))
		return false;
	const struct pugmark_plan_site *site = &p->plans[hit->module]->sites[hit->site];
	uint64_t from = site->cfa_reg == PUGMARK_CFA_BP ? e->signal.bp : pugmark_event_sp(e);
	int32_t off = site->cfa_reg == PUGMARK_CFA_UNKNOWN ? 0 : site->cfa_off;
	return site->addr + bias == pugmark_event_ip(e) && from + off == hit->cfa;
}

/* Whether the last event was that of the end of the function that the thread is in, which it has
 * not left: nothing else leads to behind that event's instruction. */
static bool is_behind_end(const struct parser *p, const struct pugmark_witness_event *e)
{
	const struct hit *hit = &p->last_hit;
	struct place at;
	if (hit->site == PUGMARK_NONE || hit->module >= p->n_modules ||
	    hit->site >= p->plans[hit->module]->n_sites)
		return false;
	uint32_t node = parse_tables_node_of(p->tables[hit->module], hit->site);
	return node != PUGMARK_NONE &&
	       node_at(p, hit->module, node)->kind == PUGMARK_NODE_KIND_RETURN &&
	       parser_place_at(p, pugmark_event_sp(e), pugmark_event_ip(e), e->signal.bp, &at) &&
	       at.func != PUGMARK_NONE && at.module == hit->module &&
	       at.next == (node | PUGMARK_POINT_PASSED);
}

/* Brings the thread to where the signal finds it, by what is open on the current stack. A thread
 * that is killed while the kernel steps a copy of the instruction is put back to it, behind its
 * event: it is where the event has brought it, unless it can also have come back in silence. */
static enum settled settle_here(struct parser *p, const struct pugmark_witness_event *e)
{
	const struct settling *how;
	bool killed = !pugmark_event_handler(e) && is_at_last_hit(p, e);
	if (is_behind_end(p, e) || settle_injected(p, e, true))
		return SETTLED;
	enum settled settled =
		settle_ask(p, e, pugmark_event_sp(e), pugmark_event_ip(e), e->signal.bp, &how);
	if (killed)
		return settled ? UNSETTLED : SETTLED;
	settle_commit(p, how);
	return settled || !settle_injected(p, e, false) ? settled : SETTLED;
}

/* Whether the call that the thread is in has been reported. */
static bool is_told(const struct parser *p)
{
	return p->n && p->position == AT_CALL && p->stack[p->n - 1].announced;
}

void parser_signal(struct parser *p, const struct pugmark_witness_event *e)
{
	p->caught = false;
	if (pugmark_event_handler(e))
		p->foreign.sp = 0;
	if (p->lost)
		return; /* the handler's own entry says enough */
	parser_attach_handler_over(p, e);
	enum settled settled = UNSETTLED;
	bool told = is_told(p);
	uint32_t n = p->n, n_told = p->n_out;
	if (p->position == LOST && parser_begin_placed(p, e)) {
		settled = SETTLED;
	} else if (p->position == LOST) {
		parser_attach_waits(p);
		return;
	} else if (p->n || !p->context) {
		settled = settle_here(p, e);
	}
	if (!settled && (parser_settle_elsewhere(p, e) || !p->n))
		settled = SETTLED;
	p->placed = settled != UNSETTLED;
	/* Settling may have come to another call, which it has reported then. */
	if (settled && !(told && is_told(p) && p->n == n && p->n_out == n_told))
		parser_note_unknown_code(p, pugmark_event_ip(e));
	struct pugmark_witness_event entry = {.time_ns = e->time_ns}; /* as if it had a witness */
	uint32_t func = pugmark_event_handler(e)
				? parser_function_at(p, pugmark_event_handler(e), &entry.module)
				: PUGMARK_NONE;
	p->unplaced = !settled && !pugmark_event_handler(e);
	bool traced =
		func != PUGMARK_NONE && p->plans[entry.module]->funcs[func].entry != PUGMARK_NONE;
	p->caught = !traced && pugmark_event_handler(e);
	if (p->caught)
		p->foreign = (struct interrupted){
			.foreign = true,
			.sp = pugmark_event_sp(e),
			.ip = pugmark_event_ip(e),
			.alt = e->signal.alt,
			.alt_bytes = e->signal.alt_bytes,
			.since_ns = p->since_ns,
			.settled = settled,
		};
	if (!traced)
		return;
	if (!settled)
		lose_place(p, e, pugmark_event_sp(e));
	struct lookahead la = {.e = &entry, .entered = func, .origin = PUGMARK_NONE};
	uint32_t n_out = p->n_out;
	enter(p, &la, settled, pugmark_event_sp(e));
	if (p->notes->failed || p->n_out == n_out)
		return;
	p->held = p->out[--p->n_out];
	p->held_sp = pugmark_event_sp(e);
	p->held_ip = pugmark_event_ip(e);
	p->holds = true;
	if (parser_top(p)->boundary == BELOW_HANDLER) {
		struct interrupted *h = &parser_handler(p)->handler;
		h->alt = e->signal.alt;
		h->alt_bytes = e->signal.alt_bytes;
	}
}

void parser_release_held(struct parser *p, const struct pugmark_witness_event *next)
{
	p->holds = false;
	if (next->kind != PUGMARK_EVENT_SIGNAL || pugmark_event_sp(next) != p->held_sp ||
	    pugmark_event_ip(next) != p->held_ip) {
		parser_emit(p, &p->held);
		return;
	}
	p->position = parser_interruption_at(p, p->n - 1)->position;
	parser_drop_frames(p, p->n - 1);
}
