// SPDX-License-Identifier: LGPL-2.1-or-later
/* walker_code.c: runs code of the program: blocks, marks, calls. */
#include "tests/support/walker_impl.h"

void walker_grow_frame(struct walker *w, uint64_t sp)
{
	for (uint64_t at = sp; at < w->stack[w->n - 1].cfa - 8; at += 8)
		if (!w->temper.untidy || random_chance(&w->rng, 50))
			walker_store(w, at, random_next(&w->rng));
}

enum outcome walker_call_function(struct walker *w, uint32_t func, uint64_t cfa, uint64_t ret)
{
	uint32_t depth = w->n;
	if (walker_full(w))
		return OVER;
	walker_push_frame(w, func, cfa, ret);
	enum outcome out = walker_run_frame(w, w->prog->funcs[func].block);
	if (out == RETURNED)
		w->n = depth;
	return out;
}

/* A signal may come between a witness in @block and its call, which is taken to come after it: a
 * block that shows is reported whole. But for a call that says with its callee's entry alone where
 * it goes. */
static enum outcome before_call(struct walker *w, uint32_t block)
{
	const struct prog_block *b = &w->prog->blocks[block];
	if (w->choice->marks[block] != MARK_BLOCK ||
	    prog_probe_addr(w->prog, &b->any) == prog_call_addr(b))
		return RETURNED; /* a probed call is made with its event */
	w->stack[w->n - 1].ip = BIAS + prog_call_addr(b);
	return walker_maybe_signal(w);
}

static enum outcome make_call(struct walker *w, uint32_t block, uint8_t kind, uint32_t callee)
{
	const struct prog_block *b = &w->prog->blocks[block];
	bool later = b->call == CALL_UNKNOWN;
	bool told = w->told || b->flags & PROG_TO_OPAQUE || w->choice->marks[block] == MARK_TARGET;
	w->told = false;
	enum outcome out = later ? before_call(w, block) : RETURNED;
	if (out != RETURNED)
		return out;
	walker_step(w, kind, 0, prog_call_addr(b), walker_func_addr(w, callee));
	if (walker_is_opaque(w, callee))
		callee = PUGMARK_NONE;
	w->nameless = later && !told ? w->walk->n_steps : PUGMARK_NONE;
	if (kind == PUGMARK_TRACE_TAIL)
		w->stack[w->n - 1].func = callee;
	if (later)
		return RETURNED;
	if (kind == PUGMARK_TRACE_TAIL || callee == PUGMARK_NONE || walker_full(w))
		return before_call(w, block);
	/* It is reported already, and would be left like a frame that is open. */
	uint32_t depth = w->n;
	w->stack[w->n] = w->stack[w->n - 1];
	w->stack[w->n].func = callee;
	w->stack[w->n++].ahead = true;
	out = before_call(w, block);
	if (out == RETURNED)
		w->n = depth;
	return out;
}

/* A call through a register or into another module. */
static enum outcome call_unknown(struct walker *w, uint32_t block, uint64_t callee_cfa,
				 uint32_t callee)
{
	const struct prog_block *b = &w->prog->blocks[block];
	uint64_t ret = BIAS + prog_call_addr(b) + b->call_len;
	enum outcome out = make_call(w, block, PUGMARK_TRACE_CALL, callee);
	if (out != RETURNED)
		return out;
	if (walker_is_opaque(w, callee))
		out = walker_call_opaque(w, callee, callee_cfa, ret);
	else if (callee != PUGMARK_NONE)
		out = walker_call_function(w, callee, callee_cfa, ret);
	else
		out = walker_call_foreign(w, callee_cfa, ret, !(b->flags & PROG_NORETURN));
	w->nameless = PUGMARK_NONE;
	return out;
}

/* The frame of @block's function becomes that of @callee. */
static enum outcome jump_to(struct walker *w, uint32_t block, uint32_t callee)
{
	const struct prog_block *b = &w->prog->blocks[block];
	bool opaque = walker_is_opaque(w, callee);
	bool ends = (callee == PUGMARK_NONE || opaque) && w->stack[w->n - 1].ret == TRAMPOLINE;
	uint32_t chance = w->temper.signal;
	if (ends)
		w->temper.signal = 0;
	enum outcome out = make_call(w, block, PUGMARK_TRACE_TAIL, callee);
	w->temper.signal = chance;
	/* Were a handler called back or interrupted after it has jumped out, nothing in a trace
	 * would say whether it is still the handler that runs. */
	if (out != RETURNED || ends) {
		w->nameless = PUGMARK_NONE;
		return out == RETURNED && b->flags & PROG_NORETURN ? OVER : out;
	}
	if (opaque)
		out = walker_become(w, callee);
	else if (callee != PUGMARK_NONE)
		out = walker_run_frame(w, w->prog->funcs[callee].block);
	else if (b->call == CALL_LEAF)
		out = b->flags & PROG_NORETURN ? OVER : RETURNED;
	else
		out = walker_run_foreign(w, !(b->flags & PROG_NORETURN));
	w->nameless = PUGMARK_NONE;
	return out;
}

