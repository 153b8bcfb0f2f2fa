// SPDX-License-Identifier: LGPL-2.1-or-later
/* edges.c: checks that everything a program executed is in the model of it:
 *
 *   edges MODEL-TEXT MODULE-FILE TRACE-DIR
 *
 * Every step of the block trace (flow.h) is classified by its last instruction, which Capstone
 * decoded, and by a shadow stack of the open calls that is kept here, and must then be an edge, a
 * call site, a tail site or a return of the model:
 *
 *  - running on, jumps and jump tables: an edge between the model's blocks; a jump into another
 *    function: a tail site, to that function's entry;
 *  - calls: a call site with that target (direct), that symbol (through the PLT) or, if indirect, a
 *    target flagged address-taken, maybe-taken or uncalled;
 *  - returns: to where the innermost open call says, over a return edge of that call; the block
 *    must be known to end in a return;
 *  - jumps that leave frames for good: to the return point of a setjmp-like call, or a label whose
 *    address is taken, in the function of an open call;
 *  - entries from outside: a return as above, the entry of a function that is flagged so
 *    or exported, a landing pad, or the return point of a setjmp-like call.
 *  - stack heights: between two calls that are open at once, the distance of their return addresses
 *    is what the model says of the second one's site.
 *
 * Also, the model's blocks must begin and end where executed instructions do, and a jump, call or
 * return must be the last of its block. Code in no function is not checked, but counted (opaque).
 * Targets of a jump that the model calls open are listed apart, they are no misses.
 *
 * Prints one line of totals, then the misses and open targets. Exit status 1 if there is a miss. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "model_text.h"
#include "pairs.h"

struct frame {
	uint64_t ret;		     /* 0: called from outside the module */
	uint64_t slot;		     /* where it lies on the stack; 0: not known */
	const struct tblock *caller; /* NULL then */
};

struct edges {
	const struct model_text *model;
	const struct module *module;
	struct trace_blocks *blocks;
	bool *checked; /* by record: the block by itself was */
	struct frame *stack;
	size_t depth, room;
	bool own;
	struct pairs done, misses, open;
	uint64_t opaque, unwound, heights, heights_unknown;
};

/* --- results --- */
static void miss(struct edges *c, uint64_t from, uint64_t to, const char *what)
{
	if (c->own)
		pairs_add(&c->misses, from, to)->what = what;
}

static bool modelled(const struct edges *c, uint64_t addr)
{
	uint32_t f = model_text_func_at(c->model, addr);

	return f != UINT32_MAX && !(c->model->funcs[f].bits & MT_OPAQUE);
}

/* The model's edge from the block that holds @from to the one that starts at @to. */
static const struct mt_edge *edge(const struct edges *c, uint64_t from, uint64_t to)
{
	const struct mt_block *b = model_text_block_at(c->model, from);

	return b ? model_text_edge(c->model, b->addr, to) : NULL;
}

static void executed(struct edges *c, uint64_t from, uint64_t to)
{
	if (c->own)
		pairs_add(&c->done, from, to);
}

/* Control went from the instruction at @last, the last of @m, to the next one, at @to. */
static void check_runs_on(struct edges *c, const struct mt_block *m, uint64_t last, uint64_t to)
{
	const struct mt_site *site = model_text_site_to(c->model, last, to);

	if (model_text_func_at(c->model, last) == model_text_func_at(c->model, to)) {
		if (!model_text_edge(c->model, m->addr, to))
			miss(c, last, to, "runs on without an edge");
	} else if (!site || site->kind != MT_TAIL || site->target != to ||
		   !model_text_has(site->flags, "falls")) {
		miss(c, last, to, "runs on into another function");
	}
}

/* --- the block by itself --- */
static void check_block(struct edges *c, const struct tblock *b)
{
	const struct mt_block *m = model_text_block_at(c->model, b->addr), *next;
	uint64_t at = b->addr;

	if (!m) {
		miss(c, b->addr, b->addr, "executed code is in no block");
		return;
	}
	for (unsigned i = 0; i < b->n_insns; i++) {
		uint64_t end = m->addr + m->size;

		if (at > end || (at < end && at + b->lens[i] > end)) {
			miss(c, at, end, "block ends inside an executed instruction");
			return;
		}
		if (at < end && model_text_block_at(c->model, at) != m) {
			miss(c, at, m->addr, "blocks overlap");
			return;
		}
		if (at == end) {
			next = model_text_block_at(c->model, at);
			if (!next || next->addr != at) {
				miss(c, m->addr, at, "executed code is in no block");
				return;
			}
			executed(c, m->addr, at);
			check_runs_on(c, m, at - b->lens[i - 1], at);
			m = next;
		}
		at += b->lens[i];
	}
	if (b->kind > LAST_REP && m->addr + m->size != b->end)
		miss(c, b->last, m->addr + m->size, "branch is not the last of its block");
}

