// SPDX-License-Identifier: LGPL-2.1-or-later
/* walker.c: see walker.h. The machine it simulates has a stack with return addresses and nothing
 * else. Foreign code is what lies beyond the program: it returns, calls back, or throws. */
#include "tests/support/walker.h"

#include "offline/parser.h"
#include "tests/support/random_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIAS 0x555500000000ull
#define FOREIGN 0x7f0000001000ull
#define SNAPSHOT_WORDS 512

struct walk_frame {
	uint32_t func;	/* UINT32_MAX: foreign */
	uint32_t block; /* the call in progress */
	uint64_t cfa, ret;
};

struct walker {
	const struct program *prog;
	const struct choice *choice;
	const struct pugmark_plan *plan;
	uint32_t *site_of; /* per block */
	struct walk *walk;
	struct walk_frame *stack;
	uint32_t n, cap;
	uint64_t rng, time_ns;
	uint32_t steps, limit;
};

#define PUSH(array, n, cap, value)                                                                 \
	do {                                                                                       \
		if ((n) == (cap)) {                                                                \
			(cap) = (cap) ? 2 * (cap) : 64;                                            \
			(array) = realloc((array), (cap) * sizeof(*(array)));                      \
		}                                                                                  \
		(array)[(n)++] = (value);                                                          \
	} while (0)

static void step(struct walker *w, uint8_t kind, uint64_t addr, uint64_t target)
{
	struct walk_step s = {kind, addr, target};
	PUSH(w->walk->steps, w->walk->n_steps, w->walk->cap_steps, s);
}

static void snapshot(struct walker *w, struct witness_event *e, uint64_t from)
{
	struct walk *walk = w->walk;
	uint32_t first = walk->n_stacks;
	for (int i = 0; i < SNAPSHOT_WORDS; i++)
		PUSH(walk->stacks, walk->n_stacks, walk->cap_stacks, 0);
	for (uint32_t i = 0; i < w->n; i++) {
		uint64_t slot = w->stack[i].cfa - 8;
		if (slot >= from && slot < from + 8 * SNAPSHOT_WORDS)
			walk->stacks[first + (slot - from) / 8] = w->stack[i].ret;
	}
	e->stack = (const uint64_t *)(uintptr_t)(first + 1); /* made a pointer at the end */
	e->stack_addr = from;
	e->stack_words = SNAPSHOT_WORDS;
}

static void event(struct walker *w, uint32_t block, uint64_t val, uint64_t callee_cfa)
{
	const struct plan_site *site = &w->plan->sites[w->site_of[block]];
	const struct walk_frame *f = &w->stack[w->n - 1];
	struct witness_event e = {
		.kind = EVENT_WITNESS,
		.time_ns = ++w->time_ns,
		.site = w->site_of[block],
		.bias = BIAS,
		.val = val,
		.cfa = site->cfa_reg == CFA_UNKNOWN ? 8 * random_next(&w->rng) : f->cfa,
	};
	if (callee_cfa)
		e.cfa = callee_cfa;
	if (site->capture & CAPTURE_RET)
		e.ret = f->ret;
	if (site->capture & CAPTURE_SNAPSHOT && f->ret >= FOREIGN)
		snapshot(w, &e, f->cfa - 8);
	PUSH(w->walk->events, w->walk->n_events, w->walk->cap_events, e);
	w->walk->decided = w->walk->n_steps;
}

static void push_frame(struct walker *w, uint32_t func, uint64_t cfa, uint64_t ret)
{
	struct walk_frame f = {.func = func, .cfa = cfa, .ret = ret};
	PUSH(w->stack, w->n, w->cap, f);
}

/* A function of the program that may be entered from anywhere. */
static uint32_t pick_entered(struct walker *w)
{
	for (int i = 0; i < 50; i++) {
		uint32_t f = random_below(&w->rng, w->prog->n_funcs);
		if (w->prog->funcs[f].flags & PROG_ENTRY_WITNESS && w->prog->funcs[f].n_blocks &&
		    w->choice->marks[w->prog->funcs[f].block])
			return f;
	}
	return PUGMARK_NONE;
}

/* Runs the topmost frame from @block; true: it returned; false: the walk is over. What is thrown
 * lands in w->landed: the index of the surviving frame. */