static enum outcome tail_call(struct walker *w, uint32_t block)
{
	const struct prog_block *b = &w->prog->blocks[block];
	bool named = b->call == CALL_DIRECT || b->flags & PROG_TO_OPAQUE;
	uint32_t callee = named ? b->callee : PUGMARK_NONE;
	if (w->target_told)
		callee = w->target;
	else if (b->call == CALL_UNKNOWN && b->flags & PROG_INDIRECT && random_chance(&w->rng, 50))
		callee = walker_pick_callee(w);
	w->told = w->target_told;
	w->target_told = false;
	return jump_to(w, block, callee);
}

/* A call or jump at the end of @block whose probe reads the target: which function, if any. Where
 * it can go to a function's first block, that is no call. */
static uint32_t tell_target(struct walker *w, uint32_t block)
{
	const struct prog_block *b = &w->prog->blocks[block];
	uint32_t callee = random_chance(&w->rng, w->temper.into_program) ? walker_pick_callee(w)
									 : PUGMARK_NONE;
	for (uint32_t i = 0; i < b->n_succ && callee != PUGMARK_NONE; i++)
		if (prog_succs(w->prog, block)[i] == w->prog->funcs[callee].block)
			callee = PUGMARK_NONE;
	walker_event(w, block,
		     callee == PUGMARK_NONE ? FOREIGN + 64 : BIAS + w->prog->funcs[callee].addr, 0);
	return callee;
}

static enum outcome call_by_target(struct walker *w, uint32_t block, uint64_t callee_cfa)
{
	const struct prog_block *b = &w->prog->blocks[block];
	uint32_t callee = tell_target(w, block);
	return b->flags & PROG_TAIL ? jump_to(w, block, callee)
				    : call_unknown(w, block, callee_cfa, callee);
}

/* Into a module that does not come back but by returning, or by a throw. */
static enum outcome call_leaf(struct walker *w, uint32_t block, uint64_t callee_cfa, uint64_t ret)
{
	uint32_t me = w->n - 1;
	walker_store(w, callee_cfa - 8, ret);
	w->stack[me].sp = callee_cfa - 8 - 8 * random_below(&w->rng, 32);
	walker_fill_foreign(w, w->stack[me].sp, callee_cfa - 8);
	w->stack[me].ip = FOREIGN + 32;
	w->stack[me].leaf = callee_cfa - 8;
	enum outcome out = walker_maybe_signal(w);
	w->stack[me].leaf = 0;
	w->stack[me].sp = w->stack[me].cfa - 8;
	if (out != RETURNED)
		return out;
	if (w->prog->blocks[block].flags & PROG_NORETURN)
		return random_chance(&w->rng, 50) ? walker_throw_up(w, true) : OVER;
	return random_chance(&w->rng, w->temper.throws) ? walker_throw_up(w, false) : RETURNED;
}

static enum outcome do_call(struct walker *w, uint32_t block)
{
	const struct prog_block *b = &w->prog->blocks[block];
	struct walk_frame *f = &w->stack[w->n - 1];
	bool known = b->height != PUGMARK_HEIGHT_UNKNOWN;
	uint64_t callee_cfa =
		f->cfa -
		(known ? b->height : LEAST_HEIGHT + 8 * (int)random_below(&w->rng, SAVED_WORDS));
	if (walker_off_stack(callee_cfa))
		return OVER;
	walker_grow_frame(w, callee_cfa);
	if (w->choice->marks[block] == MARK_TARGET)
		return call_by_target(w, block, callee_cfa);
	if (w->choice->marks[block] == MARK_LAST) {
		bool callee = b->call != CALL_LEAF && !known && !(b->flags & PROG_TAIL);
		walker_event(w, block, 0, callee ? callee_cfa : 0);
	}
	if (b->flags & PROG_TAIL)
		return tail_call(w, block);
	uint32_t callee = b->call == CALL_DIRECT ? b->callee : PUGMARK_NONE;
	if (b->flags & PROG_TO_OPAQUE)
		return call_unknown(w, block, callee_cfa, b->callee);
	if (b->call == CALL_UNKNOWN) {
		/* A call by an import's name does not reach a function of another name. */
		bool anywhere = b->flags & PROG_INDIRECT || b->site == PUGMARK_NONE;
		if (!(b->flags & PROG_NORETURN) && random_chance(&w->rng, w->temper.into_program) &&
		    anywhere)
			callee = walker_pick_callee(w);
		return call_unknown(w, block, callee_cfa, callee);
	}
	enum outcome out = make_call(w, block, PUGMARK_TRACE_CALL, callee);
	if (out != RETURNED)
		return out;
	uint64_t ret = BIAS + prog_call_addr(b) + b->call_len;
	if (b->call == CALL_DIRECT)
		return walker_call_function(w, callee, callee_cfa, ret);
	return call_leaf(w, block, callee_cfa, ret);
}

