// SPDX-License-Identifier: LGPL-2.1-or-later
/* walker.c: see walker.h. The machine it simulates has a stack with return addresses, whatever was
 * left there by earlier calls, and nothing else. Foreign code is what lies beyond the program: it
 * returns, calls back, throws, or ends the thread; a signal handler may interrupt anything. What
 * no machine can do is left out: a frame of a function keeps its size, a handler lies below the
 * red zone of what it interrupts (or on a stack of its own), and a frame whose address only the
 * witnesses know is none. */
#include "tests/support/walker.h"

#include "tests/support/random_program.h"

#include <stdlib.h>
#include <string.h>

#define BIAS 0x555500000000ull
#define FOREIGN 0x7f0000001000ull
#define TRAMPOLINE 0x7f0000009000ull
#define SNAPSHOT_WORDS 512
#define STACK_TOP 0x7ffffff00000ull
#define STACK_WORDS 65536
#define ALT_TOP 0x600000800000ull /* of the stack that some handlers run on */
#define ALT_WORDS 16384
#define FRAMES_MAX 200
#define LEAST_HEIGHT 16
#define SAVED_WORDS 6

struct walk_frame {
	uint32_t func; /* PUGMARK_NONE: foreign */
	uint32_t act;
	uint64_t cfa, ret;
	uint32_t block;	 /* where it is */
	uint64_t sp, ip; /* while it runs itself; ip of foreign code is of no matter */
};

/* How adventurous a walk is, in percent of the occasions. */
struct temper {
	uint32_t signal; /* in ten thousandths */
	uint32_t throws, callback, into_program;
	bool alt_stack;
	bool untidy; /* foreign frames keep what earlier calls have left there */
};

/* The words below the tops of the two stacks, and how many of them a walk has used. */
struct memory {
	uint64_t stack[STACK_WORDS], alt[ALT_WORDS];
	uint32_t stack_used, alt_used;
};
static struct memory shared_memory; /* one walk at a time */

struct walker {
	const struct program *prog;
	const struct choice *choice;
	const struct pugmark_plan *plan;
	const uint32_t *site_of, *entered;
	uint32_t n_entered;
	struct temper temper;
	struct walk *walk;
	struct walk_frame stack[FRAMES_MAX];
	uint32_t n;
	uint64_t rng, time_ns;
	struct memory *memory;
	uint32_t act, handlers; /* running; how many of them are open */
	uint32_t survivor;	/* THROWN: index of the frame that it lands in; NONE: of none */
	uint32_t steps, limit;
};

/* RETURNED: to the caller; OVER: the walk ends here; THROWN: on the way to the survivor. */
enum outcome { RETURNED, OVER, THROWN };

#define PUSH(array, n, cap, value)                                                                 \
	do {                                                                                       \
		if ((n) == (cap)) {                                                                \
			(cap) = (cap) ? 2 * (cap) : 64;                                            \
			(array) = realloc((array), (cap) * sizeof(*(array)));                      \
		}                                                                                  \
		(array)[(n)++] = (value);                                                          \
	} while (0)

/* ---- memory and events ---- */

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

static void forget_memory(struct memory *m)
{
	memset(m->stack, 0, m->stack_used * sizeof(uint64_t));
	memset(m->alt, 0, m->alt_used * sizeof(uint64_t));
	m->stack_used = m->alt_used = 0;
}

static void store(struct walker *w, uint64_t addr, uint64_t value)
{
	uint64_t *word = word_at(w, addr);
	if (word)
		*word = value;
}

static uint32_t own_frames(const struct walker *w)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < w->n; i++)
		n += w->stack[i].func != PUGMARK_NONE;
	return n;
}

static void step(struct walker *w, uint8_t kind, uint8_t cause, uint64_t addr, uint64_t target)
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

static uint64_t func_addr(const struct walker *w, uint32_t func)
{
	return func == PUGMARK_NONE ? 0 : w->prog->funcs[func].addr;
}

