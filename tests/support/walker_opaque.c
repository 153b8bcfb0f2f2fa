// SPDX-License-Identifier: LGPL-2.1-or-later
/* walker_opaque.c: runs functions of the program that are out of scope. Nothing of them shows, but
 * their frames lie on the stack, and what they call may be traced again. */
#include "tests/support/walker_impl.h"

static enum outcome run_opaque(struct walker *w, uint32_t func);

bool walker_is_opaque(const struct walker *w, uint32_t func)
{
	return func != PUGMARK_NONE && w->prog->funcs[func].flags & PROG_OPAQUE;
}

bool walker_returns_to_opaque(const struct walker *w, uint64_t ret)
{
	uint32_t lo = 0, hi = ret < FOREIGN ? w->prog->n_funcs : 0;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (BIAS + w->prog->funcs[mid].addr < ret)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && walker_is_opaque(w, lo - 1);
}

/* Enters @func, traced or not, from code that is not traced. */
enum outcome walker_enter_from_outside(struct walker *w, uint32_t func, uint64_t cfa, uint64_t ret)
{
	if (walker_is_opaque(w, func))
		return walker_call_opaque(w, func, cfa, ret);
	walker_step(w, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_CALLBACK, walker_func_addr(w, func), 0);
	return walker_call_function(w, func, cfa, ret);
}

enum outcome walker_call_opaque(struct walker *w, uint32_t func, uint64_t cfa, uint64_t ret)
{
	uint32_t depth = w->n;
	if (walker_full(w))
		return OVER;
	walker_push_frame(w, PUGMARK_NONE, cfa, ret);
	enum outcome out = run_opaque(w, func);
	if (out == RETURNED)
		w->n = depth;
	return out;
}

/* The topmost frame, whose code is not traced, becomes that of @func. */
enum outcome walker_become(struct walker *w, uint32_t func)
{
	struct walk *walk = w->walk;
	if (walker_is_opaque(w, func))
		return run_opaque(w, func);
	/* Nothing has shown since a call that could have gone here itself. */
	uint64_t ret = w->stack[w->n - 1].ret;
	bool direct = w->nameless == walk->n_steps && walk->decided < walk->n_steps &&
		      ret < FOREIGN && !walker_returns_to_opaque(w, ret);
	if (direct)
		walk->steps[walk->n_steps - 1].target = walker_func_addr(w, func);
	else
		walker_step(w, PUGMARK_TRACE_ENTER,
			    w->n == 1 ? PUGMARK_CAUSE_THREAD : PUGMARK_CAUSE_CALLBACK,
			    walker_func_addr(w, func), 0);
	w->stack[w->n - 1].func = func;
	w->stack[w->n - 1].opaque = false;
	return walker_run_frame(w, w->prog->funcs[func].block);
}

/* Where the call of @block goes: PUGMARK_NONE: to foreign code. */
static uint32_t pick_callee(struct walker *w, const struct prog_block *b)
{
	if (b->call == CALL_DIRECT || b->flags & PROG_TO_OPAQUE)
		return b->callee;
	bool into = b->call == CALL_UNKNOWN && b->flags & PROG_INDIRECT &&
		    !(b->flags & PROG_NORETURN) && random_chance(&w->rng, w->temper.into_program);
	return into ? walker_pick_callee(w) : PUGMARK_NONE;
}

static enum outcome make_opaque_call(struct walker *w, const struct prog_block *b)
{
	bool known = b->height != PUGMARK_HEIGHT_UNKNOWN, tail = b->flags & PROG_TAIL;
	bool returns = !(b->flags & PROG_NORETURN);
	uint64_t ret = BIAS + prog_call_addr(b) + b->call_len;
	uint64_t cfa =
		w->stack[w->n - 1].cfa -
		(known ? b->height : LEAST_HEIGHT + 8 * (int)random_below(&w->rng, SAVED_WORDS));
	if (walker_off_stack(cfa))
		return OVER;
	uint32_t callee = pick_callee(w, b);
	if (!tail)
		walker_grow_frame(w, cfa);
	if (callee != PUGMARK_NONE)
		return tail ? walker_become(w, callee)
			    : walker_enter_from_outside(w, callee, cfa, ret);
	if (b->call != CALL_LEAF)
		return tail ? walker_run_foreign(w, returns)
			    : walker_call_foreign(w, cfa, ret, returns);
	if (!returns)
		return OVER;
	return RETURNED;
}

/* Runs @func in the topmost frame. */
static enum outcome run_opaque(struct walker *w, uint32_t func)
{
	uint32_t me = w->n - 1, block = w->prog->funcs[func].block;
	w->stack[me].opaque = true;
	for (;;) {
		const struct prog_block *b = &w->prog->blocks[block];
		w->stack[me].ip = BIAS + b->addr;
		w->stack[me].sp = w->stack[me].cfa - 8;
		if (w->steps++ >= w->limit) {
			if (!(b->flags & PROG_VIRTUAL))
				walker_die(w);
			return OVER;
		}
		enum outcome out = b->flags & PROG_VIRTUAL ? RETURNED : walker_maybe_signal(w);
		if (out == RETURNED && b->call != CALL_NONE)
			out = make_opaque_call(w, b);
		if (out != RETURNED || b->flags & (PROG_RET | PROG_TAIL))
			return out;
		if (!b->n_succ)
			return OVER;
		block = prog_succs(w->prog, block)[random_below(&w->rng, b->n_succ)];
	}
}
