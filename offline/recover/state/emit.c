// SPDX-License-Identifier: LGPL-2.1-or-later
/* emit.c: what comes out of the parser: the events that the last one fed to it has
 * decided. */
#include "offline/recover/state/state.h"

#include <stdlib.h>

bool parser_grow_out(struct parser *p, uint32_t n)
{
	uint32_t cap = p->cap_out ? 2 * p->cap_out : 1024;
	while (cap - p->n_out < n)
		cap *= 2;
	struct pugmark_trace_event *out = realloc(p->out, cap * sizeof(*out));
	if (!out) {
		p->notes->failed = true;
		return false;
	}
	p->out = out;
	p->cap_out = cap;
	return true;
}

static inline __attribute__((always_inline)) void emit(struct parser *p,
						       struct pugmark_trace_event event)
{
	if (p->n_out == p->cap_out && !parser_grow_out(p, 1))
		return;
	event.from_ns = p->from_ns;
	event.to_ns = p->now_ns;
	event.depth = p->n - p->gone;
	p->out[p->n_out++] = event;
}

struct pugmark_trace_event *parser_events(struct parser *p, uint32_t *n)
{
	*n = p->n_out;
	return p->out;
}

void parser_drop_events(struct parser *p)
{
	p->n_out = 0;
}

void parser_emit(struct parser *p, const struct pugmark_trace_event *event)
{
	if (p->n_out < p->cap_out || parser_grow_out(p, 1))
		p->out[p->n_out++] = *event;
}

void parser_emit_frame(struct parser *p, uint8_t kind, uint8_t cause, const struct frame *f)
{
	emit(p, (struct pugmark_trace_event){
			.kind = kind,
			.cause = cause,
			.module = f->module,
			.func = f->func,
			.addr = p->plans[f->module]->funcs[f->func].addr,
		});
}

void parser_emit_entry(struct parser *p, uint8_t cause, const struct frame *f, uint64_t outside)
{
	emit(p, (struct pugmark_trace_event){
			.kind = PUGMARK_TRACE_ENTER,
			.cause = cause,
			.module = f->module,
			.func = f->func,
			.addr = p->plans[f->module]->funcs[f->func].addr,
			.outside = outside,
		});
}

/* @callee, of module @to: PUGMARK_NONE where the call left the traced modules. */
void parser_emit_call(struct parser *p, uint16_t module, const struct pugmark_plan_node *n,
		      uint16_t to, uint32_t callee)
{
	emit(p,
	     (struct pugmark_trace_event){
		     .kind = n->flags & PUGMARK_NODE_TAIL ? PUGMARK_TRACE_TAIL : PUGMARK_TRACE_CALL,
		     .module = module,
		     .target_module = to,
		     .addr = n->addr,
		     .func = callee,
		     .target = callee == PUGMARK_NONE ? 0 : p->plans[to]->funcs[callee].addr,
		     .import = p->plans[module]->strings + n->import,
	     });
}

void parser_emit_block(struct parser *p, uint16_t module, const struct pugmark_plan_node *n)
{
	bool call = n->kind == PUGMARK_NODE_KIND_CALL || n->kind == PUGMARK_NODE_KIND_UNKNOWN ||
		    n->kind == PUGMARK_NODE_KIND_LEAF;
	emit(p, (struct pugmark_trace_event){
			.kind = PUGMARK_TRACE_BLOCK,
			.module = module,
			.addr = call ? n->addr - pugmark_node_block_bytes(n) : n->addr,
			.func = n->func,
		});
}

static void emit_value(struct parser *p, const struct pugmark_plan_site *site,
		       const struct pugmark_witness_event *e, uint8_t what, uint32_t number,
		       uint64_t value)
{
	emit(p, (struct pugmark_trace_event){
			.kind = PUGMARK_TRACE_VALUE,
			.cause = what,
			.module = e->module,
			.addr = site->addr,
			.target = value,
			.func = number,
			.import = "",
		});
}

/* What the event's site read for those who look at the trace. */
void parser_emit_values(struct parser *p, const struct pugmark_plan_site *site,
			const struct pugmark_witness_event *e)
{
	uint8_t what = site->reads & PUGMARK_READS_RESULT ? PUGMARK_VALUE_RETURNED
		       : site->reads & PUGMARK_READS_CALL ? PUGMARK_VALUE_PASSED
							  : PUGMARK_VALUE_TAKEN;
	uint32_t n = what == PUGMARK_VALUE_RETURNED ? 1 : site->reads & PUGMARK_READS_ARGS;
	for (uint32_t i = 0; i < e->n_values && i < n; i++)
		emit_value(p, site, e, what, i, e->values[i]);
	if (what != PUGMARK_VALUE_RETURNED)
		for (uint32_t i = n; i < e->n_values; i++)
			emit_value(p, site, e, PUGMARK_VALUE_READ, i - n, e->values[i]);
	else if (e->n_values > 1) /* a bit for each argument that was read through */
		for (uint32_t arg = 0, i = 2; arg < 6 && i < e->n_values; arg++)
			if (e->values[1] >> arg & 1)
				emit_value(p, site, e, PUGMARK_VALUE_OUT, arg, e->values[i++]);
}

/* Where the thread is, as far as it is known, and in *@module the module. */
static struct pugmark_trace_was where_it_is(const struct parser *p, uint16_t *module)
{
	if (!p->n || (p->position != AT_DECISION && p->position != AT_CALL))
		return (struct pugmark_trace_was){PUGMARK_NONE, PUGMARK_NONE};
	const struct frame *f = parser_top_of(p);
	*module = f->module;
	return (struct pugmark_trace_was){
		.func = f->func,
		.decision = p->position == AT_CALL
				    ? pugmark_node_next(node_at(p, f->module, f->node))
				    : f->decision,
	};
}

void parser_note_lost(struct parser *p)
{
	p->lost_was = where_it_is(p, &p->lost_module);
}

static void emit_gap(struct parser *p, struct pugmark_trace_event e)
{
	e.kind = PUGMARK_TRACE_GAP;
	e.func = PUGMARK_NONE;
	e.lost = p->lost;
	if (p->lost) {
		e.was = p->lost_was;
		e.target_module = p->lost_module;
	} else {
		e.was = where_it_is(p, &e.target_module);
	}
	p->gaps++;
	p->goroutine = 0;
	emit(p, e);
	p->lost = 0;
}

void parser_emit_gap(struct parser *p, uint8_t cause)
{
	emit_gap(p, (struct pugmark_trace_event){.cause = cause});
}

void parser_emit_gap_at(struct parser *p, uint8_t cause, uint16_t module, uint64_t addr)
{
	emit_gap(p, (struct pugmark_trace_event){.cause = cause, .module = module, .addr = addr});
}

void parser_emit_misfit(struct parser *p, uint8_t cause, const struct pugmark_witness_event *e)
{
	parser_emit_gap_at(p, cause, e->module, p->plans[e->module]->sites[e->site].addr);
}
