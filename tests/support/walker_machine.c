// SPDX-License-Identifier: LGPL-2.1-or-later
/* walker_machine.c: the walker's memory, and the two logs of what it does: steps and events. */
#include "tests/support/walker_impl.h"

#include <assert.h>
#include <string.h>

static uint64_t *word_in(uint64_t *words, uint32_t count, uint32_t *used, uint64_t index)
{
	if (index >= count)
		return NULL;
	if (*used <= index)
		*used = index + 1;
	return &words[index];
}

static uint64_t *word_at(struct walker *w, uint64_t addr)
{
	struct memory *m = w->memory;
	if (addr >= ALT_TOP)
		return word_in(m->stack, STACK_WORDS, &m->stack_used, (STACK_TOP - 8 - addr) / 8);
	return word_in(m->alt, ALT_WORDS, &m->alt_used, (ALT_TOP - 8 - addr) / 8);
}

void walker_forget_memory(struct walker *w)
{
	struct memory *m = w->memory;
	memset(m->stack, 0, m->stack_used * sizeof(uint64_t));
	memset(m->alt, 0, m->alt_used * sizeof(uint64_t));
	m->stack_used = m->alt_used = 0;
}

void walker_store(struct walker *w, uint64_t addr, uint64_t value)
{
	uint64_t *word = word_at(w, addr);
	if (word)
		*word = value;
}

static bool in_program(uint64_t word)
{
	return word >= BIAS && word < FOREIGN;
}

static bool in_code(uint64_t word)
{
	return in_program(word) || word - FOREIGN < 0x10000;
}

static uint32_t own_frames(const struct walker *w)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < w->n; i++)
		n += w->stack[i].func != PUGMARK_NONE;
	return n;
}

void walker_step(struct walker *w, uint8_t kind, uint8_t cause, uint64_t addr, uint64_t target)
{
	struct walk_step s = {
		.kind = kind,
		.cause = cause,
		.addr = addr,
		.target = target,
		.depth = own_frames(w),
	};
	PUSH(w->walk->steps, w->walk->n_steps, w->walk->cap_steps, s);
}

/* As far as the recorder looks for addresses in the program (bpf/snapshot.h): to a little above the
 * last event's frame, or above the first return address that it finds. */
static uint64_t end_of_stack(struct walker *w, uint64_t from)
{
	uint64_t limit = from + 8 * DEEP_WORDS, end = w->last_cfa + DEEP_MARGIN, at = from;
	const uint64_t *word = word_at(w, at);
	if (end < from || end >= limit) /* on another stack, or below */
		end = from;
	while (word && !in_program(*word) && at < limit)
		word = word_at(w, at += 8);
	if (word && at < limit && end < at + DEEP_MARGIN)
		end = at + DEEP_MARGIN;
	return end < limit ? end : limit;
}

/* Up to where call frame information leads from return address to return address: those of other
 * code are told only near @from. */
static uint64_t end_of_unwinding(const struct walker *w, uint64_t from)
{
	uint64_t end = from;
	for (uint32_t i = w->n; i-- > 0;) {
		uint64_t slot = w->stack[i].cfa - 8;
		if (slot < end)
			continue;
		end = slot;
		if (slot - from >= 8 * SNAPSHOT_WORDS && w->stack[i].ret >= FOREIGN)
			return end;
	}
	return STACK_TOP;
}

static bool is_return_slot(const struct walker *w, uint64_t addr)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (addr == w->stack[i].leaf || addr + 8 == w->stack[i].cfa)
			return true;
	return false;
}

/* Takes out of the last snapshot, @e's, what only looks like return addresses of calls in progress
 * as the recorder does. The frame of a signal right above @e's stays as it is. */
static void unwind_snapshot(struct walker *w, const struct pugmark_witness_event *e, uint64_t frame)
{
	uint64_t *words = w->walk->stacks + (w->walk->n_stacks - e->stack_words);
	uint64_t end = end_of_unwinding(w, e->stack_addr);
	bool below = w->plan->sites[e->site].capture & PUGMARK_CAPTURE_BELOW;
	for (uint32_t i = below; i < e->stack_words; i++) {
		uint64_t addr = e->stack_addr + 8 * (uint64_t)i;
		if (addr >= end)
			break;
		if (in_code(words[i]) && addr - frame >= 8 * SIGNAL_WORDS &&
		    !is_return_slot(w, addr))
			words[i] = 0;
	}
}