static void snapshot(struct walker *w, struct witness_event *e, uint64_t from)
{
	struct walk *walk = w->walk;
	uint32_t first = walk->n_stacks;
	for (int i = 0; i < SNAPSHOT_WORDS; i++) {
		uint64_t *word = word_at(w, from + 8 * i);
		if (!word)
			break;
		PUSH(walk->stacks, walk->n_stacks, walk->cap_stacks, *word);
	}
	e->stack = (const uint64_t *)(uintptr_t)(first + 1); /* made a pointer at the end */
	e->stack_addr = from;
	e->stack_words = walk->n_stacks - first;
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
		snapshot(w, &e, f->cfa - 8);
	PUSH(w->walk->events, w->walk->n_events, w->walk->cap_events, e);
	w->walk->acts[w->act].decided = w->walk->n_steps;
}

static void push_frame(struct walker *w, uint32_t func, uint64_t cfa, uint64_t ret)
{
	w->stack[w->n++] = (struct walk_frame){
		.func = func,
		.act = w->act,
		.cfa = cfa,
		.ret = ret,
		.sp = cfa - 8,
	};
	store(w, cfa - 8, ret);
}

/* A frame that grows writes what it grows over: arguments, in the main. */
static void grow_frame(struct walker *w, uint64_t sp)
{
	for (uint64_t at = sp; at < w->stack[w->n - 1].cfa - 8; at += 8)
		store(w, at, random_next(&w->rng));
}

static bool full(const struct walker *w)
{
	return w->n + 2 >= FRAMES_MAX || w->steps > w->limit;
}

/* ---- foreign code ---- */

static enum outcome run_frame(struct walker *w, uint32_t block);
static enum outcome run_foreign(struct walker *w, bool returns);

static uint32_t pick_entered(struct walker *w)
{
	return w->n_entered ? w->entered[random_below(&w->rng, w->n_entered)] : PUGMARK_NONE;
}

static enum outcome call_function(struct walker *w, uint32_t func, uint64_t cfa, uint64_t ret)
{
	uint32_t depth = w->n;
	if (full(w))
		return OVER;
	push_frame(w, func, cfa, ret);
	enum outcome out = run_frame(w, w->prog->funcs[func].block);
	if (out == RETURNED)
		w->n = depth;
	return out;
}

static enum outcome call_foreign(struct walker *w, uint64_t cfa, uint64_t ret, bool returns)
{
	uint32_t depth = w->n;
	if (full(w))
		return OVER;
	push_frame(w, PUGMARK_NONE, cfa, ret);
	enum outcome out = run_foreign(w, returns);
	if (out == RETURNED)
		w->n = depth;
	return out;
}

static bool leads_to(const struct walker *w, uint32_t block, uint32_t next)
{
	for (uint32_t i = 0; i < w->prog->blocks[block].n_succ; i++)
		if (prog_succs(w->prog, block)[i] == next)
			return true;
	return false;
}

/* Where a throw can land in @frame: a landing pad, or where a setjmp returned that is done. */
static uint32_t landing_block(struct walker *w, const struct walk_frame *frame)
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

/* Goes on in activation @act, which may be one that the running handler interrupted: then what ran
 * in silence before that is not known. Returns whether it is the same. */
static bool leave_act(struct walker *w, uint32_t act, struct walk_throw *t)
{
	if (act == w->act)
		return true;
	w->act = act;
	if (w->walk->acts[act].decided < t->first)
		t->first = w->walk->acts[act].decided;
	return false;
}

/* Unwinds to the first @n frames. @surely: out of a call that does not return, so that, if nothing
 * else ran since the last event, all is known. */
static void unwind(struct walker *w, uint32_t n, bool surely)
{
	struct walk_throw t = {
		.first = w->walk->acts[w->act].decided,
		.event = w->walk->n_events,
	};
	uint32_t since = w->walk->n_steps - t.first;
	surely = surely && since <= 1;
	while (w->n > n) {
		const struct walk_frame *f = &w->stack[w->n - 1];
		surely = leave_act(w, f->act, &t) && surely;
		if (f->func != PUGMARK_NONE)
			step(w, TRACE_UNWIND, 0, func_addr(w, f->func), 0);
		w->n--;
	}
	if (n)
		surely = leave_act(w, w->stack[n - 1].act, &t) && surely;
	t.resume = w->walk->n_steps;
	t.act = w->act;
	if (!surely)
		PUSH(w->walk->throws, w->walk->n_throws, w->walk->cap_throws, t);
}

