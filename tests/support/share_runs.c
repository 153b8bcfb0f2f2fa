// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_runs.c: see share_runs.h. */
#include "tests/support/share_runs.h"

#include "tests/support/walker_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One run: the walk's events that its share sees, moved to where the run has everything. */
struct part {
	const struct walk *walk;
	const struct share_set *set;
	uint32_t share, next;
	struct pugmark_witness_event event;
	uint64_t *stacks; /* of all its events */
	uint64_t code, data, clock;
};

struct parts {
	struct part part[SHARES_MAX];
	struct merged_walk *out;
};

void share_runs_marks(const struct program *prog, const struct pugmark_plan *plan,
		      struct choice *choice)
{
	*choice = (struct choice){.marks = calloc(prog->n_blocks + 1, 1)};
	for (uint32_t b = 0; b < prog->n_blocks; b++) {
		const struct prog_block *block = &prog->blocks[b];
		if (!(block->flags & PROG_REACHED) || block->flags & PROG_VIRTUAL)
			continue;
		for (uint32_t i = 0; i < plan->n_sites; i++) {
			const struct pugmark_plan_site *s = &plan->sites[i];
			if (s->addr == prog_probe_addr(prog, &block->any))
				choice->marks[b] = MARK_BLOCK;
			else if (s->addr == prog_probe_addr(prog, &block->last))
				choice->marks[b] = s->kind == PUGMARK_WITNESS_BRANCH   ? MARK_BRANCH
						   : s->kind == PUGMARK_WITNESS_TARGET ? MARK_TARGET
										       : MARK_LAST;
		}
	}
}

/* Where this run has what the walk has at @word. */
static uint64_t moved(const struct part *p, uint64_t word)
{
	if (word >= FOREIGN && word < FOREIGN + 0x10000)
		return word + p->code;
	if (word >= BIAS && word < BIAS + 0x10000000)
		return word + p->code;
	if ((word > STACK_TOP - 8ull * STACK_WORDS && word <= STACK_TOP) ||
	    (word > ALT_TOP - 8ull * ALT_WORDS && word <= ALT_TOP))
		return word + p->data;
	return word;
}

static void move_stack(struct part *p, struct pugmark_witness_event *e)
{
	if (!e->stack)
		return;
	uint64_t *words = p->stacks + (e->stack - p->walk->stacks);
	for (uint32_t i = 0; i < e->stack_words; i++)
		words[i] = moved(p, e->stack[i]);
	e->stack = words;
	e->stack_addr = moved(p, e->stack_addr);
}

static void move(struct part *p, const struct pugmark_witness_event *from)
{
	struct pugmark_witness_event *e = &p->event;
	*e = *from;
	e->time_ns += p->clock;
	if (e->kind == PUGMARK_EVENT_SIGNAL || e->kind == PUGMARK_EVENT_END) {
		e->arm.stop.sp = moved(p, e->arm.stop.sp);
		e->arm.stop.ip = moved(p, e->arm.stop.ip);
	}
	if (e->kind == PUGMARK_EVENT_SIGNAL) {
		e->arm.stop.val = moved(p, e->arm.stop.val);
		e->signal.bp = moved(p, e->signal.bp);
		e->signal.caller = moved(p, e->signal.caller);
		e->signal.alt = e->signal.alt ? e->signal.alt + p->data : 0;
	}
	if (e->kind == PUGMARK_EVENT_WITNESS) {
		const struct pugmark_plan_site *s = &p->set->plan->sites[e->site];
		e->bias += p->code;
		e->arm.witness.cfa = moved(p, e->arm.witness.cfa);
		e->arm.witness.ret = moved(p, e->arm.witness.ret);
		if (s->kind == PUGMARK_WITNESS_TARGET)
			e->arm.witness.val = moved(p, e->arm.witness.val);
		if (s->capture & PUGMARK_CAPTURE_RET) {
			e->flags |= PUGMARK_EVENT_HAS_RET;
			e->flags |= pugmark_event_ret(from) == TRAMPOLINE
					    ? PUGMARK_EVENT_FROM_SIGNAL
					    : 0;
		}
	}
	move_stack(p, e);
}

static int next(void *ctx, uint32_t part, const struct pugmark_witness_event **event)
{
	struct part *p = &((struct parts *)ctx)->part[part];
	while (p->next < p->walk->n_events) {
		const struct pugmark_witness_event *e = &p->walk->events[p->next++];
		if (e->kind == PUGMARK_EVENT_WITNESS && !(p->set->members[e->site] >> p->share & 1))
			continue;
		move(p, e);
		*event = &p->event;
		return 1;
	}
	return 0;
}

static int emit(void *ctx, const struct pugmark_witness_event *event)
{
	struct merged_walk *out = ((struct parts *)ctx)->out;
	PUSH(out->events, out->n, out->cap, *event);
	return 0;
}

void share_runs_merge(const struct walk *walk, const struct share_set *set,
		      struct share_teller *teller, struct merged_walk *out)
{
	share_runs_merge_odd(walk, 0, walk, set, teller, out);
}

void share_runs_merge_odd(const struct walk *walk, uint32_t odd, const struct walk *other,
			  const struct share_set *set, struct share_teller *teller,
			  struct merged_walk *out)
{
	struct parts *parts = calloc(1, sizeof(*parts));
	const struct share_io io = {next, emit, parts};
	struct share_walk *merge = NULL;
	*out = (struct merged_walk){0};
	parts->out = out;
	for (uint32_t k = 0; k < set->n; k++) {
		const struct walk *run = k == odd ? other : walk;
		parts->part[k] = (struct part){
			.walk = run,
			.set = set,
			.share = k,
			.stacks = k ? malloc((run->n_stacks + 1) * sizeof(uint64_t)) : run->stacks,
			.code = 0x100000ull * k,
			.data = 0x3000ull * k,
			.clock = 1000000ull * k,
		};
	}
	out->err = share_walk_new(teller, &io, NULL, &merge);
	if (!out->err)
		out->err = share_walk_run(merge, &out->at);
	if (out->err == -ESTALE) {
		struct pugmark_witness_event e = {.kind = PUGMARK_EVENT_DIVERGED};
		out->err = 0;
		out->diverged = true;
		PUSH(out->events, out->n, out->cap, e);
		e.kind = PUGMARK_EVENT_STOP;
		PUSH(out->events, out->n, out->cap, e);
	}
	share_walk_free(merge);
	for (uint32_t k = 1; k < set->n; k++)
		free(parts->part[k].stacks);
	free(parts);
}

void merged_walk_deinit(struct merged_walk *m)
{
	free(m->events);
	*m = (struct merged_walk){0};
}
