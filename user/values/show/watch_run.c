// SPDX-License-Identifier: LGPL-2.1-or-later
/* watch_run.c: by the addresses and the registers of a trace. What functions outside and the kernel
 * have written is seen by the bytes: they are looked at where traced code stops, and compared where
 * control comes back. */
#include "user/values/show/watch_run.h"

#include "offline/eval/string_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 1 << 15, VALUES = 1 << 20, SYS_RT_SIGRETURN = 15 };

/* --- instructions ------------------------------------------------------------------------------
 */

static void touch(struct watch_run *w, uint64_t count, uint64_t ip, uint64_t addr, uint64_t len,
		  bool write)
{
	const struct watch_place *p = &w->fixed.place;

	if (p->quality < VALUE_UNKNOWN && addr < p->addr + w->found.what->len &&
	    p->addr < addr + len)
		watch_found_note(&w->found, p, count, ip, write, "");
}

/* The addresses of one instruction, from @at on. */
static void take_insn(struct watch_run *w, const struct value_insn *insn, const uint64_t *at,
		      uint64_t count)
{
	if (insn->kind == VALUE_INSN_STRING) {
		struct value_range ranges[2];
		unsigned n = value_string_ranges(insn, at, w->locals.down, ranges);

		for (unsigned i = 0; i < n; i++)
			touch(w, count, insn->ip, ranges[i].addr, ranges[i].len, ranges[i].write);
		return;
	}
	for (int i = 0; i < insn->n_mem && i < insn->n_addresses; i++) {
		if (insn->mem[i].read)
			touch(w, count, insn->ip, at[i], insn->mem[i].len, false);
		if (insn->mem[i].write)
			touch(w, count, insn->ip, at[i], insn->mem[i].len, true);
	}
}

/* Before instruction @count: whether the pointers lead elsewhere from there on. */
static void move(struct watch_run *w, uint64_t count)
{
	while (w->span < w->spans->n && w->spans->at[w->span].from <= count) {
		const struct watch_span *s = &w->spans->at[w->span++];

		w->fixed.place.addr = s->addr;
		w->fixed.place.quality = s->quality;
	}
}

static void take_trace(struct watch_run *w)
{
	const struct value_trace *t = &w->trace;
	bool local = w->found.what->kind == WATCHED_LOCAL;

	for (; w->done < t->n_blocks; w->done++) {
		const struct value_block *b =
			value_machine_block(value_run_machine(w->run), t->blocks[w->done]);

		for (uint16_t k = 0; k < b->n_insns; k++) {
			const struct value_insn *insn = &b->insns[k];
			const uint64_t *at = t->addresses + w->done_addresses;

			if (w->done_addresses + insn->n_addresses > t->n_addresses)
				return; /* the last block was left in its middle */
			if (w->spans)
				move(w, w->count + k);
			if (local)
				watch_locals_insn(&w->locals, b, insn, at, w->count + k);
			else if (insn->n_addresses)
				take_insn(w, insn, at, w->count + k);
			w->done_addresses += insn->n_addresses;
			w->locals.down = value_insn_down(insn, w->locals.down);
		}
		w->count += b->n_insns;
	}
}

/* What is taken next begins where the run is. */
static void catch_up(struct watch_run *w)
{
	w->count = value_run_count(w->run);
	w->locals.down = value_machine_state(value_run_machine(w->run))->df;
}

/* --- bytes -------------------------------------------------------------------------------------
 */

/* Reads the bytes at @b; says whether they are others than before at the same place. */
static bool look(struct watch_run *w, struct watch_bytes *b)
{
	uint64_t len = watch_found_length(&w->found, &b->place);
	uint8_t *now = calloc(1, len);

	if (!now) {
		w->found.err = -ENOMEM;
		return false;
	}
	value_memory_read(value_machine_memory(value_run_machine(w->run)), b->place.addr, now, len,
			  NULL);
	bool changed = b->bytes && memcmp(now, b->bytes, len) != 0;
	free(b->bytes);
	b->bytes = now;
	return changed;
}

/* Where the thread has its own from now on, and where pointers lead. */
static void place_fixed(struct watch_run *w)
{
	struct watch_place *p = &w->fixed.place;
	uint64_t before = p->addr;

	if (w->spans)
		move(w, value_run_count(w->run));
	else
		p->addr = w->found.what->at +
			  (w->found.what->kind == WATCHED_THREAD
				   ? value_machine_state(value_run_machine(w->run))->gpr[VALUE_FS]
				   : 0);
	if (p->addr != before) {
		free(w->fixed.bytes);
		w->fixed.bytes = NULL;
	}
}

static bool is_mapped(const struct watch_run *w)
{
	const struct value_memory *m = value_machine_memory(value_run_machine(w->run));
	uint64_t addr = w->fixed.place.addr;

	return value_memory_region(m, addr) ||
	       value_memory_region(m, addr + w->found.what->len - 1);
}