/* --- the shadow stack --- */
static void push(struct edges *c, uint64_t ret, uint64_t slot, const struct tblock *caller)
{
	if (c->depth == c->room) {
		c->room = c->room ? c->room * 2 : 4096;
		c->stack = realloc(c->stack, c->room * sizeof(*c->stack));
		if (!c->stack)
			abort();
	}
	c->stack[c->depth++] = (struct frame){ret, slot, caller};
}

static const struct frame *top(const struct edges *c)
{
	return c->depth ? &c->stack[c->depth - 1] : NULL;
}

static void check_return_edge(struct edges *c, const struct tblock *caller, uint64_t to)
{
	const struct mt_edge *e;

	executed(c, caller->last, to);
	if (!modelled(c, caller->last))
		return;
	e = edge(c, caller->last, to);
	if (!e || strcmp(e->kind, "return"))
		miss(c, caller->last, to, "call returned without a return edge");
}

/* Pops down to and including the innermost frame that returns to @to; false where there is none. */
static bool unwind_to_return(struct edges *c, uint64_t to)
{
	for (size_t i = c->depth; i-- > 0;) {
		if (c->stack[i].ret != to)
			continue;
		c->unwound += c->depth - i - 1;
		c->depth = i;
		check_return_edge(c, c->stack[i].caller, to);
		return true;
	}
	return false;
}

/* The innermost frame from which control can come to @pad by unwinding is popped. */
static bool unwind_to_pad(struct edges *c, const struct mt_block *pad)
{
	bool setjmp = model_text_has(pad->flags, "setjmp-return");
	uint32_t func = model_text_func_at(c->model, pad->addr);

	for (size_t i = c->depth; i-- > 0;) {
		const struct tblock *caller = c->stack[i].caller;
		const struct mt_edge *e;

		if (!caller || model_text_func_at(c->model, caller->last) != func)
			continue;
		e = edge(c, caller->last, pad->addr);
		if (!setjmp && (!e || strcmp(e->kind, "unwind")))
			continue;
		executed(c, caller->last, pad->addr);
		c->unwound += c->depth - i;
		c->depth = i;
		return true;
	}
	return false;
}

/* @to runs after code outside the module. */
static void arrive(struct edges *c, const struct tblock *to)
{
	const struct mt_func *f = model_text_func_start(c->model, to->addr);
	const struct mt_block *b = model_text_block_at(c->model, to->addr);
	const struct frame *t = top(c);

	if (t && t->ret == to->addr && !(f && !edge(c, t->caller->last, to->addr))) {
		check_return_edge(c, t->caller, to->addr);
		c->depth--;
		return;
	}
	if (f) {
		push(c, 0, 0, NULL);
		executed(c, 0, to->addr);
		if (!(f->bits & (MT_ADDRESS_TAKEN | MT_EXPORTED)))
			miss(c, 0, to->addr, "entered from outside, not flagged so");
		return;
	}
	if (b && b->addr == to->addr &&
	    (model_text_has(b->flags, "landing-pad") ||
	     model_text_has(b->flags, "setjmp-return")) &&
	    unwind_to_pad(c, b))
		return;
	if (unwind_to_return(c, to->addr))
		return;
	push(c, 0, 0, NULL);
	/* The kernel enters a signal trampoline one byte behind the start of its FDE. */
	if (modelled(c, to->addr) &&
	    !(c->model->funcs[model_text_func_at(c->model, to->addr)].bits & MT_SIGNAL_FRAME))
		miss(c, 0, to->addr, "entered from outside in the middle of a function");
}

/* --- steps --- */
static bool same_symbol(const struct mt_site *site, const struct module_slot *slot)
{
	return !slot || (site->import && !strcmp(site->import, slot->name));
}

