// SPDX-License-Identifier: LGPL-2.1-or-later
/* flow.c: steps between blocks, with PLT stubs, other modules and signals taken out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

#define MAX_SIGNALS 4096

struct flow {
	struct trace_reader *reader;
	const struct module *module;
	const struct flow_hooks *hooks;
	void *ctx;
	struct flow_counts *counts;
	struct flow_step next;		     /* the step that is being put together */
	struct flow_step waits[MAX_SIGNALS]; /* those that a handler interrupted */
	int n_waits;
};

void flow_mark_plt(struct trace_blocks *blocks, const struct module *module)
{
	for (uint32_t i = TRACE_FIRST_BLOCK; i < blocks->n; i++)
		blocks->at[i].plt = module_is_plt(module, blocks->at[i].addr);
}

/* Whether control can go from the end of @from straight to @addr. */
static bool leads_to(const struct tblock *from, uint64_t addr)
{
	switch (from->kind) {
	case LAST_OTHER:
		return addr == from->end;
	case LAST_REP:
		return addr == from->end || addr == from->last;
	case LAST_JCC:
		return addr == from->end || addr == from->target;
	case LAST_JMP:
	case LAST_CALL:
		return addr == from->target;
	}
	return true;
}

static bool holds_insn(const struct tblock *b, uint64_t addr)
{
	uint64_t at = b->addr;

	for (unsigned i = 0; i < b->n_insns && at <= addr; at += b->lens[i++])
		if (at == addr)
			return true;
	return false;
}

/* @b was read: the next step is from there. */
static inline void begin(struct flow *f, struct tblock *b)
{
	f->next.from = b;
	f->next.own = trace_reader_own(f->reader);
	if (b->kind == LAST_CALL || b->kind == LAST_CALL_IND)
		f->next.pushed = trace_reader_pushed(f->reader);
}

static void finish(struct flow *f, struct tblock *to)
{
	struct flow_step *s = &f->next;

	s->to = to;
	if (!s->from)
		s->own = trace_reader_own(f->reader);
	/* A lazily bound call of a symbol of the module's own: the dynamic linker ran between. */
	if (to && s->plt && s->outside && s->slot && s->slot->definition == to->addr)
		s->outside = false;
	if (s->from && to && !s->plt && !s->outside && !leads_to(s->from, to->addr) &&
	    holds_insn(s->from, to->addr)) {
		s->cut = true;
		f->counts->cuts++;
	}
	f->hooks->step(f->ctx, s);
	*s = (struct flow_step){.resumed = -1};
	if (to)
		begin(f, to);
}

/* Whether the step so far has nothing in it but the block that it starts from. */
static bool straight(const struct flow_step *s)
{
	return s->from && !s->plt && !s->outside && s->resumed < 0;
}

void flow_quiet(const struct trace_blocks *blocks, const struct flow_step *step)
{
	uint32_t record = step->to - blocks->at;

	if (!straight(step) || step->cut || step->from->quiet[0] == record)
		return;
	step->from->quiet[1] = step->from->quiet[0];
	step->from->quiet[0] = record;
}

static void handler_starts(struct flow *f)
{
	f->counts->signals++;
	if (f->n_waits == MAX_SIGNALS) {
		fprintf(stderr, "flow: signal handlers that never return\n");
		exit(2);
	}
	if (f->hooks->interrupt)
		f->hooks->interrupt(f->ctx, &f->next, f->n_waits);
	if (f->next.resumed < 0)
		f->next.resumed = f->n_waits;
	f->waits[f->n_waits++] = f->next;
	f->next = (struct flow_step){.outside = true, .resumed = -1};
}

static void on_block(struct flow *f, struct tblock *b)
{
	struct flow_step *s = &f->next;

	f->counts->blocks++;
	if (b->plt) {
		if (!s->plt && !s->outside) {
			s->plt = true;
			s->slot = module_slot_at(f->module, b->slot);
		}
		return;
	}
	if (s->from && s->from->kind == LAST_REP && b->addr == s->from->last && !s->outside) {
		f->counts->reps++;
		s->from = b;
		return;
	}
	finish(f, b);
}

void flow_run(struct trace_reader *reader, const struct trace_blocks *blocks,
	      const struct module *module, const struct flow_hooks *hooks, void *ctx,
	      struct flow_counts *counts)
{
	struct flow *f = calloc(1, sizeof(*f));
	bool signal = false;
	uint32_t record;

	f->reader = reader;
	f->module = module;
	f->hooks = hooks;
	f->ctx = ctx;
	f->counts = counts;
	f->next = (struct flow_step){.outside = true, .resumed = -1};
	while ((record = trace_reader_next(reader)) != TRACE_END) {
		struct tblock *b = record < TRACE_FIRST_BLOCK ? NULL : &blocks->at[record];
		struct tblock *from = f->next.from;

		if (b && !signal && straight(&f->next) &&
		    (from->quiet[0] == record || from->quiet[1] == record)) {
			counts->blocks++;
			begin(f, b);
			continue;
		}
		/* A function that is also a handler may be called like any other. */
		if (signal && !(b && from && !f->next.outside && from->target == b->addr &&
				leads_to(from, b->addr) && from->kind != LAST_OTHER))
			handler_starts(f);
		signal = record == TRACE_SIGNAL;
		if (b)
			on_block(f, b);
		else if (record == TRACE_OUTSIDE && !f->next.outside) {
			f->next.outside = true;
			f->counts->calls_outside++;
		} else if (record == TRACE_JUMPED) {
			f->next.jumped = true;
		} else if (record == TRACE_SIGRETURN) {
			f->next.outside = true;
			finish(f, NULL);
			f->next = (struct flow_step){.outside = true, .resumed = -1};
			if (f->n_waits)
				f->next = f->waits[--f->n_waits];
		}
	}
	finish(f, NULL);
	free(f);
}
