// SPDX-License-Identifier: LGPL-2.1-or-later
/* walker_machine.c: the walker's memory, and the two logs of what it does: steps and events. */
#include "tests/support/walker_impl.h"

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
		.act = w->act,
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

void walker_snapshot(struct walker *w, struct witness_event *e, uint64_t from, uint64_t end)
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
		     told ? *word : EVENT_STACK_UNKNOWN);
	}
	e->stack = (const uint64_t *)(uintptr_t)(first + 1); /* made a pointer at the end */
	e->stack_addr = from;
	e->stack_words = walk->n_stacks - first;
}

void walker_event(struct walker *w, uint32_t block, uint64_t val, uint64_t callee_cfa)
{
	const struct plan_site *site = &w->plan->sites[w->site_of[block]];
	const struct walk_frame *f = &w->stack[w->n - 1];
	struct witness_event e = {
		.kind = EVENT_WITNESS,
		.time_ns = ++w->time_ns,
		.site = w->site_of[block],
		.bias = BIAS,
		.val = val,
		.cfa = f->cfa,
	};
	if (site->cfa_reg == CFA_UNKNOWN) /* then it is the stack pointer */
		e.cfa -= LEAST_HEIGHT + 8 * random_below(&w->rng, 10);
	if (callee_cfa)
		e.cfa = callee_cfa;
	if (site->capture & CAPTURE_RET)
		e.ret = f->ret;
	if (site->capture & CAPTURE_STACK ||
	    (site->capture & CAPTURE_SNAPSHOT && f->ret >= FOREIGN))
		walker_snapshot(w, &e, f->cfa - 8, end_of_stack(w, f->cfa - 8));
	w->last_cfa = e.cfa;
	PUSH(w->walk->events, w->walk->n_events, w->walk->cap_events, e);
	w->walk->acts[w->act].decided = w->walk->n_steps;
}

void walker_push_frame(struct walker *w, uint32_t func, uint64_t cfa, uint64_t ret)
{
	w->stack[w->n++] = (struct walk_frame){
		.func = func,
		.act = w->act,
		.cfa = cfa,
		.ret = ret,
		.sp = cfa - 8,
	};
	walker_store(w, cfa - 8, ret);
}