/* A call or tail jump at the end of @b to code of the module (@to) or outside it (@to NULL). */
static void check_site(struct edges *c, const struct tblock *b, const struct flow_step *s,
		       const struct tblock *to, uint8_t kind)
{
	const struct mt_site *site = model_text_site_to(c->model, b->last, to ? to->addr : 0);
	const struct mt_func *f = to ? model_text_func_start(c->model, to->addr) : NULL;
	bool direct = b->kind != LAST_CALL_IND && b->kind != LAST_JMP_IND;
	const struct module_slot *slot = direct ? s->slot : module_slot_at(c->module, b->slot);
	uint64_t at = to ? to->addr : 0;

	if (!site || site->kind != kind) {
		miss(c, b->last, at, kind == MT_CALL ? "no call site" : "no tail site");
		return;
	}
	if (to && !f && modelled(c, at))
		miss(c, b->last, at, "goes into the middle of a function");
	if (s->plt && direct) {
		if (site->via != MT_IMPORT || !same_symbol(site, slot))
			miss(c, b->last, at, "PLT site without its symbol");
	} else if (direct) {
		if (site->via != MT_DIRECT || site->target != b->target || at != b->target)
			miss(c, b->last, at, "direct site with another target");
	} else if (site->via == MT_DIRECT) {
		miss(c, b->last, at, "indirect site called direct");
	} else if (site->via == MT_IMPORT) {
		/* A register's name is the model's alone, but where a PLT stub was gone through. */
		const struct module_slot *told = b->slot ? slot : s->slot;
		if ((b->slot && !told) || (told && !same_symbol(site, told)))
			miss(c, b->last, at, "indirect site with the wrong symbol");
	} else if (f && !(f->bits & (MT_ADDRESS_TAKEN | MT_EXPORTED))) {
		/* Of an exported function another module can have taken the address. */
		miss(c, b->last, at, "indirect target is not address-taken");
	}
}

/* Where two open calls left their return addresses says how high the frame between them is. In a
 * frame that was entered from outside, its first call says where that frame begins. */
static void check_height(struct edges *c, const struct flow_step *s)
{
	const struct mt_site *site = model_text_site(c->model, s->from->last);
	struct frame *t = c->depth ? &c->stack[c->depth - 1] : NULL;
	int64_t height;

	if (!site || !s->own || !modelled(c, s->from->last) || !t || !s->pushed)
		return;
	if (site->height == MT_NO_HEIGHT) {
		c->heights_unknown++;
		return;
	}
	if (!t->slot)
		t->slot = s->pushed + site->height;
	height = t->slot - s->pushed;
	if (site->height == height)
		c->heights++;
	else
		miss(c, s->from->last, height, "the stack is not as high as the model says");
}

static void step_call(struct edges *c, const struct flow_step *s)
{
	const struct tblock *b = s->from, *to = s->outside ? NULL : s->to;
	const struct mt_block *m;

	check_height(c, s);
	push(c, b->end, s->pushed, b);
	executed(c, b->last, to ? to->addr : 0);
	if (modelled(c, b->last) && (s->outside || to)) {
		check_site(c, b, s, to, MT_CALL);
		m = model_text_block_at(c->model, b->last);
		if (m && strcmp(m->end, "call") && strcmp(m->end, "noreturn"))
			miss(c, b->last, b->end, "block with a call does not end in one");
	}
	if (s->outside && s->to)
		arrive(c, s->to);
}

static void step_ret(struct edges *c, const struct flow_step *s)
{
	const struct mt_block *m = model_text_block_at(c->model, s->from->last);
	const struct frame *t = top(c);

	executed(c, s->from->last, !s->outside && s->to ? s->to->addr : 0);
	if (modelled(c, s->from->last) && m && strcmp(m->end, "ret"))
		miss(c, s->from->last, 0, "block with a return does not end in one");
	if (!s->to && !s->outside)
		return;
	if (s->outside) {
		if (t && !t->ret)
			c->depth--;
		else if (t && s->to)
			miss(c, s->from->last, t->ret,
			     "left the module where a caller inside waits");
		if (s->to)
			arrive(c, s->to);
		return;
	}
	/* A function that was tail-called from outside returns to whoever called outside. */
	if (t && !t->ret && c->depth > 1 && c->stack[c->depth - 2].ret == s->to->addr)
		c->depth--;
	if (!unwind_to_return(c, s->to->addr))
		miss(c, s->from->last, s->to->addr, "return to where no open call is");
}

static void check_inside(struct edges *c, const struct flow_step *s)
{
	const struct tblock *b = s->from;
	uint64_t to = s->to->addr;
	const struct mt_block *m = model_text_block_at(c->model, b->last);
	bool runs_on = to == b->end && b->kind <= LAST_JCC;
	bool same = model_text_func_at(c->model, b->last) == model_text_func_at(c->model, to);

	if (!m)
		return; /* check_block() said so */
	if (b->kind <= LAST_REP && m->addr + m->size > to)
		return; /* QEMU's block ends inside the model's */
	executed(c, b->last, to);
	if (runs_on) {
		check_runs_on(c, m, b->last, to);
	} else if (same && !model_text_tail_to_self(c->model, b->last, to)) {
		if (model_text_edge(c->model, m->addr, to))
			return;
		if (strcmp(m->end, "open"))
			miss(c, b->last, to, "jump without an edge");
		else if (c->own)
			pairs_add(&c->open, b->last, to);
	} else if (!strcmp(m->end, "open") && !model_text_func_start(c->model, to)) {
		if (c->own)
			pairs_add(&c->open, b->last, to);
	} else {
		check_site(c, b, s, s->to, MT_TAIL);
	}
}