enum outcome { RETURNED, OVER, THROWN };
static enum outcome run_frame(struct walker *w, uint32_t block);
static uint32_t landing_block(struct walker *w, uint32_t func);

/* Unwinds from a throw: to a frame of ours that has a landing pad; the frame's index, or NONE. */
static uint32_t pick_survivor(struct walker *w)
{
	for (int i = 0; i < 20; i++) {
		uint32_t k = random_below(&w->rng, w->n);
		if (w->stack[k].func != PUGMARK_NONE &&
		    landing_block(w, w->stack[k].func) != PUGMARK_NONE)
			return k;
	}
	return PUGMARK_NONE;
}

static uint32_t landing_block(struct walker *w, uint32_t func)
{
	const struct prog_func *f = &w->prog->funcs[func];
	uint32_t start = random_below(&w->rng, f->n_blocks);
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		uint32_t b = f->block + (start + i) % f->n_blocks;
		if (w->prog->blocks[b].flags & PROG_ROOT && w->choice->marks[b])
			return b;
	}
	return PUGMARK_NONE;
}

static uint32_t survivor; /* of the throw in progress: one walk at a time */

static enum outcome throw(struct walker * w) {
	survivor = pick_survivor(w); if (survivor == PUGMARK_NONE) return OVER;
	for (uint32_t i = w->n; i-- > survivor + 1;) if (w->stack[i].func != PUGMARK_NONE)
		step(w, TRACE_UNWIND, w->prog->funcs[w->stack[i].func].addr, 0);
	return THROWN;
}

static enum outcome call_function(struct walker *w, uint32_t func, uint64_t cfa, uint64_t ret)
{
	uint32_t depth = w->n;
	push_frame(w, func, cfa, ret);
	enum outcome out = run_frame(w, w->prog->funcs[func].block);
	if (out == RETURNED)
		w->n = depth;
	return out;
}

static enum outcome call_unknown(struct walker *w, uint32_t block, uint64_t callee_cfa)
{
	const struct prog_block *b = &w->prog->blocks[block];
	uint64_t ret = BIAS + b->call_addr + b->call_len;
	uint32_t callee = pick_entered(w);
	uint32_t roll = random_below(&w->rng, 10);
	if (callee == PUGMARK_NONE || b->flags & PROG_NORETURN)
		roll = 0;
	if (roll >= 6) {
		step(w, TRACE_CALL, b->call_addr, w->prog->funcs[callee].addr);
		return call_function(w, callee, callee_cfa, ret);
	}
	step(w, TRACE_CALL, b->call_addr, 0);
	if (b->flags & PROG_NORETURN)
		return throw(w);
	if (roll < 3 || !w->walk->callbacks)
		return RETURNED;
	push_frame(w, PUGMARK_NONE, callee_cfa, ret);
	uint32_t depth = w->n;
	uint64_t below = callee_cfa - 16 - 8 * random_below(&w->rng, 64);
	for (uint32_t times = 1 + random_below(&w->rng, 2); times; times--) {
		callee = pick_entered(w);
		if (callee == PUGMARK_NONE)
			break;
		step(w, TRACE_ENTER, w->prog->funcs[callee].addr, 0);
		enum outcome out = call_function(w, callee, below, FOREIGN + 8);
		if (out != RETURNED)
			return out;
		w->n = depth;
	}
	w->n--;
	return RETURNED;
}

/* The frame is replaced: the callee returns where this function would have. */
static enum outcome tail_call(struct walker *w, uint32_t block)
{
	const struct prog_block *b = &w->prog->blocks[block];
	struct walk_frame *f = &w->stack[w->n - 1];
	uint32_t callee = b->callee;
	if (b->call != CALL_DIRECT)
		callee = b->call == CALL_UNKNOWN && b->flags & PROG_INDIRECT &&
					 random_chance(&w->rng, 50)
				 ? pick_entered(w)
				 : PUGMARK_NONE;
	if (callee == PUGMARK_NONE) {
		step(w, TRACE_TAIL, b->call_addr, 0);
		return RETURNED;
	}
	step(w, TRACE_TAIL, b->call_addr, w->prog->funcs[callee].addr);
	f->func = callee;
	return run_frame(w, w->prog->funcs[callee].block);
}