/* Where the frame @me goes on after what its block did came out as @out. */
static bool lands_here(struct walker *w, enum outcome out, uint32_t me, uint32_t *block)
{
	if (out != THROWN || w->survivor != me)
		return false;
	*block = walker_landing_block(w, &w->stack[me]);
	return w->again = true;
}

/* What the end of @block does with the marks there; the block that follows, or NONE. */
static uint32_t go_on(struct walker *w, uint32_t block)
{
	const struct prog_block *b = &w->prog->blocks[block];
	if (!b->n_succ)
		return PUGMARK_NONE;
	uint32_t way = random_below(&w->rng, b->n_succ);
	uint32_t next = prog_succs(w->prog, block)[way];
	if (w->choice->marks[block] == MARK_BRANCH)
		walker_event(w, block, way, 0);
	const struct prog_block *to = &w->prog->blocks[next];
	if (w->choice->marks[block] != MARK_TARGET)
		return next;
	w->target_told = to->flags & PROG_VIRTUAL && to->call == CALL_UNKNOWN;
	if (w->target_told)
		w->target = tell_target(w, block);
	else
		walker_event(w, block, BIAS + to->addr, 0);
	return next;
}

/* Not the way of a jump that leaves the function, nor the second half of a block that was split
 * before its call. */
static bool shows_block(const struct walker *w, uint32_t block)
{
	const struct prog_block *b = &w->prog->blocks[block];
	const struct prog_func *f = &w->prog->funcs[b->func];
	bool half = block > f->block && b->origin != PUGMARK_NONE && b[-1].origin == b->origin;
	return f->flags & PROG_PATHS && !(b->flags & PROG_VIRTUAL) && !half;
}

enum outcome walker_run_frame(struct walker *w, uint32_t block)
{
	uint32_t me = w->n - 1;
	bool begun = !(w->prog->funcs[w->stack[me].func].flags & PROG_ENTRY_WITNESS);
	uint64_t ret = w->stack[me].ret;
	if (ret < FOREIGN && !walker_returns_to_opaque(w, ret)) /* the stack says that it was */
		begun = true;
	if (ret == TRAMPOLINE && w->temper.told && /* so does the signal's event */
	    walker_frame_told(w, BIAS + w->prog->blocks[block].addr))
		begun = true;
	for (;;) {
		const struct prog_block *b = &w->prog->blocks[block];
		uint8_t mark = w->choice->marks[block];
		w->stack[me].ip = BIAS + b->addr;
		w->stack[me].block = block;
		if (w->steps++ >= w->limit && !w->target_told) {
			if (begun && !(b->flags & PROG_VIRTUAL))
				walker_die(w);
			return OVER;
		}
		/* What is interrupted before the witness that says that it was entered, or landed
		 * in, is so after it. */
		bool there = begun && !(b->flags & PROG_VIRTUAL);
		enum outcome out = there ? walker_maybe_signal(w) : RETURNED;
		begun = !lands_here(w, out, me, &block);
		if (!begun)
			continue;
		if (out != RETURNED)
			return out;
		if (shows_block(w, block))
			walker_step(w, PUGMARK_TRACE_BLOCK, 0, b->addr, 0);
		if (mark == MARK_BLOCK)
			walker_event(w, block, 0, 0);
		if (b->call != CALL_NONE) {
			out = do_call(w, block);
			if (b->flags & PROG_TAIL && out == RETURNED)
				return out;
		}
		/* A jump that left the function has left its landing pads as well. */
		begun = !lands_here(w, out, me, &block);
		if (!begun)
			continue;
		if (out != RETURNED)
			return out;
		if (b->flags & PROG_RET) {
			if (mark == MARK_LAST)
				walker_event(w, block, 0, 0);
			walker_step(w, PUGMARK_TRACE_RET, 0, walker_func_addr(w, w->stack[me].func),
				    0);
			return RETURNED;
		}
		block = go_on(w, block);
		if (block == PUGMARK_NONE)
			return OVER;
	}
}
