// SPDX-License-Identifier: LGPL-2.1-or-later
/* calls.c: prints the calls, tail calls and returns of one module, in the order in which a block
 * trace (blocktrace.c) shows them, in the format of `pugmark dump --format text`:
 *
 *   calls MODEL-TEXT MODULE-FILE TRACE-DIR
 *
 * Threads are printed one after the other, the oldest process first, and numbered from 0. The exact
 * rules, by the last instruction of each executed block:
 *
 *  - A function is what the model's P lines say, which map addresses to functions; where these say
 *    nothing, it is what the file's own symbols say. The events of code in no function, or in one
 *    that is flagged opaque, are dropped.
 *  - call: `call MODULE SITE TARGET`. A direct call's target is `MODULE:ADDRESS`, an indirect one's
 *    too if the next block that runs is the module's. If it lies elsewhere it is `-`. A call of a
 *    PLT stub is `- SYMBOL` unless the stub leads straight back into the module: then the target is
 *    the function that is reached. `call *SLOT` of a GOT slot with a symbol prints it too.
 *    Where untraced code that an indirect call led to has jumped on to a function of the module, as
 *    its last step, it is `- handed MODULE:FUNCTION`: compare takes that function for a target too,
 *    since the stack of the two is the same.
 *  - jmp, jcc (if taken): `tail MODULE SITE TARGET` if the target is not in the same function, with
 *    the target as above. A jump to the entry of its own function is a loop, not an event, unless
 *    the model calls it a tail site and has no edge for it. Nor is a jump through a register or
 * memory to where the model says that setjmp comes back (to no entry): it leaves calls, as longjmp
 * does.
 *  - Code that runs on into another function without a jump is a tail call too; its site is the
 *    last instruction before.
 *  - ret: `ret MODULE FUNCTION`, wherever it goes; the function is the one that holds the ret. One
 *    that leads into the middle of the module's code, and not behind any call that ran, is no
 *    return: it leaves calls, as OCaml's raise does, which pops the address of a handler.
 *  - The stubs and lazy binding code of the PLT are not seen at all.
 *  - What a signal handler does is printed where it ran: after the instruction it interrupted.
 *  - A forked process prints what it does after the fork, the return from it included. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "model_text.h"

enum event_kind { EVENT_NONE, EVENT_CALL, EVENT_TAIL, EVENT_RET };

struct event {
	uint8_t kind;  /* enum event_kind */
	bool inside;   /* @target is set */
	bool handed;   /* @target is set: untraced code has jumped on to there */
	uint64_t addr; /* site, or the function that returns */
	uint64_t target;
	const char *name; /* of the symbol, or NULL */
};

struct calls {
	const struct model_text *model;
	const struct module *module;
	const struct trace_blocks *blocks;
	FILE *out;
	uint64_t *behind; /* where calls that ran return to; sorted */
	size_t n_behind;
	unsigned thread;
	/* While an interrupted step waits for its end, the events after it queue behind it. */
	struct event *queue;
	size_t n_queue, room;
	size_t *place; /* by number: index of the interrupted step's event in the queue, or DONE */
	int n_places, open;
	uint64_t n_events, n_unknown;
};

#define PLACE_DONE SIZE_MAX

