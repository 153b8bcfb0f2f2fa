// SPDX-License-Identifier: LGPL-2.1-or-later
/* walker.c: see walker.h. The machine it simulates has a stack with return addresses, whatever was
 * left there by earlier calls, and nothing else. Foreign code is what lies beyond the program: it
 * returns, calls back, throws, or ends the thread; a signal handler may interrupt anything. What
 * no machine can do is left out: a frame of a function keeps its size, a handler lies below the
 * red zone of what it interrupts (or on a stack of its own, whose end no call runs over), and a
 * frame whose address only the witnesses know is none. */
#include "tests/support/walker_impl.h"

#include <stdlib.h>

static struct memory shared_memory; /* one walk at a time */

static uint32_t *map_sites(const struct program *prog, const struct choice *choice,
			   const struct pugmark_plan *plan)
{
	uint32_t *site_of = calloc(prog->n_blocks + 1, sizeof(*site_of));
	uint32_t site = 0;
	for (uint32_t b = 0; b < prog->n_blocks; b++) {
		if (!choice->marks[b] || !(prog->blocks[b].flags & PROG_REACHED))
			continue;
		uint64_t addr = prog_probe_addr(prog, choice->marks[b] == MARK_BLOCK
							      ? &prog->blocks[b].any
							      : &prog->blocks[b].last);
		for (uint32_t i = 0; plan->sites[site].addr != addr && i < plan->n_sites; i++)
			site = (site + 1) % plan->n_sites;
		site_of[b] = site;
	}
	return site_of;
}

/* Whether what @block does can be followed by something that shows, or by its function's return. */
static bool is_live(const struct program *prog, const struct choice *choice, const bool *live,
		    uint32_t block)
{
	const struct prog_block *b = &prog->blocks[block];
	if (choice->marks[block] || b->flags & (PROG_RET | PROG_NORETURN))
		return true;
	if (b->call == CALL_DIRECT && !live[prog->funcs[b->callee].block])
		return false;
	if (b->flags & PROG_TAIL)
		return true;
	for (uint32_t i = 0; i < b->n_succ; i++)
		if (live[prog_succs(prog, block)[i]])
			return true;
	return false;
}

static bool *find_live(const struct program *prog, const struct choice *choice)
{
	bool *live = calloc(prog->n_blocks + 1, sizeof(*live)), grew = true;
	while (grew) {
		grew = false;
		for (uint32_t b = prog->n_blocks; b-- > 0;)
			if (!live[b] && is_live(prog, choice, live, b))
				grew = live[b] = true;
	}
	return live;
}

static void choose_temper(struct walker *w)
{
	uint64_t *rng = &w->rng;
	w->temper = (struct temper){
		.callback = random_below(rng, 60),
		.into_program = random_below(rng, 80),
		.throws = random_chance(rng, 20) ? random_below(rng, 20) : 0,
		.signal = random_chance(rng, 25) ? random_below(rng, 500) : 0,
		.alt_stack = random_chance(rng, 30),
		.told = !random_chance(rng, 20),
		.untidy = random_chance(rng, 10),
		.unwound = random_chance(rng, 50),
	};
	/* Assumed (docs/theory.md): code without call frame information keeps none in its frames.
	 */
	w->temper.unwound |= w->temper.untidy || w->scoped;
}

void walk_ground_init(struct walk_ground *g, const struct program *prog,
		      const struct choice *choice, const struct pugmark_plan *plan)
{
	*g = (struct walk_ground){.prog = prog, .choice = choice, .plan = plan};
	g->site_of = map_sites(prog, choice, plan);
	g->live = find_live(prog, choice);
	g->entered = calloc(prog->n_funcs, sizeof(uint32_t));
	if (parse_tables_new(plan, &g->tables))
		abort();
	for (uint32_t f = 0; f < prog->n_funcs; f++)
		if (prog->funcs[f].flags & PROG_ENTRY_WITNESS && prog->funcs[f].n_blocks &&
		    choice->marks[prog->funcs[f].block] &&
		    !(plan->funcs[f].flags & PUGMARK_PLAN_FUNC_START))
			g->entered[g->n_entered++] = f;
	g->opaque = calloc(prog->n_funcs, sizeof(uint32_t));
	for (uint32_t f = 0; f < prog->n_funcs; f++) {
		if (!(prog->funcs[f].flags & PROG_OPAQUE) || !prog->funcs[f].n_blocks)
			continue;
		g->scoped = true;
		if (prog->funcs[f].flags & PROG_ENTRY_WITNESS)
			g->opaque[g->n_opaque++] = f;
	}
}

