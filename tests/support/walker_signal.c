// SPDX-License-Identifier: LGPL-2.1-or-later
/* walker_signal.c: signals, as the kernel delivers them: with an event, or, as in recordings from
 * before there were any, with the frame on the stack alone. */
#include "tests/support/walker_impl.h"

/* Writes the frame that the kernel makes for a handler, see rt_sigframe in the kernel's
 * arch/x86/include/asm/sigframe.h, from @at upwards. */
static void write_signal_frame(struct walker *w, uint64_t at, uint64_t sp, uint64_t ip, uint64_t bp)
{
	walker_store(w, at, TRAMPOLINE);
	walker_store(w, at + 8, 7);
	walker_store(w, at + 16, 0);
	for (int i = 3; i < 21; i++)
		walker_store(w, at + 8 * i, random_next(&w->rng));
	walker_store(w, at + 128, bp);
	walker_store(w, at + 168, sp);
	walker_store(w, at + 176, ip);
	walker_store(w, at + 184, 0x246);
	walker_store(w, at + 192, 0x002b000000000033);
}

/* What the plan says of the place @ip. */
static const struct pugmark_plan_point *point_of(const struct pugmark_plan *plan, uint64_t ip)
{
	const struct pugmark_plan_point *found = NULL;
	uint32_t lo = 0, hi = plan->n_points;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (plan->text_addr + plan->points[mid].off > ip) {
			hi = mid;
			continue;
		}
		found = &plan->points[mid];
		lo = mid + 1;
	}
	return found;
}

bool walker_frame_told(const struct walker *w, uint64_t ip)
{
	const struct pugmark_plan_point *point = point_of(w->plan, ip - BIAS);
	return point && (point->cfa & 3) != PUGMARK_CFA_UNKNOWN;
}

/* The stack pointer of the topmost frame, as the plan has it, and in *@bp rbp. */
static uint64_t stack_pointer(struct walker *w, uint64_t *bp)
{
	const struct walk_frame *f = &w->stack[w->n - 1];
	*bp = random_next(&w->rng);
	if (f->ip >= FOREIGN)
		return f->sp;
	const struct pugmark_plan_point *point = point_of(w->plan, f->ip - BIAS);
	if (point && (point->cfa & 3) == PUGMARK_CFA_SP)
		return f->cfa - (point->cfa >> 2);
	if (point && (point->cfa & 3) == PUGMARK_CFA_BP)
		*bp = f->cfa - (point->cfa >> 2);
	return f->sp;
}

/* Whether nothing can follow that shows, nor a return: then nothing tells by which of several
 * silent ways a thread came there. */
static bool is_dead_end(const struct walker *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		const struct walk_frame *f = &w->stack[i];
		if (f->func != PUGMARK_NONE && !f->ahead && !w->live[f->block])
			return true;
	}
	return false;
}

/* Where the return address of the innermost call of the program lies, by call frame information.
 * The frame of a handler ends the way up. */
static uint64_t innermost_call(struct walker *w)
{
	if (w->stack[w->n - 1].ip < FOREIGN || !w->temper.unwound)
		return 0;
	for (uint32_t i = w->n; i-- > 0;) {
		const struct walk_frame *f = &w->stack[i];
		if (f->leaf)
			return f->leaf;
		if (f->ret < FOREIGN)
			return f->cfa - 8;
		if (f->ret == TRAMPOLINE)
			return 0;
	}
	return PUGMARK_SIGNAL_NO_CALLER;
}

/* Up to where the stack is read when a signal comes (bpf/signal.h). */
static uint64_t end_of_reading(const struct walker *w, uint64_t sp)
{
	uint64_t known = w->last_cfa + DEEP_MARGIN, near = sp + 8 * DEEP_NEAR_WORDS;
	return w->last_cfa - sp < 8 * DEEP_WORDS && known > near ? known : near;
}

/* Whether there are frames further up than that. */
static bool is_far(const struct walker *w, uint64_t sp)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (w->stack[i].cfa > end_of_reading(w, sp))
			return true;
	return false;
}

/* A signal is delivered: @handler is none if it kills. */
static void signal_event(struct walker *w, uint32_t handler, uint64_t sp, uint64_t bp, bool alt)
{
	struct pugmark_witness_event e = {
		.kind = PUGMARK_EVENT_SIGNAL,
		.time_ns = ++w->time_ns,
		.arm.stop.sp = sp,
		.arm.stop.ip = w->stack[w->n - 1].ip,
		.signal.bp = bp,
		.signal.caller = innermost_call(w),
		.arm.stop.val = handler == PUGMARK_NONE ? 0 : BIAS + walker_func_addr(w, handler),
		.signal.alt = alt ? ALT_TOP - 8 * ALT_WORDS : 0,
		.signal.alt_bytes = alt ? 8 * ALT_WORDS : 0,
	};
	walker_snapshot(w, &e, sp, end_of_reading(w, sp), 0);
	if (is_far(w, sp))
		walker_blind(w);
	PUSH(w->walk->events, w->walk->n_events, w->walk->cap_events, e);
	w->walk->decided = w->walk->n_steps;
}

/* Now and then a signal comes. */
enum outcome walker_maybe_signal(struct walker *w)
{
	if (!w->temper.signal || random_below(&w->rng, 10000) >= w->temper.signal ||
	    w->handlers > 2 || walker_full(w) || is_dead_end(w))
		return RETURNED;
	uint32_t handler = walker_pick_entered(w);
	bool unseen = !w->temper.told && w->steps >= w->limit; /* it ends before that shows */
	if (handler == PUGMARK_NONE || unseen)
		return RETURNED;
	uint64_t bp, sp = stack_pointer(w, &bp), under = sp - 128;
	bool alt = w->temper.alt_stack && under >= STACK_TOP - 8ull * STACK_WORDS;
	if (walker_off_stack(under))
		return RETURNED;
	if (w->temper.told)
		signal_event(w, handler, sp, bp, alt);
	else /* by the stack that the handler's entry shows, where it is on the same */
		walker_blind(w);
	w->walk->n_handlers++;
	if (alt)
		under = ALT_TOP;
	uint64_t at = (under - 1400 - 64 * random_below(&w->rng, 20)) & ~(uint64_t)63;
	write_signal_frame(w, at, sp, w->stack[w->n - 1].ip, bp);
	w->handlers++;
	walker_step(w, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_SIGNAL, walker_func_addr(w, handler), 0);
	enum outcome out = walker_call_function(w, handler, at + 8, TRAMPOLINE);
	w->handlers--;
	w->returned = w->walk->n_steps;
	return out;
}

/* Whether it is at the instruction of its last event: a thread that is killed there may be one that
 * has come back to it, or one that was behind it, which nothing tells apart. */
static bool is_at_last_event(const struct walker *w)
{
	const struct walk *walk = w->walk;
	const struct pugmark_witness_event *last =
		walk->n_events ? &walk->events[walk->n_events - 1] : NULL;
	return last && last->kind == PUGMARK_EVENT_WITNESS &&
	       w->plan->sites[last->site].addr + BIAS == w->stack[w->n - 1].ip;
}

void walker_die(struct walker *w)
{
	uint64_t bp, sp = stack_pointer(w, &bp);
	if (w->temper.told && !is_dead_end(w) && !is_at_last_event(w))
		signal_event(w, PUGMARK_NONE, sp, bp, false);
}
