// SPDX-License-Identifier: LGPL-2.1-or-later
/* walker_foreign.c: what lies beyond the program, at random: code that calls back, throws, or ends
 * the thread, and signal handlers. */
#include "tests/support/walker_impl.h"

enum outcome walker_call_foreign(struct walker *w, uint64_t cfa, uint64_t ret, bool returns)
{
	uint32_t depth = w->n;
	if (walker_full(w))
		return OVER;
	walker_push_frame(w, PUGMARK_NONE, cfa, ret);
	enum outcome out = walker_run_foreign(w, returns);
	if (out == RETURNED)
		w->n = depth;
	return out;
}

#define LEADS_MAX 64

/* Whether silence may lead from @block to @next: then nothing would tell it from a landing there.
 */
static bool leads_to(const struct walker *w, uint32_t block, uint32_t next)
{
	uint32_t seen[LEADS_MAX] = {block}, n = 1;
	if (block == next) /* a signal came before its witness */
		return true;
	for (uint32_t k = 0; k < n; k++) {
		const struct prog_block *b = &w->prog->blocks[seen[k]];
		for (uint32_t i = 0; i < b->n_succ; i++) {
			uint32_t to = prog_succs(w->prog, seen[k])[i], j = 0;
			if (to == next)
				return true;
			while (j < n && seen[j] != to)
				j++;
			if (j == n && n < LEADS_MAX && !w->choice->marks[to])
				seen[n++] = to;
		}
	}
	return false;
}

/* Where a throw can land in @frame: a landing pad, or where a setjmp returned that is done. */
uint32_t walker_landing_block(struct walker *w, const struct walk_frame *frame)
{
	const struct prog_func *f = &w->prog->funcs[frame->func];
	uint32_t start = random_below(&w->rng, f->n_blocks);
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		uint32_t b = f->block + (start + i) % f->n_blocks;
		if (w->prog->blocks[b].flags & PROG_ROOT && w->choice->marks[b] &&
		    !leads_to(w, frame->block, b))
			return b;
	}
	return PUGMARK_NONE;
}

/* Whether the innermost call of the program's is into what is out of scope, which may return. */
static bool out_of_scope(const struct walker *w)
{
	for (uint32_t i = w->n; i-- > 0 && w->stack[i].func == PUGMARK_NONE;)
		if (w->stack[i].opaque)
			return true;
	return false;
}

/* Unwinds to the first @n frames. @surely: out of a call that does not return, so that, if nothing
 * else ran since the last event, all is known. */
static void unwind(struct walker *w, uint32_t n, bool surely)
{
	struct walk_throw t = {
		.first = w->walk->decided,
		.event = w->walk->n_events,
	};
	uint32_t since = w->walk->n_steps - t.first;
	/* A handler that has returned in silence might have thrown. */
	surely = surely && since <= 1 && w->returned <= t.first;
	surely = surely && !out_of_scope(w);
	while (w->n > n) {
		const struct walk_frame *f = &w->stack[w->n - 1];
		if (f->func != PUGMARK_NONE)
			walker_step(w, PUGMARK_TRACE_UNWIND, 0, walker_func_addr(w, f->func), 0);
		w->n--;
	}
	t.resume = w->walk->n_steps;
	if (!surely)
		PUSH(w->walk->throws, w->walk->n_throws, w->walk->cap_throws, t);
}

/* Throws to some frame that has a landing pad; OVER where there is none. */
enum outcome walker_throw_up(struct walker *w, bool surely)
{
	uint32_t survivor = PUGMARK_NONE;
	for (int i = 0; i < 20 && survivor == PUGMARK_NONE; i++) {
		uint32_t k = random_below(&w->rng, w->n);
		if (w->stack[k].func != PUGMARK_NONE && !w->stack[k].ahead &&
		    walker_landing_block(w, &w->stack[k]) != PUGMARK_NONE)
			survivor = k;
	}
	if (survivor == PUGMARK_NONE)
		return OVER;
	unwind(w, survivor + 1, surely);
	w->survivor = survivor;
	return THROWN;
}

/* The thread ends from within: every frame is left. */
static enum outcome exit_thread(struct walker *w, bool surely)
{
	unwind(w, 0, surely);
	w->survivor = PUGMARK_NONE;
	return THROWN;
}

void walker_fill_foreign(struct walker *w, uint64_t below, uint64_t top)
{
	for (uint64_t at = below; at < top; at += 8)
		if (!w->temper.untidy || random_chance(&w->rng, 50))
			walker_store(w, at, random_next(&w->rng));
}

/* The topmost frame is foreign and runs. */
enum outcome walker_run_foreign(struct walker *w, bool returns)
{
	uint32_t me = w->n - 1;
	uint64_t below = w->stack[me].cfa - 16 - 8 * random_below(&w->rng, 64);
	walker_fill_foreign(w, below, w->stack[me].cfa - 8);
	w->stack[me].sp = below;
	w->stack[me].ip = FOREIGN + 32;
	uint32_t began = w->walk->n_steps;
	while (random_chance(&w->rng, w->temper.callback)) {
		uint32_t callee = walker_pick_entered(w);
		enum outcome out = walker_maybe_signal(w);
		if (callee == PUGMARK_NONE)
			break;
		/* The same call may enter the program, or more foreign code that does. */
		if (out == RETURNED && w->n < 40 && random_chance(&w->rng, 15)) {
			out = walker_call_foreign(w, below, FOREIGN + 8, true);
		} else if (out == RETURNED) {
			walker_step(w, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_CALLBACK,
				    walker_func_addr(w, callee), 0);
			out = walker_call_function(w, callee, below, FOREIGN + 8);
		}
		if (out != RETURNED)
			return out;
		if (random_chance(&w->rng, 30)) {
			uint64_t inner = below - 8; /* a call of its own */
			walker_store(w, inner, FOREIGN + 16);
			below = inner - 8 * random_below(&w->rng, 8);
			walker_fill_foreign(w, below, inner);
			w->stack[me].sp = below;
		}
	}
	if (returns)
		return random_chance(&w->rng, w->temper.throws) ? walker_throw_up(w, false)
								: RETURNED;
	if (random_chance(&w->rng, 10) && !out_of_scope(w))
		return exit_thread(w, began == w->walk->n_steps);
	return walker_throw_up(w, began == w->walk->n_steps);
}