void walk_ground_deinit(struct walk_ground *g)
{
	parse_tables_free(g->tables);
	free(g->site_of);
	free(g->live);
	free(g->entered);
	free(g->opaque);
	*g = (struct walk_ground){0};
}

static void walker_init(struct walker *w)
{
	w->memory = &shared_memory;
	walker_forget_memory(w);
	choose_temper(w);
	w->walk->untidy = w->temper.untidy;
	w->walk->told = w->temper.told;
	w->walk->unwound = w->temper.unwound;
}

/* The thread's first function runs; then foreign code below it may call others. */
static bool run_roots(struct walker *w, uint32_t func)
{
	uint64_t cfa = STACK_TOP - 256;
	for (;;) {
		w->n = 0;
		walker_step(w, PUGMARK_TRACE_ENTER, PUGMARK_CAUSE_THREAD, walker_func_addr(w, func),
			    0);
		enum outcome out = walker_call_function(w, func, cfa, FOREIGN);
		if (out == OVER)
			return false;
		if (!random_chance(&w->rng, 40))
			return out == RETURNED;
		func = walker_pick_entered(w);
		if (func == PUGMARK_NONE)
			return out == RETURNED;
		if (random_chance(&w->rng, 50)) {
			uint64_t inner = STACK_TOP - 256 - 8; /* by way of a call of its own */
			walker_store(w, inner, FOREIGN + 24);
			cfa = STACK_TOP - 512 - 8 * random_below(&w->rng, 8);
			walker_fill_foreign(w, cfa, inner);
		}
	}
}

void walk_over(const struct walk_ground *ground, uint32_t func, uint32_t limit, uint64_t seed,
	       struct walk *out)
{
	struct walker w = {
		.prog = ground->prog,
		.choice = ground->choice,
		.plan = ground->plan,
		.site_of = ground->site_of,
		.live = ground->live,
		.entered = ground->entered,
		.n_entered = ground->n_entered,
		.opaque = ground->opaque,
		.n_opaque = ground->n_opaque,
		.scoped = ground->scoped,
		.walk = out,
		.rng = seed,
		.limit = limit,
	};
	*out = (struct walk){.blind = UINT32_MAX};
	walker_init(&w);
	bool finished = run_roots(&w, func);
	struct pugmark_witness_event end = {
		.kind = PUGMARK_EVENT_END, .time_ns = ++w.time_ns, .arm.stop.val = !finished};
	PUSH(out->events, out->n_events, out->cap_events, end);
	if (finished)
		out->decided = out->n_steps;
	for (uint32_t i = 0; i < out->n_events; i++)
		if (out->events[i].stack)
			out->events[i].stack = out->stacks + ((uintptr_t)out->events[i].stack - 1);
}

void walk_program(const struct program *prog, const struct choice *choice,
		  const struct pugmark_plan *plan, uint32_t func, uint32_t limit, uint64_t seed,
		  struct walk *out)
{
	struct walk_ground ground;
	walk_ground_init(&ground, prog, choice, plan);
	walk_over(&ground, func, limit, seed, out);
	walk_ground_deinit(&ground);
}

void walk_deinit(struct walk *walk)
{
	free(walk->steps);
	free(walk->throws);
	free(walk->events);
	free(walk->stacks);
	*walk = (struct walk){0};
}