void walker_snapshot(struct walker *w, struct pugmark_witness_event *e, uint64_t from, uint64_t end,
		     uint64_t frame)
{
	struct walk *walk = w->walk;
	uint32_t first = walk->n_stacks;
	for (uint64_t at = from; at < from + 8 * SNAPSHOT_WORDS || at < end; at += 8) {
		uint64_t *word = word_at(w, at);
		if (!word)
			break;
		/* Further up only addresses in the program are told. */
		bool told = at < from + 8 * SNAPSHOT_WORDS || in_program(*word);
		PUSH(walk->stacks, walk->n_stacks, walk->cap_stacks,
		     told ? *word : PUGMARK_EVENT_STACK_UNKNOWN);
	}
	e->stack = (const uint64_t *)(uintptr_t)(first + 1); /* made a pointer at the end */
	e->stack_addr = from;
	e->stack_words = walk->n_stacks - first;
	if (w->temper.unwound)
		unwind_snapshot(w, e, frame);
}

/* Where sp is in @block, behind setjmp, in frame @f: where it was at that call. */
static uint64_t sp_behind_setjmp(const struct walker *w, uint32_t block, const struct walk_frame *f)
{
	return f->cfa - w->prog->blocks[block - 1].height;
}

void walker_event(struct walker *w, uint32_t block, uint64_t val, uint64_t callee_cfa)
{
	const struct pugmark_plan_site *site = &w->plan->sites[w->site_of[block]];
	const struct walk_frame *f = &w->stack[w->n - 1];
	struct pugmark_witness_event e = {
		.kind = PUGMARK_EVENT_WITNESS,
		.time_ns = ++w->time_ns,
		.site = w->site_of[block],
		.bias = BIAS,
		.arm.witness = {.cfa = f->cfa, .val = val},
	};
	if (site->cfa_reg == PUGMARK_CFA_UNKNOWN) /* then it is the stack pointer */
		e.arm.witness.cfa -= LEAST_HEIGHT + 8 * random_below(&w->rng, 10);
	/* A landing pad tells its own frame, and by the stack where that of its call will be. */
	bool pad = callee_cfa && site->capture & PUGMARK_CAPTURE_STACK &&
		   site->cfa_reg != PUGMARK_CFA_UNKNOWN;
	uint64_t from = pad ? callee_cfa : f->cfa - 8;
	if (site->capture & PUGMARK_CAPTURE_BELOW)
		from = sp_behind_setjmp(w, block, f) - 8;
	bool first = site->capture & PUGMARK_CAPTURE_IF_AGAIN && !w->again;
	w->again = false;
	if (callee_cfa && !pad)
		e.arm.witness.cfa = callee_cfa;
	if (site->capture & PUGMARK_CAPTURE_RET)
		e.arm.witness.ret = f->ret;
	if ((site->capture & PUGMARK_CAPTURE_STACK && !first) ||
	    (site->capture & PUGMARK_CAPTURE_SNAPSHOT &&
	     (f->ret >= FOREIGN || walker_returns_to_opaque(w, f->ret))))
		walker_snapshot(w, &e, from, end_of_stack(w, from),
				f->ret == TRAMPOLINE ? f->cfa - 8 : 0);
	w->last_cfa = e.arm.witness.cfa;
	PUSH(w->walk->events, w->walk->n_events, w->walk->cap_events, e);
	w->walk->decided = w->walk->n_steps;
}

void walker_push_frame(struct walker *w, uint32_t func, uint64_t cfa, uint64_t ret)
{
	assert(cfa >= ALT_TOP - 8ull * ALT_WORDS); /* a frame lies on one of the two stacks */
	w->stack[w->n++] = (struct walk_frame){
		.func = func,
		.cfa = cfa,
		.ret = ret,
		.sp = cfa - 8,
	};
	walker_store(w, cfa - 8, ret);
}