/* Throws to some frame that has a landing pad; OVER where there is none. */
static enum outcome throw_up(struct walker *w, bool surely)
{
	uint32_t survivor = PUGMARK_NONE;
	for (int i = 0; i < 20 && survivor == PUGMARK_NONE; i++) {
		uint32_t k = random_below(&w->rng, w->n);
		if (w->stack[k].func != PUGMARK_NONE &&
		    landing_block(w, &w->stack[k]) != PUGMARK_NONE)
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

/* Writes the frame that the kernel makes for a handler, see rt_sigframe in the kernel's
 * arch/x86/include/asm/sigframe.h, from @at upwards. */
static void write_signal_frame(struct walker *w, uint64_t at, uint64_t sp, uint64_t ip)
{
	store(w, at, TRAMPOLINE);
	store(w, at + 8, 7);
	store(w, at + 16, 0);
	for (int i = 3; i < 21; i++)
		store(w, at + 8 * i, random_next(&w->rng));
	store(w, at + 168, sp);
	store(w, at + 176, ip);
	store(w, at + 184, 0x246);
	store(w, at + 192, 0x002b000000000033);
}

/* Now and then a signal comes. */
static enum outcome maybe_signal(struct walker *w)
{
	if (!w->temper.signal || random_below(&w->rng, 10000) >= w->temper.signal ||
	    w->handlers > 2 || full(w))
		return RETURNED;
	uint32_t handler = pick_entered(w);
	if (handler == PUGMARK_NONE)
		return RETURNED;
	struct walk_act act = {.first = w->walk->n_steps, .parent = w->act};
	act.before = w->walk->acts[w->act].decided;
	uint64_t sp = w->stack[w->n - 1].sp;
	uint64_t under = sp - 128;
	if (w->temper.alt_stack && under >= STACK_TOP - 8ull * STACK_WORDS)
		under = ALT_TOP;
	uint64_t at = (under - 1400 - 64 * random_below(&w->rng, 20)) & ~(uint64_t)63;
	write_signal_frame(w, at, sp, w->stack[w->n - 1].ip);
	uint32_t parent = w->act;
	PUSH(w->walk->acts, w->walk->n_acts, w->walk->cap_acts, act);
	w->act = w->walk->n_acts - 1;
	w->handlers++;
	step(w, TRACE_ENTER, CAUSE_SIGNAL, func_addr(w, handler), 0);
	enum outcome out = call_function(w, handler, at + 8, TRAMPOLINE);
	w->handlers--;
	if (out == RETURNED)
		w->act = parent;
	return out;
}

/* The topmost frame is foreign and runs. */
static enum outcome run_foreign(struct walker *w, bool returns)
{
	uint32_t me = w->n - 1;
	uint64_t below = w->stack[me].cfa - 16 - 8 * random_below(&w->rng, 64);
	/* It saves registers; what it reserves besides may keep what was there. */
	uint64_t saved = w->stack[me].cfa - 8 - 8 * SAVED_WORDS;
	for (uint64_t at = below; at < w->stack[me].cfa - 8; at += 8)
		if (!w->temper.untidy || at >= saved || random_chance(&w->rng, 50))
			store(w, at, random_next(&w->rng));
	w->stack[me].sp = below;
	uint32_t began = w->walk->n_steps;
	while (random_chance(&w->rng, w->temper.callback)) {
		uint32_t callee = pick_entered(w);
		enum outcome out = maybe_signal(w);
		if (callee == PUGMARK_NONE)
			break;
		/* The same call may enter the program, or more foreign code that does. */
		if (out == RETURNED && w->n < 40 && random_chance(&w->rng, 15)) {
			out = call_foreign(w, below, FOREIGN + 8, true);
		} else if (out == RETURNED) {
			step(w, TRACE_ENTER, CAUSE_CALLBACK, func_addr(w, callee), 0);
			out = call_function(w, callee, below, FOREIGN + 8);
		}
		if (out != RETURNED)
			return out;
		if (random_chance(&w->rng, 30)) {
			store(w, below - 8, FOREIGN + 16); /* a call of its own */
			below -= 8 + 8 * random_below(&w->rng, 8);
			w->stack[me].sp = below;
		}
	}
	if (returns)
		return random_chance(&w->rng, w->temper.throws) ? throw_up(w, false) : RETURNED;
	if (random_chance(&w->rng, 10))
		return exit_thread(w, began == w->walk->n_steps);
	return throw_up(w, began == w->walk->n_steps);
}

/* ---- code of the program ---- */

/* A signal may come between a witness in @block and its call, which is taken to come after it: a
 * block that shows is reported whole. */
static enum outcome before_call(struct walker *w, uint32_t block)
{
	const struct prog_block *b = &w->prog->blocks[block];
	if (w->choice->marks[block] != MARK_BLOCK || b->any.addr == b->call_addr)
		return RETURNED; /* a probed call is made with its event */
	w->stack[w->n - 1].ip = BIAS + b->call_addr;
	return maybe_signal(w);
}

static enum outcome make_call(struct walker *w, uint32_t block, uint32_t callee)
{
	step(w, TRACE_CALL, 0, w->prog->blocks[block].call_addr, func_addr(w, callee));
	return before_call(w, block);
}

/* A call through a register or into another module. */
static enum outcome call_unknown(struct walker *w, uint32_t block, uint64_t callee_cfa,
				 uint32_t callee)
{
	const struct prog_block *b = &w->prog->blocks[block];
	uint64_t ret = BIAS + b->call_addr + b->call_len;
	enum outcome out = make_call(w, block, callee);
	if (out != RETURNED)
		return out;
	if (callee != PUGMARK_NONE)
		return call_function(w, callee, callee_cfa, ret);
	return call_foreign(w, callee_cfa, ret, !(b->flags & PROG_NORETURN));
}

/* The frame of @block's function becomes that of @callee. */
static enum outcome jump_to(struct walker *w, uint32_t block, uint32_t callee)
{
	const struct prog_block *b = &w->prog->blocks[block];
	struct walk_frame *f = &w->stack[w->n - 1];
	step(w, TRACE_TAIL, 0, b->call_addr, func_addr(w, callee));
	f->func = callee;
	/* Were a handler called back or interrupted after it has jumped out, nothing in a trace
	 * would say whether it is still the handler that runs. */
	if (callee == PUGMARK_NONE && f->ret == TRAMPOLINE)
		return RETURNED;
	enum outcome out = before_call(w, block);
	if (out != RETURNED)
		return out;
	if (callee != PUGMARK_NONE)
		return run_frame(w, w->prog->funcs[callee].block);
	if (b->call == CALL_LEAF)
		return b->flags & PROG_NORETURN ? OVER : RETURNED;
	return run_foreign(w, !(b->flags & PROG_NORETURN));
}

static enum outcome tail_call(struct walker *w, uint32_t block)
{
	const struct prog_block *b = &w->prog->blocks[block];
	uint32_t callee = b->call == CALL_DIRECT ? b->callee : PUGMARK_NONE;
	if (b->call == CALL_UNKNOWN && b->flags & PROG_INDIRECT && random_chance(&w->rng, 50))
		callee = pick_entered(w);
	return jump_to(w, block, callee);
}

/* A call whose probe reads the target. */
static enum outcome call_by_target(struct walker *w, uint32_t block, uint64_t callee_cfa)
{
	const struct prog_block *b = &w->prog->blocks[block];
	uint32_t callee =
		random_chance(&w->rng, w->temper.into_program) ? pick_entered(w) : PUGMARK_NONE;
	event(w, block, callee == PUGMARK_NONE ? FOREIGN + 64 : BIAS + func_addr(w, callee), 0);
	return b->flags & PROG_TAIL ? jump_to(w, block, callee)
				    : call_unknown(w, block, callee_cfa, callee);
}

/* Into a module that does not come back but by returning, or by a throw. */
static enum outcome call_leaf(struct walker *w, uint32_t block, uint64_t callee_cfa, uint64_t ret)
{
	uint32_t me = w->n - 1;
	store(w, callee_cfa - 8, ret);
	w->stack[me].sp = callee_cfa - 8 - 8 * random_below(&w->rng, 32);
	w->stack[me].ip = FOREIGN + 32;
	enum outcome out = maybe_signal(w);
	w->stack[me].sp = w->stack[me].cfa - 8;
	if (out != RETURNED)
		return out;
	if (w->prog->blocks[block].flags & PROG_NORETURN)
		return random_chance(&w->rng, 50) ? throw_up(w, true) : OVER;
	return random_chance(&w->rng, w->temper.throws) ? throw_up(w, false) : RETURNED;
}

static enum outcome do_call(struct walker *w, uint32_t block)
{
	const struct prog_block *b = &w->prog->blocks[block];
	struct walk_frame *f = &w->stack[w->n - 1];
	bool known = b->height != PUGMARK_HEIGHT_UNKNOWN;
	uint64_t callee_cfa =
		f->cfa -
		(known ? b->height : LEAST_HEIGHT + 8 * (int)random_below(&w->rng, SAVED_WORDS));
	grow_frame(w, callee_cfa);
	if (w->choice->marks[block] == MARK_TARGET)
		return call_by_target(w, block, callee_cfa);
	if (w->choice->marks[block] == MARK_LAST) {
		bool callee = b->call != CALL_LEAF && !known && !(b->flags & PROG_TAIL);
		event(w, block, 0, callee ? callee_cfa : 0);
	}
	if (b->flags & PROG_TAIL)
		return tail_call(w, block);
	uint32_t callee = b->call == CALL_DIRECT ? b->callee : PUGMARK_NONE;
	if (b->call == CALL_UNKNOWN) {
		/* A call by an import's name does not reach a function of another name. */
		bool anywhere = b->flags & PROG_INDIRECT || b->site == PUGMARK_NONE;
		if (!(b->flags & PROG_NORETURN) && random_chance(&w->rng, w->temper.into_program) &&
		    anywhere)
			callee = pick_entered(w);
		return call_unknown(w, block, callee_cfa, callee);
	}
	enum outcome out = make_call(w, block, callee);
	if (out != RETURNED)
		return out;
	uint64_t ret = BIAS + b->call_addr + b->call_len;
	if (b->call == CALL_DIRECT)
		return call_function(w, callee, callee_cfa, ret);
	return call_leaf(w, block, callee_cfa, ret);
}

/* Where the frame @me goes on after what its block did came out as @out. */
static bool lands_here(struct walker *w, enum outcome out, uint32_t me, uint32_t *block)
{
	if (out != THROWN || w->survivor != me)
		return false;
	*block = landing_block(w, &w->stack[me]);
	return true;
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
		event(w, block, way, 0);
	if (w->choice->marks[block] == MARK_TARGET)
		event(w, block, BIAS + w->prog->blocks[next].addr, 0);
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

static enum outcome run_frame(struct walker *w, uint32_t block)
{
	uint32_t me = w->n - 1;
	bool begun = !(w->prog->funcs[w->stack[me].func].flags & PROG_ENTRY_WITNESS);
	for (;;) {
		const struct prog_block *b = &w->prog->blocks[block];
		uint8_t mark = w->choice->marks[block];
		if (w->steps++ >= w->limit)
			return OVER;
		w->stack[me].ip = BIAS + b->addr;
		/* What is interrupted before the witness that says that it was entered, or landed
		 * in, is so after it. */
		enum outcome out = begun ? maybe_signal(w) : RETURNED;
		begun = !lands_here(w, out, me, &block);
		if (!begun)
			continue;
		if (out != RETURNED)
			return out;
		w->stack[me].block = block;
		if (shows_block(w, block))
			step(w, TRACE_BLOCK, 0, b->addr, 0);
		if (mark == MARK_BLOCK)
			event(w, block, 0, 0);
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
				event(w, block, 0, 0);
			step(w, TRACE_RET, 0, func_addr(w, w->stack[me].func), 0);
			return RETURNED;
		}
		block = go_on(w, block);
		if (block == PUGMARK_NONE)
			return OVER;
	}
}

/* ---- a walk ---- */

static uint32_t *map_sites(const struct program *prog, const struct choice *choice,
			   const struct pugmark_plan *plan)
{
	uint32_t *site_of = calloc(prog->n_blocks + 1, sizeof(*site_of));
	uint32_t site = 0;
	for (uint32_t b = 0; b < prog->n_blocks; b++) {
		if (!choice->marks[b] || !(prog->blocks[b].flags & PROG_REACHED))
			continue;
		uint64_t addr = choice->marks[b] == MARK_BLOCK ? prog->blocks[b].any.addr
							       : prog->blocks[b].last.addr;
		for (uint32_t i = 0; plan->sites[site].addr != addr && i < plan->n_sites; i++)
			site = (site + 1) % plan->n_sites;
		site_of[b] = site;
	}
	return site_of;
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
		.untidy = random_chance(rng, 10),
	};
}

void walk_ground_init(struct walk_ground *g, const struct program *prog,
		      const struct choice *choice, const struct pugmark_plan *plan)
{
	*g = (struct walk_ground){.prog = prog, .choice = choice, .plan = plan};
	g->site_of = map_sites(prog, choice, plan);
	g->entered = calloc(prog->n_funcs, sizeof(uint32_t));
	if (parse_tables_new(plan, &g->tables))
		abort();
	for (uint32_t f = 0; f < prog->n_funcs; f++)
		if (prog->funcs[f].flags & PROG_ENTRY_WITNESS && prog->funcs[f].n_blocks &&
		    choice->marks[prog->funcs[f].block] &&
		    !(plan->funcs[f].flags & PLAN_FUNC_START))
			g->entered[g->n_entered++] = f;
}

void walk_ground_deinit(struct walk_ground *g)
{
	parse_tables_free(g->tables);
	free(g->site_of);
	free(g->entered);
	*g = (struct walk_ground){0};
}

static void walker_init(struct walker *w)
{
	w->memory = &shared_memory;
	forget_memory(w->memory);
	struct walk_act thread = {.parent = 0};
	PUSH(w->walk->acts, w->walk->n_acts, w->walk->cap_acts, thread);
	choose_temper(w);
	w->walk->untidy = w->temper.untidy;
}

/* The thread's first function runs; then foreign code below it may call others. */
static bool run_roots(struct walker *w, uint32_t func)
{
	uint64_t cfa = STACK_TOP - 256;
	for (;;) {
		w->n = 0;
		w->act = 0;
		step(w, TRACE_ENTER, CAUSE_THREAD, func_addr(w, func), 0);
		enum outcome out = call_function(w, func, cfa, FOREIGN);
		if (out == OVER)
			return false;
		if (!random_chance(&w->rng, 40))
			return out == RETURNED;
		func = pick_entered(w);
		if (func == PUGMARK_NONE)
			return out == RETURNED;
		if (random_chance(&w->rng, 50)) {
			store(w, cfa - 8, FOREIGN + 24); /* by way of a call of its own */
			cfa = STACK_TOP - 512 - 8 * random_below(&w->rng, 8);
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
		.entered = ground->entered,
		.n_entered = ground->n_entered,
		.walk = out,
		.rng = seed,
		.limit = limit,
	};
	*out = (struct walk){0};
	walker_init(&w);
	bool finished = run_roots(&w, func);
	struct witness_event end = {.kind = EVENT_END, .time_ns = ++w.time_ns, .val = !finished};
	PUSH(out->events, out->n_events, out->cap_events, end);
	if (finished)
		for (uint32_t a = 0; a < out->n_acts; a++)
			out->acts[a].decided = out->n_steps;
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
	free(walk->acts);
	free(walk->throws);
	free(walk->events);
	free(walk->stacks);
	*walk = (struct walk){0};
}