static char *put_hex(char *to, uint64_t v)
{
	char digits[16];
	int n = 0;

	do {
		digits[n++] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	while (n)
		*to++ = digits[--n];
	return to;
}

static void print(struct calls *c, const struct event *e)
{
	static const char *const verbs[] = {"", " call ", " tail ", " ret "};
	char line[8192], *at = line;

	if (e->kind == EVENT_NONE)
		return;
	c->n_events++;
	at += sprintf(at, "%u", c->thread);
	at = stpcpy(stpcpy(at, verbs[e->kind]), c->module->name);
	*at++ = ' ';
	at = put_hex(at, e->addr);
	if (e->kind != EVENT_RET) {
		*at++ = ' ';
		if (e->inside) {
			at = stpcpy(at, c->module->name);
			*at++ = ':';
			at = put_hex(at, e->target);
		} else {
			*at++ = '-';
			if (e->name)
				at += snprintf(at, 4096, " %s", e->name);
			if (e->handed) {
				at = stpcpy(stpcpy(at, " handed "), c->module->name);
				*at++ = ':';
				at = put_hex(at, e->target);
			}
		}
	}
	*at++ = '\n';
	fwrite_unlocked(line, 1, at - line, c->out);
}

static void flush(struct calls *c)
{
	for (size_t i = 0; i < c->n_queue; i++)
		print(c, &c->queue[i]);
	c->n_queue = 0;
	c->open = 0;
}

static void emit(struct calls *c, const struct event *e)
{
	if (!c->open) {
		print(c, e);
		return;
	}
	if (c->n_queue == c->room) {
		c->room = c->room ? c->room * 2 : 1024;
		c->queue = realloc(c->queue, c->room * sizeof(*c->queue));
		if (!c->queue)
			abort();
	}
	c->queue[c->n_queue++] = *e;
}

/* The event of going on from the instruction at @site to the next one, at @addr. */
static struct event runs_into(const struct calls *c, uint64_t site, uint64_t addr)
{
	struct event e = {.kind = EVENT_NONE, .inside = true, .addr = site, .target = addr};
	uint32_t from = model_text_func_at(c->model, site), to = model_text_func_at(c->model, addr);

	if (from != to && to != NO_FUNC && from != NO_FUNC &&
	    !(c->model->funcs[from].bits & MT_OPAQUE))
		e.kind = EVENT_TAIL;
	return e;
}

/* The events inside the block: where it runs from one function into the next. */
static void emit_inner(struct calls *c, const struct tblock *b)
{
	uint64_t at = b->addr;

	for (unsigned i = 0; i + 1 < b->n_insns; at += b->lens[i++]) {
		struct event e = runs_into(c, at, at + b->lens[i]);

		if (e.kind != EVENT_NONE)
			emit(c, &e);
	}
}

/* Whether the block's return pops what the instruction before it has pushed, out of a register. */
static bool pops_pushed(const struct tblock *b)
{
	size_t at = 0, i;

	for (i = 0; i + 2 < b->n_insns; i++)
		at += b->lens[i];
	return b->n_insns > 1 && b->lens[i] <= 2 && (b->bytes[at + b->lens[i] - 1] & 0xf8) == 0x50;
}

/* Whether the jump that @s is goes back to where a call like setjmp's has returned once. */
static bool is_longjmp(const struct calls *c, const struct flow_step *s)
{
	const struct mt_block *to = model_text_block_at(c->model, s->to->addr);

	return s->from->kind == LAST_JMP_IND && to && model_text_has(to->flags, "setjmp-return") &&
	       !model_text_func_start(c->model, to->addr);
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Notes where the calls return to that @blocks end in. */
static void note_calls(struct calls *c, const struct trace_blocks *blocks)
{
	free(c->behind);
	c->n_behind = 0;
	c->behind = calloc(blocks->n + 1, sizeof(*c->behind));
	if (!c->behind)
		abort();
	for (uint32_t i = TRACE_FIRST_BLOCK; i < blocks->n; i++) {
		const struct tblock *b = &blocks->at[i];

		if (b->kind == LAST_CALL || b->kind == LAST_CALL_IND)
			c->behind[c->n_behind++] = b->end;
	}
	qsort(c->behind, c->n_behind, sizeof(*c->behind), by_address);
}

/* Whether a ret that leads to @to, in the module, is one from a call, or to a function's begin. */
static bool is_return(const struct calls *c, const struct tblock *to)
{
	return model_text_func_start(c->model, to->addr) ||
	       bsearch(&to->addr, c->behind, c->n_behind, sizeof(to->addr), by_address);
}

/* The event of the block that @s starts from, once its end is known. */
static struct event event_of(const struct calls *c, const struct flow_step *s)
{
	const struct tblock *b = s->from;
	bool inside = s->to && !s->outside; /* the module's next block follows at once */
	struct event e = {.kind = EVENT_NONE, .addr = b->last};
	bool direct = b->kind == LAST_CALL || b->kind == LAST_JMP || b->kind == LAST_JCC;
	const struct module_slot *slot;

	if (s->cut || b->func == NO_FUNC)
		return e;
	if (b->kind == LAST_RET && !inside && pops_pushed(b)) {
		e.kind = EVENT_TAIL;
		return e;
	}
	if (b->kind == LAST_RET && inside && !is_return(c, s->to))
		return e;
	if (b->kind == LAST_RET) {
		e.kind = EVENT_RET;
		e.addr = c->model->funcs[b->func].addr;
		return e;
	}
	if (inside && s->to->addr == b->end && b->kind <= LAST_JCC)
		return runs_into(c, b->last, b->end);
	if (b->kind == LAST_OTHER || b->kind == LAST_REP)
		return e;
	if (b->kind == LAST_JCC && !s->plt && (!inside || s->to->addr != b->target))
		return e;
	e.kind = b->kind == LAST_CALL || b->kind == LAST_CALL_IND ? EVENT_CALL : EVENT_TAIL;
	if (direct && !module_is_plt(c->module, b->target)) {
		e.inside = true;
		e.target = b->target;
	} else if (inside) {
		e.inside = true;
		e.target = s->to->addr;
	} else {
		slot = direct ? s->slot : module_slot_at(c->module, b->slot);
		e.name = slot ? slot->name : NULL;
		e.handed = b->kind == LAST_CALL_IND && !e.name && s->to && s->jumped &&
			   model_text_func_start(c->model, s->to->addr);
		if (e.handed)
			e.target = s->to->addr;
	}
	if (e.kind == EVENT_TAIL && e.inside && model_text_func_at(c->model, e.target) == b->func &&
	    !model_text_tail_to_self(c->model, b->last, e.target))
		e.kind = EVENT_NONE;
	if (e.kind == EVENT_TAIL && inside && is_longjmp(c, s))
		e.kind = EVENT_NONE;
	return e;
}

static void on_step(void *ctx, const struct flow_step *s)
{
	struct calls *c = ctx;
	struct event e;
	size_t place;

	if (!s->from || !s->own)
		return;
	if (s->resumed < 0) {
		if (s->from->many_funcs)
			emit_inner(c, s->from);
		e = event_of(c, s);
		if (e.kind != EVENT_NONE)
			emit(c, &e);
		else if (s->to && !s->from->many_funcs)
			flow_quiet(c->blocks, s);
		return;
	}
	place = c->place[s->resumed];
	if (place == PLACE_DONE)
		return;
	c->queue[place] = event_of(c, s);
	if (!--c->open)
		flush(c);
}

/* A handler's events come next: those of the interrupted block must be printed, or get a place. */
static void on_interrupt(void *ctx, const struct flow_step *s, int number)
{
	struct calls *c = ctx;
	struct event e = {.kind = EVENT_NONE};

	if (number >= c->n_places) {
		c->place = realloc(c->place, (number + 1) * sizeof(*c->place));
		c->n_places = number + 1;
	} else if (s->resumed == number) {
		return; /* interrupted once more before it went on */
	}
	c->place[number] = PLACE_DONE;
	if (!s->from || !s->own)
		return;
	if (s->from->many_funcs)
		emit_inner(c, s->from);
	if (s->outside || s->from->kind == LAST_RET || s->from->kind == LAST_CALL ||
	    s->from->kind == LAST_JMP) {
		e = event_of(c, s);
		emit(c, &e);
		return;
	}
	if (s->from->kind == LAST_OTHER || s->from->kind == LAST_REP)
		return;
	c->open++;
	emit(c, &e);
	c->place[number] = c->n_queue - 1;
}

static void blocks_assign(struct trace_blocks *blocks, const struct model_text *model)
{
	for (uint32_t i = TRACE_FIRST_BLOCK; i < blocks->n; i++) {
		struct tblock *b = &blocks->at[i];

		b->func = model_text_func_at(model, b->last);
		if (b->func != NO_FUNC && (model->funcs[b->func].bits & MT_OPAQUE))
			b->func = NO_FUNC;
		b->many_funcs =
			model_text_func_at(model, b->addr) != model_text_func_at(model, b->last);
	}
}

int main(int argc, char **argv)
{
	static const struct flow_hooks hooks = {on_step, on_interrupt};
	struct flow_counts counts = {0};
	struct trace_thread *threads;
	struct model_text model;
	struct module module;
	struct calls calls = {.model = &model, .module = &module, .out = stdout};
	size_t n;

	if (argc != 4) {
		fprintf(stderr, "usage: calls MODEL-TEXT MODULE-FILE TRACE-DIR\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOFBF, 1 << 18);
	model_text_open(argv[1], &model);
	if (module_open(argv[2], &module) || trace_threads(argv[3], &threads, &n) || !n) {
		fprintf(stderr, "calls: %s: no module, or %s: no trace\n", argv[2], argv[3]);
		return 2;
	}
	for (size_t i = 0; i < module.n_funcs; i++)
		model_text_add(&model, module.funcs[i].addr, module.funcs[i].end);
	for (size_t i = 0; i < n; i++, calls.thread++) {
		struct trace_blocks blocks;
		struct trace_reader reader;

		if (trace_blocks_open(argv[3], threads[i].pid, &blocks) ||
		    trace_reader_open(argv[3], &threads[i], blocks.n, &reader)) {
			fprintf(stderr, "calls: %s: damaged\n", argv[3]);
			return 2;
		}
		flow_mark_plt(&blocks, &module);
		blocks_assign(&blocks, &model);
		note_calls(&calls, &blocks);
		calls.blocks = &blocks;
		flow_run(&reader, &blocks, &module, &hooks, &calls, &counts);
		calls.n_unknown += calls.open;
		flush(&calls);
		trace_reader_close(&reader);
		trace_blocks_close(&blocks);
	}
	fprintf(stderr,
		"calls: %zu threads, %lu blocks, %lu events, %lu signals, %lu blocks cut, "
		"%lu never resumed\n",
		n, counts.blocks, calls.n_events, counts.signals, counts.cuts, calls.n_unknown);
	free(threads);
	free(calls.queue);
	free(calls.place);
	free(calls.behind);
	module_close(&module);
	model_text_close(&model);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
