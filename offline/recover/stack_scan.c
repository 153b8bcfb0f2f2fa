// SPDX-License-Identifier: LGPL-2.1-or-later
/* stack_scan.c: reads stack snapshots. A snapshot holds the words from the event's frame upwards:
 * return addresses of calls in progress, and whatever earlier calls have left there. What tells
 * them apart is that calls in progress form a chain: each call's frame has a known height, and
 * ends at the return address of its caller, up to a frame that is open. */
#include "offline/recover/stack_scan.h"

#include "offline/recover/stack_chain.h"

#include <string.h>

#define TAIL_FUNCS_MAX 64 /* functions that one frame can be by tail jumps */

bool stack_word(const struct pugmark_witness_event *e, uint64_t addr, uint64_t *word)
{
	uint64_t i = (addr - e->stack_addr) / 8;
	if (!e->stack || addr < e->stack_addr || i >= e->stack_words ||
	    e->stack[i] == PUGMARK_EVENT_STACK_UNKNOWN)
		return false;
	*word = e->stack[i];
	return true;
}

bool stack_word_below(const struct pugmark_witness_event *e, uint64_t addr)
{
	return e->stack && addr >= e->stack_addr && (addr - e->stack_addr) / 8 < e->stack_words;
}

/* struct rt_sigframe of the kernel's arch/x86: the return address (to the trampoline), then a
 * struct ucontext: flags, link, stack (24 bytes), 18 registers, cs and ss. */
bool stack_signal(const struct pugmark_witness_event *e, uint64_t *sp, uint64_t *ip, uint64_t *bp)
{
	uint64_t at = e->cfa - 8, flags, link, eflags, segments, found[3];
	if (!stack_word(e, at + 8, &flags) || !stack_word(e, at + 16, &link) ||
	    !stack_word(e, at + 128, &found[0]) || !stack_word(e, at + 168, &found[1]) ||
	    !stack_word(e, at + 176, &found[2]) || !stack_word(e, at + 184, &eflags) ||
	    !stack_word(e, at + 192, &segments))
		return false;
	uint16_t cs = segments, ss = segments >> 48;
	if (flags >> 3 || link || cs != 0x33 || ss != 0x2b || !(eflags & 2) || eflags >> 22)
		return false;
	*bp = found[0];
	*sp = found[1];
	*ip = found[2];
	return true;
}

bool stack_handler_runs(const struct pugmark_witness_event *e, uint64_t sp, uint64_t ip)
{
	for (uint32_t i = 0; e->stack && i + 25 <= e->stack_words; i++) {
		const uint64_t *frame = e->stack + i; /* its return address */
		if (frame[21] != sp || e->stack_addr + 8 * i + 8 < e->cfa)
			continue;
		/* What only looks like it has lost its ip, where call frame information leads on.
		 */
		uint16_t cs = frame[24], ss = frame[24] >> 48;
		if (frame[2] == PUGMARK_EVENT_STACK_HANDLER ||
		    (!frame[2] && frame[22] == ip && cs == 0x33 && ss == 0x2b))
			return true;
	}
	return false;
}

/* Whether a word of a snapshot that is not known cannot be @addr: then it would be told. With
 * several modules it is not known in which one an address has to be for that. */
static bool would_be_told(const struct parser *p, uint64_t addr)
{
	uint64_t bias;
	return p->n_modules == 1 && module_bias(p, 0, &bias) &&
	       addr - bias >= p->plans[0]->text_addr && addr - bias < p->plans[0]->text_end;
}

bool stack_slot_holds(const struct parser *p, const struct pugmark_witness_event *e, uint64_t cfa,
		      uint64_t ret)
{
	uint64_t word;
	if (!cfa || !ret || !stack_word_below(e, cfa - 8))
		return true;
	return stack_word(e, cfa - 8, &word) ? word == ret : !would_be_told(p, ret);
}