static void step_jump(struct edges *c, const struct flow_step *s)
{
	const struct tblock *b = s->from;
	const struct frame *t = top(c);

	if (!s->outside && s->to) {
		if (modelled(c, b->last))
			check_inside(c, s);
		return;
	}
	if (!s->outside)
		return; /* the thread's end */
	if (modelled(c, b->last) && b->kind != LAST_OTHER) {
		executed(c, b->last, 0);
		check_site(c, b, s, NULL, MT_TAIL);
	} else if (modelled(c, b->last) && s->to) {
		miss(c, b->last, s->to->addr, "left the module without a branch");
	}
	if (t && !t->ret && b->kind != LAST_OTHER)
		c->depth--; /* the caller outside does not hear of it */
	if (s->to)
		arrive(c, s->to);
}

/* Whether the jump leaves frames for good, for a place that says so. */
static bool leaves_frames(struct edges *c, const struct flow_step *s)
{
	const struct mt_block *m = model_text_block_at(c->model, s->from->last), *pad;

	if (!m || strcmp(m->end, "trap") || s->outside || !s->to)
		return false;
	pad = model_text_block_at(c->model, s->to->addr);
	return pad && pad->addr == s->to->addr && model_text_has(pad->flags, "setjmp-return") &&
	       unwind_to_pad(c, pad);
}

static void on_step(void *ctx, const struct flow_step *s)
{
	struct edges *c = ctx;
	uint32_t record = s->to ? s->to - c->blocks->at : 0;

	c->own = s->own;
	if (s->to && !c->checked[record]) {
		c->own = true;
		c->checked[record] = true;
		if (modelled(c, s->to->addr))
			check_block(c, s->to);
		else
			c->opaque++;
		c->own = s->own;
	}
	if (!s->from) {
		if (s->to)
			arrive(c, s->to);
		return;
	}
	if (s->cut)
		return;
	if (s->to && !s->outside && s->from->kind <= LAST_JCC && s->to->addr != s->from->end &&
	    s->to->addr != s->from->target) {
		miss(c, s->from->last, s->to->addr, "the oracle cannot explain this step");
		return;
	}
	switch (s->from->kind) {
	case LAST_CALL:
	case LAST_CALL_IND:
		step_call(c, s);
		return;
	case LAST_RET:
		step_ret(c, s);
		return;
	case LAST_JMP_IND:
		if (leaves_frames(c, s))
			return;
		break;
	}
	step_jump(c, s);
	if (s->to)
		flow_quiet(c->blocks, s);
}

/* --- the report --- */
int main(int argc, char **argv)
{
	static const struct flow_hooks hooks = {.step = on_step};
	struct flow_counts counts = {0};
	struct trace_thread *threads;
	struct model_text model;
	struct module module;
	struct edges c = {.model = &model, .module = &module};
	uint32_t undecoded = 0;
	size_t n;

	if (argc != 4) {
		fprintf(stderr, "usage: edges MODEL-TEXT MODULE-FILE TRACE-DIR\n");
		return 2;
	}
	model_text_open(argv[1], &model);
	if (module_open(argv[2], &module) || trace_threads(argv[3], &threads, &n) || !n) {
		fprintf(stderr, "edges: %s: no module, or %s: no trace\n", argv[2], argv[3]);
		return 2;
	}
	for (size_t i = 0; i < n; i++) {
		struct trace_blocks blocks;
		struct trace_reader reader;

		if (trace_blocks_open(argv[3], threads[i].pid, &blocks) ||
		    trace_reader_open(argv[3], &threads[i], blocks.n, &reader)) {
			fprintf(stderr, "edges: %s: damaged\n", argv[3]);
			return 2;
		}
		flow_mark_plt(&blocks, &module);
		undecoded += blocks.n_undecoded;
		c.blocks = &blocks;
		c.checked = calloc(blocks.n, 1);
		c.depth = 0;
		flow_run(&reader, &blocks, &module, &hooks, &c, &counts);
		free(c.checked);
		trace_reader_close(&reader);
		trace_blocks_close(&blocks);
	}
	printf("distinct %zu total %lu misses %zu open %zu unwound %lu opaque %lu signals %lu "
	       "cuts %lu undecoded %u threads %zu heights %lu unknown-heights %lu\n",
	       c.done.n, counts.blocks, c.misses.n, c.open.n, c.unwound, c.opaque, counts.signals,
	       counts.cuts, undecoded, n, c.heights, c.heights_unknown);
	pairs_list(&c.misses, "miss");
	pairs_list(&c.open, "open");
	free(threads);
	free(c.stack);
	free(c.done.slots);
	free(c.misses.slots);
	free(c.open.slots);
	module_close(&module);
	model_text_close(&model);
	return c.misses.n ? 1 : 0;
}