/* A call whose probe reads the target. */
static enum outcome call_by_target(struct walker *w, uint32_t block, uint64_t callee_cfa)
{
	const struct prog_block *b = &w->prog->blocks[block];
	bool tail = b->flags & PROG_TAIL;
	uint32_t callee = random_chance(&w->rng, 70) ? pick_entered(w) : PUGMARK_NONE;
	uint64_t target = callee == PUGMARK_NONE ? 0 : w->prog->funcs[callee].addr;
	event(w, block, target ? BIAS + target : FOREIGN + 64, 0);
	step(w, tail ? TRACE_TAIL : TRACE_CALL, b->call_addr, target);
	if (!target)
		return RETURNED;
	if (!tail)
		return call_function(w, callee, callee_cfa, BIAS + b->call_addr + b->call_len);
	w->stack[w->n - 1].func = callee;
	return run_frame(w, w->prog->funcs[callee].block);
}

static enum outcome do_call(struct walker *w, uint32_t block)
{
	const struct prog_block *b = &w->prog->blocks[block];
	struct walk_frame *f = &w->stack[w->n - 1];
	bool known = b->height != PUGMARK_HEIGHT_UNKNOWN;
	uint64_t callee_cfa = f->cfa - (known ? b->height : 16 + 8 * (int)random_below(&w->rng, 9));
	f->block = block;
	if (w->choice->marks[block] == MARK_TARGET)
		return call_by_target(w, block, callee_cfa);
	if (w->choice->marks[block] == MARK_LAST) {
		bool callee = b->call != CALL_LEAF && !known && !(b->flags & PROG_TAIL);
		event(w, block, 0, callee ? callee_cfa : 0);
	}
	if (b->flags & PROG_TAIL)
		return tail_call(w, block);
	if (b->call == CALL_DIRECT) {
		step(w, TRACE_CALL, b->call_addr, w->prog->funcs[b->callee].addr);
		return call_function(w, b->callee, callee_cfa, BIAS + b->call_addr + b->call_len);
	}
	if (b->call == CALL_UNKNOWN)
		return call_unknown(w, block, callee_cfa);
	step(w, TRACE_CALL, b->call_addr, 0);
	return b->flags & PROG_NORETURN ? OVER : RETURNED;
}

static enum outcome run_frame(struct walker *w, uint32_t block)
{
	uint32_t me = w->n - 1;
	for (;;) {
		const struct prog_block *b = &w->prog->blocks[block];
		uint8_t mark = w->choice->marks[block];
		if (w->steps++ >= w->limit || w->n > 200)
			return OVER;
		if (w->prog->funcs[b->func].flags & PROG_PATHS && !(b->flags & PROG_VIRTUAL))
			step(w, TRACE_BLOCK, b->addr, 0);
		if (mark == MARK_BLOCK)
			event(w, block, 0, 0);
		if (b->call != CALL_NONE) {
			enum outcome out = do_call(w, block);
			if (out == THROWN && survivor == me) {
				w->n = me + 1;
				block = landing_block(w, w->stack[me].func);
				continue;
			}
			if (out != RETURNED || b->flags & PROG_TAIL)
				return out;
		}
		if (b->flags & PROG_RET) {
			if (mark == MARK_LAST)
				event(w, block, 0, 0);
			step(w, TRACE_RET, w->prog->funcs[w->stack[me].func].addr, 0);
			return RETURNED;
		}
		if (!b->n_succ)
			return OVER;
		uint32_t way = random_below(&w->rng, b->n_succ);
		uint32_t next = prog_succs(w->prog, block)[way];
		if (mark == MARK_BRANCH)
			event(w, block, way, 0);
		if (mark == MARK_TARGET)
			event(w, block, BIAS + w->prog->blocks[next].addr, 0);
		block = next;
	}
}

static uint32_t *map_sites(const struct program *prog, const struct choice *choice,
			   const struct pugmark_plan *plan)
{
	uint32_t *site_of = calloc(prog->n_blocks + 1, sizeof(*site_of));
	for (uint32_t b = 0; b < prog->n_blocks; b++) {
		if (!choice->marks[b])
			continue;
		uint64_t addr = choice->marks[b] == MARK_BLOCK ? prog->blocks[b].any.addr
							       : prog->blocks[b].last.addr;
		for (uint32_t s = 0; s < plan->n_sites; s++)
			if (plan->sites[s].addr == addr)
				site_of[b] = s;
	}
	return site_of;
}

