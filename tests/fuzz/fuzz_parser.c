// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_parser.c: any events for the parser. The first bytes choose a program and a mode; what
 * happens is a walk through it, whose events the rest of the input leaves out, doubles, changes,
 * moves or makes up, a byte an edit. Whatever comes in, the parser comes to an end, names only what
 * is in the plan, keeps its count of frames, its times never run backwards, and what it has kept of
 * earlier events makes no difference. A walk that nothing was done to must come out as it was
 * walked. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offline/plan/plan_build.h"
#include "tests/support/random_program.h"
#include "tests/support/twin.h"
#include "tests/support/walker.h"
#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WALK_BLOCKS = 120, PROGRAMS = 4096, OUT_PER_EVENT = 1 << 20 };

struct input {
	const uint8_t *at, *end;
};

static uint64_t take(struct input *in, unsigned bytes)
{
	uint64_t v = 0;

	for (; bytes && in->at < in->end; bytes--)
		v = v << 8 | *in->at++;
	return v;
}

static void check_event(const struct pugmark_plan *plan, const struct pugmark_trace_event *e)
{
	MUST(e->kind <= PUGMARK_TRACE_VALUE && e->cause <= PUGMARK_CAUSE_DIVERGED);
	MUST(e->from_ns <= e->to_ns);
	MUST(e->depth < 1 << 24);
	MUST(e->func == PUGMARK_NONE || e->func < plan->n_funcs);
	if (e->kind == PUGMARK_TRACE_RET || e->kind == PUGMARK_TRACE_ENTER)
		MUST(e->func != PUGMARK_NONE && e->addr == plan->funcs[e->func].addr);
	if (e->kind == PUGMARK_TRACE_CALL || e->kind == PUGMARK_TRACE_TAIL)
		MUST(e->import && strlen(e->import) < plan->strings_bytes);
}

/* An event that need not make sense. */
static struct pugmark_witness_event made_up(struct input *in, const struct pugmark_plan *plan,
					    struct pugmark_witness_event e)
{
	static const int64_t steps[] = {0, 8, -8, 16, 64, -64, 4096, 1ll << 40};

	e.kind = take(in, 1) % 8 ? PUGMARK_EVENT_WITNESS : take(in, 1) % 9;
	e.site = take(in, 1) % 4 ? take(in, 2) % (plan->n_sites + 1) : e.site;
	e.arm.witness.cfa += steps[take(in, 1) % 8];
	switch (take(in, 1) % 4) {
	case 0:
		e.arm.witness.ret = e.bias + plan->nodes[take(in, 2) % plan->n_nodes].addr + 5;
		break;
	case 1:
		e.arm.witness.ret = take(in, 8);
		break;
	}
	e.arm.witness.val = take(in, 1) % 2 ? take(in, 1) & 1
					    : e.bias + plan->nodes[e.site % plan->n_nodes].addr;
	e.lost = take(in, 1);
	if (e.kind == PUGMARK_EVENT_SIGNAL) {
		e.signal.caller = e.arm.witness.cfa + steps[take(in, 1) % 8];
		e.signal.alt = e.arm.witness.cfa - 4096;
		e.signal.alt_bytes = 64 * take(in, 1);
	}
	e.flags = take(in, 1) & 15;
	e.stack_words = e.stack_words * (take(in, 1) % 5) / 4;
	if (!e.stack_words)
		e.stack = NULL;
	return e;
}

static void feed(struct twin *twin, const struct pugmark_plan *plan, struct pugmark_witness_event e,
		 uint64_t *ns)
{
	uint32_t n;

	e.time_ns = ++*ns;
	MUST(!twin_feed(twin, &e));
	const struct pugmark_trace_event *events = parser_events(twin->parser, &n);
	MUST(n < OUT_PER_EVENT);
	for (uint32_t i = 0; i < n; i++)
		check_event(plan, &events[i]);
}

static void parse_edited(const struct walk *walk, const struct pugmark_plan *plan, struct input *in)
{
	struct parse_tables *tables;
	struct twin twin;
	uint64_t ns = 0;

	MUST(!parse_tables_new(plan, &tables));
	MUST(!twin_init(&tables, &plan, 1, &twin));
	for (uint32_t i = 0; i < walk->n_events; i++) {
		uint8_t edit = in->at < in->end ? *in->at++ : 255;

		switch (edit % 16) {
		case 0: /* left out */
			break;
		case 1: /* twice */
			feed(&twin, plan, walk->events[i], &ns);
			feed(&twin, plan, walk->events[i], &ns);
			break;
		case 2: /* one from elsewhere */
			feed(&twin, plan, walk->events[take(in, 2) % walk->n_events], &ns);
			break;
		case 3:
			feed(&twin, plan, made_up(in, plan, walk->events[i]), &ns);
			break;
		case 4: /* some are lost, and said to be */
			feed(&twin, plan,
			     (struct pugmark_witness_event){.kind = PUGMARK_EVENT_LOST,
							    .lost = edit / 16},
			     &ns);
			i += edit / 16;
			break;
		default:
			feed(&twin, plan, walk->events[i], &ns);
		}
	}
	feed(&twin, plan, (struct pugmark_witness_event){.kind = PUGMARK_EVENT_STOP}, &ns);
	twin_deinit(&twin);
	parse_tables_free(tables);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	uint64_t seed = 1 + take(&in, 2) % PROGRAMS;
	enum plan_mode mode =
		(enum plan_mode[]){MODE_FULL, MODE_CASPER, MODE_BEST}[take(&in, 1) % 3];
	struct program *prog = random_program(seed);
	struct walk_verdict verdict;
	struct pugmark_plan *plan;
	struct choice choice;
	struct walk walk;
	uint32_t unresolved = 0;

	choose_witnesses(prog, mode, &choice, &unresolved);
	MUST(!plan_build(prog, &choice, mode, NULL, &plan));
	walk_program(prog, &choice, plan, 0, WALK_BLOCKS, seed + take(&in, 1), &walk);
	if (in.at == in.end && !unresolved)
		MUST(walk_check(&walk, plan, &verdict));
	parse_edited(&walk, plan, &in);
	walk_deinit(&walk);
	pugmark_plan_free(plan);
	choice_deinit(&choice);
	program_free(prog);
	return 0;
}
