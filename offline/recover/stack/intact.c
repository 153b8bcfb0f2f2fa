// SPDX-License-Identifier: LGPL-2.1-or-later
/* intact.c: which of the open frames may still be on the stack that a snapshot shows. */
#include "offline/recover/stack/snapshot.h"

/* Whether the recorder would have kept a word that was @addr: then a word that is not known was not
 * @addr. It keeps addresses of the module that the event is of; which one that is, where there are
 * several, a witness says, and no other event. */
static bool would_be_kept(const struct parser *p, const struct pugmark_witness_event *e,
			  uint64_t addr)
{
	uint16_t module = e->kind == PUGMARK_EVENT_WITNESS ? e->module : 0;
	uint64_t bias;
	if (p->n_modules > 1 && e->kind != PUGMARK_EVENT_WITNESS)
		return false;
	return module_bias(p, module, &bias) && addr - bias >= p->plans[module]->text_addr &&
	       addr - bias < p->plans[module]->text_end;
}

bool stack_slot_holds(const struct parser *p, const struct pugmark_witness_event *e, uint64_t cfa,
		      uint64_t ret)
{
	uint64_t word;
	/* What is no address is not kept, and proves nothing. */
	if (!cfa || !pugmark_event_is_address(ret) || !stack_reaches(e, cfa - 8))
		return true;
	return stack_word(e, cfa - 8, &word) ? word == ret : !would_be_kept(p, e, ret);
}

/* Whether frame @i has been reported, but was not called yet when a handler came. */
static bool is_ahead(const struct parser *p, uint32_t i)
{
	return i + 1 < p->n && p->stack[i + 1].boundary == BELOW_HANDLER &&
	       parser_interruption_at(p, i + 1)->handler.settled == SETTLED_AHEAD;
}

uint64_t stack_callee_cfa(const struct parser *p, uint32_t i)
{
	const struct frame *f = &p->stack[i];
	const struct pugmark_plan_node *n = node_at(p, f->module, f->node);
	if (i + 1 < p->n && p->stack[i + 1].boundary == BELOW_CALL)
		return p->stack[i + 1].cfa;
	if (f->call_cfa)
		return f->call_cfa;
	if (n->flags & PUGMARK_NODE_TAIL || n->height == PUGMARK_HEIGHT_UNKNOWN || !f->cfa)
		return 0;
	return f->cfa - n->height;
}

bool stack_call_intact(const struct parser *p, const struct pugmark_witness_event *e, uint32_t i)
{
	if (!i || p->stack[i].boundary != BELOW_CALLBACK)
		return true;
	const struct pugmark_plan_node *n =
		node_at(p, p->stack[i - 1].module, p->stack[i - 1].node);
	return n->flags & PUGMARK_NODE_TAIL ||
	       stack_slot_holds(p, e, stack_callee_cfa(p, i - 1),
				return_address(p, p->stack[i - 1].module, n));
}

/* Go: whether frame @i has left its stack, which another thread may be on by now: what lies there
 * proves nothing. */
static bool has_given_up_stack(const struct parser *p, uint32_t i)
{
	const struct frame *f = &p->stack[i];
	return p->tables[f->module]->go_runtime &&
	       p->plans[f->module]->funcs[f->func].flags & PUGMARK_PLAN_FUNC_SWITCHES;
}

bool stack_frames_intact(const struct parser *p, const struct pugmark_witness_event *e,
			 uint32_t level)
{
	for (uint32_t i = level + 1; i-- > 0;) {
		const struct frame *f = &p->stack[i];
		if (i < level && has_given_up_stack(p, i))
			break;
		/* Not called yet, as long as the handler that came before runs. */
		bool ahead = i < level && is_ahead(p, i);
		if (!ahead &&
		    (!stack_slot_holds(p, e, f->cfa, f->ret) || !stack_call_intact(p, e, i)))
			return false;
		if (f->cfa && !stack_reaches(e, f->cfa - 8))
			break;
	}
	return true;
}

uint32_t stack_frames_above(const struct parser *p, const struct pugmark_witness_event *e,
			    uint64_t sp)
{
	uint32_t open = 0;
	uint64_t nearest = UINT64_MAX;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct frame *f = &p->stack[i];
		if (!f->cfa && nearest == UINT64_MAX)
			open = i + 1; /* a frame at an unknown place: the last that it can be */
		if (f->cfa <= sp || f->cfa - sp > nearest ||
		    !stack_slot_holds(p, e, f->cfa, f->ret))
			continue;
		nearest = f->cfa - sp;
		open = i + 1;
	}
	return open;
}

bool stack_covers(const struct parser *p, const struct pugmark_witness_event *e, uint32_t i)
{
	uint64_t word;
	return p->stack[i].cfa > pugmark_event_cfa(e) && stack_word(e, p->stack[i].cfa - 8, &word);
}

void parser_handlers_bound(const struct parser *p, const struct pugmark_witness_event *e,
			   uint32_t *lo, uint32_t *hi)
{
	for (uint32_t i = p->n_handlers ? p->n_interruptions : 0; i-- > 0;) {
		const struct interruption *by = &p->interruptions[i];
		const struct interrupted *h = &by->handler;
		if (by->kind != BELOW_HANDLER)
			continue;
		bool inside = pugmark_event_cfa(e) - 8 - h->alt < h->alt_bytes;
		if (h->alt_bytes && inside) {
			*lo = by->frame;
			return;
		}
		if (h->sp && (h->alt_bytes || pugmark_event_cfa(e) > h->sp) && *hi > by->frame)
			*hi = by->frame;
	}
}