void walk_program(const struct program *prog, const struct choice *choice,
		  const struct pugmark_plan *plan, uint32_t func, uint32_t limit, uint64_t seed,
		  struct walk *out)
{
	struct walker w = {.prog = prog, .choice = choice, .plan = plan, .walk = out};
	*out = (struct walk){.callbacks = out->callbacks};
	w.rng = seed;
	w.limit = limit;
	w.site_of = map_sites(prog, choice, plan);
	step(&w, TRACE_ENTER, prog->funcs[func].addr, 0);
	push_frame(&w, func, 0x7ffffff00000ull, FOREIGN);
	out->finished = run_frame(&w, prog->funcs[func].block) == RETURNED;
	struct witness_event end = {.kind = EVENT_END, .time_ns = ++w.time_ns};
	end.val = !out->finished;
	PUSH(out->events, out->n_events, out->cap_events, end);
	if (out->finished)
		out->decided = out->n_steps;
	for (uint32_t i = 0; i < out->n_events; i++)
		if (out->events[i].stack)
			out->events[i].stack = out->stacks + ((uintptr_t)out->events[i].stack - 1);
	free(w.site_of);
	free(w.stack);
}

void walk_deinit(struct walk *walk)
{
	free(walk->steps);
	free(walk->events);
	free(walk->stacks);
	*walk = (struct walk){0};
}

static const char *const kind_names[] = {
	[TRACE_CALL] = "call",	   [TRACE_TAIL] = "tail",   [TRACE_RET] = "ret",
	[TRACE_UNWIND] = "unwind", [TRACE_ENTER] = "enter", [TRACE_GAP] = "gap",
	[TRACE_BLOCK] = "block",
};

struct comparison {
	const struct walk *walk;
	uint32_t n;
	bool differs;
	char *text;
	size_t size;
};

static void compare(void *ctx, const struct trace_event *e)
{
	struct comparison *c = ctx;
	if (c->differs)
		return;
	const struct walk_step *s = c->n < c->walk->n_steps ? &c->walk->steps[c->n] : NULL;
	/* A walk is cut short between a call and the entry that would say where it went. */
	bool cut = s && c->n >= c->walk->decided && !e->target && c->n + 1 >= c->walk->n_steps;
	if (!s || s->kind != e->kind || s->addr != e->addr || (s->target != e->target && !cut)) {
		c->differs = true;
		snprintf(c->text, c->size, "step %u: walked %s %llx %llx, recovered %s %llx %llx",
			 c->n, s ? kind_names[s->kind] : "nothing",
			 s ? (unsigned long long)s->addr : 0, s ? (unsigned long long)s->target : 0,
			 kind_names[e->kind], (unsigned long long)e->addr,
			 (unsigned long long)e->target);
	}
	c->n++;
}

const char *walk_check(const struct walk *walk, const struct pugmark_plan *plan)
{
	static char text[256];
	struct parse_tables *tables;
	struct parser *parser;
	struct comparison c = {.walk = walk, .text = text, .size = sizeof(text)};
	if (parse_tables_new(plan, &tables))
		return "out of memory";
	if (parser_new(&tables, &plan, 1, compare, &c, &parser)) {
		parse_tables_free(tables);
		return "out of memory";
	}
	for (uint32_t i = 0; i < walk->n_events && !c.differs; i++)
		if (parser_feed(parser, &walk->events[i])) {
			c.differs = true;
			snprintf(text, sizeof(text), "out of memory");
		}
	if (!c.differs && c.n < walk->decided) {
		c.differs = true;
		snprintf(text, sizeof(text), "recovered %u of %u decided steps", c.n,
			 walk->decided);
	}
	parser_free(parser);
	parse_tables_free(tables);
	return c.differs ? text : NULL;
}

void walk_print(const struct walk *walk)
{
	for (uint32_t i = 0; i < walk->n_steps && i < 200; i++)
		printf("  %3u %-6s %llx %llx\n", i, kind_names[walk->steps[i].kind],
		       (unsigned long long)walk->steps[i].addr,
		       (unsigned long long)walk->steps[i].target);
	for (uint32_t i = 0; i < walk->n_events && i < 100; i++)
		printf("  event site %u cfa %llx ret %llx val %llx\n", walk->events[i].site,
		       (unsigned long long)walk->events[i].cfa,
		       (unsigned long long)walk->events[i].ret,
		       (unsigned long long)walk->events[i].val);
}