/* Looks at all places; @by NULL: nobody outside has had control. */
static void look_at_all(struct watch_run *w, uint64_t ip, const char *by)
{
	if (w->found.what->kind != WATCHED_LOCAL) {
		place_fixed(w);
		w->mapped |= is_mapped(w);
		if (w->fixed.place.quality < VALUE_UNKNOWN && look(w, &w->fixed) && by)
			watch_found_note(&w->found, &w->fixed.place, value_run_count(w->run), ip,
					 true, by);
		return;
	}
	watch_locals_prune(&w->locals);
	for (uint32_t i = 0; i < w->locals.frames.n; i++)
		if (w->locals.frames.at[i].place.addr && look(w, &w->locals.frames.at[i]) && by)
			watch_found_note(&w->found, &w->locals.frames.at[i].place,
					 value_run_count(w->run), ip, true, by);
}

static uint64_t stack_pointer(const struct watch_run *w)
{
	return value_machine_state(value_run_machine(w->run))->gpr[VALUE_RSP];
}

/* Traced code has stopped. */
static void stepped(void *ctx, struct value_machine *machine, enum value_step step,
		    const struct value_trace *trace)
{
	struct watch_run *w = ctx;

	(void)machine, (void)trace;
	if (step != VALUE_STEP_RAN)
		return;
	take_trace(w);
	catch_up(w); /* some instructions are in no trace */
	activations_unwind(&w->locals.calls, stack_pointer(w));
	look_at_all(w, 0, NULL);
}

static void crossing(void *ctx, struct value_run *run, enum value_crossing what,
		     const struct capture *capture, const char *import)
{
	struct watch_run *w = ctx;
	struct activation *top = activations_top(&w->locals.calls);

	(void)run;
	take_trace(w);
	catch_up(w);
	switch (what) {
	case VALUE_CROSSING_SIGNAL:
		activations_signal(&w->locals.calls, stack_pointer(w));
		break;
	case VALUE_CROSSING_ENTER:
		activations_call(&w->locals.calls, stack_pointer(w));
		break;
	case VALUE_CROSSING_CALL:
		if (top && top->slot == stack_pointer(w))
			top->function = 0; /* by a jump: what is outside takes its place */
		break;
	case VALUE_CROSSING_KERNEL:
		if (capture && capture->nr == SYS_RT_SIGRETURN)
			activations_sigreturn(&w->locals.calls);
		break;
	case VALUE_CROSSING_RESULT:
		activations_unwind(&w->locals.calls, stack_pointer(w));
	}
	look_at_all(w, capture ? capture->ip : 0,
		    what == VALUE_CROSSING_CALL	    ? NULL
		    : what == VALUE_CROSSING_KERNEL ? "the kernel"
		    : import			    ? import
						    : "outside");
}

int watch_run_collect(struct watch_run *w)
{
	struct value_trace *t = &w->trace;
	*t = (struct value_trace){
		.blocks = malloc(BLOCKS * sizeof(*t->blocks)),
		.addresses = malloc(VALUES * sizeof(*t->addresses)),
		.results = malloc(VALUES * sizeof(*t->results)),
		.max_blocks = BLOCKS,
		.max_addresses = VALUES,
		.max_results = VALUES,
	};
	enum value_replay_stop stop = VALUE_REPLAY_TRACE_FULL;

	if (!t->blocks || !t->addresses || !t->results)
		w->found.err = -ENOMEM;
	if (!w->found.err && w->found.what->kind == WATCHED_LOCAL)
		w->found.err = watch_locals_init(&w->locals, &w->found);
	if (w->spans)
		w->fixed.place.quality = VALUE_UNKNOWN;
	look_at_all(w, 0, NULL);
	value_run_crossings(w->run, crossing, w);
	value_run_steps(w->run, stepped, w);
	while (!w->found.err && stop == VALUE_REPLAY_TRACE_FULL) {
		catch_up(w);
		t->n_blocks = t->n_addresses = t->n_results = w->done = w->done_addresses = 0;
		stop = value_run_forward(w->run, UINT64_MAX / 4, t);
		take_trace(w);
		w->found.err = w->locals.calls.failed ? -ENOMEM : w->found.err;
	}
	value_run_crossings(w->run, NULL, NULL);
	value_run_steps(w->run, NULL, NULL);
	if (stop == VALUE_REPLAY_NO_MEMORY)
		w->found.err = -ENOMEM;
	return stop;
}

void watch_run_deinit(struct watch_run *w)
{
	watch_locals_deinit(&w->locals);
	watch_found_deinit(&w->found);
	free(w->fixed.bytes);
	free(w->trace.blocks);
	free(w->trace.addresses);
	free(w->trace.results);
	w->fixed.bytes = NULL;
	w->trace = (struct value_trace){0};
}