/* Whether frame @i has been reported, but was not called yet when a handler came. */
static bool is_ahead(const struct parser *p, uint32_t i)
{
	for (uint32_t h = 0; h < p->n_handlers; h++)
		if (p->handlers[h].ahead && p->handlers[h].frame == i + 1)
			return true;
	return false;
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

/* Whether, where frame @i was called back, the call of ours that it came through is where it was. A
 * frame that returned is not: the next call made from there has overwritten it. */
static bool call_intact(const struct parser *p, const struct pugmark_witness_event *e, uint32_t i)
{
	if (!i || p->stack[i].boundary != BELOW_CALLBACK)
		return true;
	const struct pugmark_plan_node *n =
		node_at(p, p->stack[i - 1].module, p->stack[i - 1].node);
	return n->flags & PUGMARK_NODE_TAIL ||
	       stack_slot_holds(p, e, stack_callee_cfa(p, i - 1),
				return_address(p, p->stack[i - 1].module, n));
}

bool stack_frames_intact(const struct parser *p, const struct pugmark_witness_event *e,
			 uint32_t level)
{
	for (uint32_t i = level + 1; i-- > 0;) {
		const struct frame *f = &p->stack[i];
		/* Not called yet, as long as the handler that came before runs. */
		bool ahead = i < level && is_ahead(p, i);
		if (!ahead && (!stack_slot_holds(p, e, f->cfa, f->ret) || !call_intact(p, e, i)))
			return false;
		if (f->cfa && !stack_word_below(e, f->cfa - 8))
			break;
	}
	return true;
}

/* Whether frame @i and what it came through are where they were. */
static bool frame_intact(const struct parser *p, const struct pugmark_witness_event *e,
			 uint64_t above, uint32_t i)
{
	const struct frame *f = &p->stack[i];
	return !(f->cfa && f->cfa <= above) && stack_slot_holds(p, e, f->cfa, f->ret) &&
	       chain_supports(p, e, i) && call_intact(p, e, i);
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
	return p->stack[i].cfa > e->cfa && stack_word(e, p->stack[i].cfa - 8, &word);
}

/* Whether the handler whose first frame is @i runs on a stack of its own, and the event is not on
 * that one but on the stack of what it interrupted. */
static bool on_stack_below(const struct parser *p, const struct pugmark_witness_event *e,
			   uint32_t i)
{
	if (stack_covers(p, e, i))
		return false;
	while (i-- > 0)
		if (stack_covers(p, e, i))
			return true;
	return false;
}

uint32_t stack_live_frames(const struct parser *p, const struct pugmark_witness_event *e,
			   uint64_t above, uint32_t end)
{
	uint32_t live = 0;
	while (end) {
		/* A handler's frames are on top of frames that may have returned unseen before it
		 * came: they are looked at only if the handler has returned. */
		uint32_t begin = end;
		while (begin && p->stack[begin - 1].boundary != BELOW_HANDLER)
			begin--;
		if (begin)
			begin--;
		live = begin;
		bool handler = p->stack[begin].boundary == BELOW_HANDLER;
		if (!handler || !on_stack_below(p, e, begin))
			while (live < end && frame_intact(p, e, above, live))
				live++;
		if (live > begin)
			break;
		end = live = begin;
	}
	return live;
}

/* Whether an activation that began in @from can be in @func, or for PUGMARK_NONE out of the module,
 * by tail jumps that show nothing. */
static bool reaches_by_jumps(const struct pugmark_plan *plan, uint32_t from, uint32_t func)
{
	uint32_t seen[TAIL_FUNCS_MAX], n = 0;
	seen[n++] = from;
	for (uint32_t i = 0; i < n; i++) {
		if (seen[i] == func)
			return true;
		const struct pugmark_plan_func *f = &plan->funcs[seen[i]];
		for (uint32_t k = f->node; k < f->node + f->n_nodes && n < TAIL_FUNCS_MAX; k++) {
			const struct pugmark_plan_node *node = &plan->nodes[k];
			if (!(node->flags & PUGMARK_NODE_TAIL))
				continue;
			if (node->kind != PUGMARK_NODE_KIND_CALL) {
				if (func == PUGMARK_NONE)
					return true;
				continue;
			}
			uint32_t j = 0;
			while (j < n && seen[j] != node->callee)
				j++;
			if (j == n)
				seen[n++] = node->callee;
		}
	}
	return false;
}

bool stack_jumps_to(const struct pugmark_plan *plan, uint32_t from, uint32_t func)
{
	return reaches_by_jumps(plan, from, func);
}

bool stack_jumps_out(const struct pugmark_plan *plan, uint32_t from)
{
	return reaches_by_jumps(plan, from, PUGMARK_NONE);
}

/* Whether what call @call of @module enters can be in @func of module @in: through another module
 * anything can be reached. */
static bool call_leads_to(const struct parser *p, uint16_t module,
			  const struct pugmark_plan_node *call, uint16_t in, uint32_t func)
{
	if (call->kind == PUGMARK_NODE_KIND_CALL)
		return module == in && stack_jumps_to(p->plans[in], call->callee, func);
	return call->kind == PUGMARK_NODE_KIND_UNKNOWN;
}

bool stack_frame_in(const struct parser *p, uint32_t level, uint16_t module, uint32_t func)
{
	const struct frame *f = &p->stack[level];
	if (f->module == module && stack_jumps_to(p->plans[module], f->func, func))
		return true;
	if (f->boundary != BELOW_CALL || !level)
		return false;
	const struct pugmark_plan_node *call =
		node_at(p, p->stack[level - 1].module, p->stack[level - 1].node);
	return call->kind == PUGMARK_NODE_KIND_CALL &&
	       call_leads_to(p, p->stack[level - 1].module, call, module, func);
}

bool stack_open_frame_at(const struct parser *p, const struct pugmark_witness_event *e,
			 uint64_t cfa, uint32_t *level)
{
	for (uint32_t i = p->n; i-- > 0;)
		if (p->stack[i].cfa == cfa && stack_frames_intact(p, e, i)) {
			*level = i;
			return true;
		}
	return false;
}

int stack_chain(const struct parser *p, const struct pugmark_witness_event *e, uint32_t func,
		struct stack_link *links, int max, uint32_t *level)
{
	uint64_t cfa = e->cfa, word;
	uint16_t module = e->module;
	for (int n = 0; n <= max; n++) {
		uint16_t from;
		if (stack_open_frame_at(p, e, cfa, level))
			return stack_frame_in(p, *level, module, func) ? n : -1;
		if (n == max || !stack_word(e, cfa - 8, &word))
			return -1;
		uint32_t node = parser_call_before(p, module, word, &from);
		if (node == PUGMARK_NONE)
			return -1;
		const struct pugmark_plan_node *call = node_at(p, from, node);
		if (call->height == PUGMARK_HEIGHT_UNKNOWN ||
		    !call_leads_to(p, from, call, module, func))
			return -1;
		cfa += call->height;
		func = call->func;
		module = from;
		links[n] = (struct stack_link){module, node, cfa};
	}
	return -1;
}
