// SPDX-License-Identifier: LGPL-2.1-or-later
/* watch_run.c: by the addresses and the registers of a trace. What functions outside, the kernel
 * and other threads have written is seen by the bytes: they are looked at where traced code stops,
 * and compared where control comes back. Who it was is told by the record, by what libraries have
 * executed, and by who was awake. */
#include "user/values/watch/watch_run.h"

#include "offline/eval/insn/string_ranges.h"

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

/* Whether @now, bytes and behind them their qualities, has other bytes than @then, or one that is
 * not known any more: it was written, and nobody knows with what. */
static bool was_written(const uint8_t *then, const uint8_t *now, uint64_t len)
{
	if (memcmp(now, then, len) != 0)
		return true;
	for (uint64_t i = len; i < 2 * len; i++)
		if (now[i] >= VALUE_UNKNOWN && then[i] < VALUE_UNKNOWN)
			return true;
	return false;
}

/* Reads the bytes at @b; says whether they were written since they were read at the same place. */
static bool look(struct watch_run *w, struct watch_bytes *b)
{
	uint64_t len = watch_found_length(&w->found, &b->place);
	struct value_memory *memory = value_machine_memory(value_run_machine(w->run));
	uint8_t *now = calloc(2, len);

	if (!now) {
		w->found.err = -ENOMEM;
		return false;
	}
	value_memory_read(memory, b->place.addr, now, len, NULL);
	if (value_memory_read_qualities(memory, b->place.addr, now + len, len))
		memset(now + len, VALUE_UNKNOWN, len);
	bool changed = b->bytes && was_written(b->bytes, now, len);
	b->by_code = false;
	if (changed)
		watch_found_keep(&w->found, &b->place, value_run_count(w->run), b->bytes);
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

/* Who may have changed something outside. */
struct outside {
	const struct capture *capture; /* NULL: nothing was recorded */
	const char *told;	       /* who has done what the capture says */
	const char *code;	       /* whose code was executed */
	bool others;		       /* other threads were awake */
};

static bool overlap(const struct watch_run *w, const struct watch_place *p, uint64_t addr,
		    uint64_t len)
{
	return addr < p->addr + watch_found_length(&w->found, p) && p->addr < addr + len;
}

static bool is_told(const struct watch_run *w, const struct watch_place *p, const struct capture *c)
{
	bool told = c && c->map_op != MAP_NONE && overlap(w, p, c->map_addr, c->map_len);
	for (uint32_t i = 0; c && !told && i < c->n_ranges; i++)
		told = overlap(w, p, c->ranges[i].addr, c->ranges[i].len);
	return told;
}

/* Compares with what was there; @by NULL: nobody outside has had control. */
static void look_at(struct watch_run *w, struct watch_bytes *b, const struct outside *by)
{
	bool by_code = b->by_code;

	if (!look(w, b) || !by)
		return;
	const char *who = is_told(w, &b->place, by->capture) ? by->told
			  : by_code			     ? by->code
			  : by->others			     ? "another thread"
							     : by->told;
	watch_found_note(&w->found, &b->place, value_run_count(w->run),
			 by->capture ? by->capture->ip : 0, true, who);
}

static void look_at_all(struct watch_run *w, const struct outside *by)
{
	if (w->found.what->kind != WATCHED_LOCAL) {
		place_fixed(w);
		w->mapped |= is_mapped(w);
		if (w->fixed.place.quality < VALUE_UNKNOWN)
			look_at(w, &w->fixed, by);
		return;
	}
	watch_locals_prune(&w->locals);
	for (uint32_t i = 0; i < w->locals.frames.n; i++)
		if (w->locals.frames.at[i].place.addr)
			look_at(w, &w->locals.frames.at[i], by);
}

/* Code of a library has written that. */
static void wrote(void *ctx, uint64_t addr, uint64_t len)
{
	struct watch_run *w = ctx;

	w->fixed.by_code |= overlap(w, &w->fixed.place, addr, len);
	for (uint32_t i = 0; i < w->locals.frames.n; i++)
		w->locals.frames.at[i].by_code |=
			overlap(w, &w->locals.frames.at[i].place, addr, len);
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
	look_at_all(w, NULL);
}

/* Before a crossing, and while a call lasted that it is the end of. */
static bool others_were_awake(struct value_run *run, const struct capture *c)
{
	bool before = value_run_met(run) & VALUE_MET_BEFORE;
	return before ||
	       (c && c->kind == CAPTURE_KERNEL && !value_run_was_alone(run, c->entered, c->order));
}

static void crossing(void *ctx, struct value_run *run, enum value_crossing what,
		     const struct capture *capture, const char *import)
{
	struct watch_run *w = ctx;
	if (what == VALUE_CROSSING_SWITCH)
		return;
	struct activation *top = activations_top(&w->locals.calls);
	const char *code = import ? import : w->import ? w->import : "outside";
	const struct outside by = {
		.capture = capture,
		.told = what == VALUE_CROSSING_KERNEL ? "the kernel" : code,
		.code = code,
		.others = others_were_awake(run, capture),
	};

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
		break;
	case VALUE_CROSSING_SWITCH:
		break;
	}
	look_at_all(w, what == VALUE_CROSSING_CALL ? NULL : &by);
	if (what != VALUE_CROSSING_KERNEL)
		w->import = what == VALUE_CROSSING_CALL ? import : NULL;
}

int watch_run_collect(struct watch_run *w)
{
	struct value_trace *t = &w->trace;
	enum value_replay_stop stop = VALUE_REPLAY_TRACE_FULL;

	if (!value_trace_init(t, BLOCKS, VALUES, VALUES))
		w->found.err = -ENOMEM;
	if (!w->found.err && w->found.what->kind == WATCHED_LOCAL)
		w->found.err = watch_locals_init(&w->locals, &w->found);
	if (w->spans)
		w->fixed.place.quality = VALUE_UNKNOWN;
	look_at_all(w, NULL);
	if (value_run_library_writes(w->run, wrote, w))
		w->found.err = -ENOMEM;
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
	value_run_library_writes(w->run, NULL, NULL);
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
	value_trace_deinit(&w->trace);
	w->fixed.bytes = NULL;
}
