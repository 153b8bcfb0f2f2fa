// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_instances.c: blocks as they were executed, with a stack of the calls that are open: one is
 * over when control comes to the instruction behind it by the return address that the call has put
 * on the stack. What was left by an exception or longjmp() is over when a call around it is, or
 * when another return address takes the place of its own. */
#include "user/values/show/value_instances.h"

#include "offline/base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 1 << 15, VALUES = 1 << 20, SYS_RT_SIGRETURN = 15 };

/* A call that is open, and the last of the instances that are of what it has called. Of a call that
 * came from outside (a callback, a handler) it is not seen when it is over. */
struct open_frame {
	uint64_t ret;	   /* 0: outside */
	uint64_t slot;	   /* address of the return address; of a signal the stack pointer */
	uint32_t instance; /* 1 and its index; 0: none */
	bool signal;	   /* no call, but what a signal has interrupted */
};

struct finder {
	const uint64_t *ips;
	uint32_t n_ips;
	uint64_t max;
	struct value_instances *out;
	VEC(struct open_frame) frames;
	uint32_t n_outside; /* of them, those from outside and of signals */
	/* By number of the block: 1 and the index of its first instruction that is looked for; 0:
	 * not looked at yet; UINT16_MAX: none. */
	uint16_t *first;
	uint32_t n_first;
	struct value_machine *machine;
	struct value_trace trace;
	size_t done, done_addresses; /* blocks of it that were looked at, and their addresses */
	uint64_t returned; /* where the return address was that control comes by; 0: by none */
	uint64_t count;
	int err;
};

static bool holds(const struct finder *f, uint64_t ip)
{

	uint32_t low = SEARCH_FIRST_NOT(0, f->n_ips, i, f->ips[i] < ip);
	return low < f->n_ips && f->ips[low] == ip;
}

static uint16_t first_of(struct finder *f, const struct value_block *b)
{
	if (b->number >= f->n_first) {
		uint32_t n = 2 * b->number + 1024;
		uint16_t *first = realloc(f->first, n * sizeof(*first));

		if (!first) {
			f->err = -ENOMEM;
			return UINT16_MAX;
		}
		memset(first + f->n_first, 0, (n - f->n_first) * sizeof(*first));
		f->first = first;
		f->n_first = n;
	}
	uint16_t *known = &f->first[b->number];
	if (*known)
		return *known;
	*known = UINT16_MAX;
	for (uint16_t i = 0; i < b->n_insns && *known == UINT16_MAX; i++)
		if (holds(f, b->insns[i].ip))
			*known = i + 1;
	return *known;
}

static void add_instance(struct finder *f, uint64_t count, uint64_t ip)
{
	struct value_instances *out = f->out;

	out->total++;
	if (out->n == f->max)
		return;
	if (!VEC_RESERVE(out, 1)) {
		f->err = -ENOMEM;
		return;
	}
	struct open_frame *top = f->frames.n ? &f->frames.at[f->frames.n - 1] : NULL;
	out->at[out->n++] = (struct value_instance){
		.count = count,
		.back = VALUE_NEVER,
		.ip = ip,
		.depth = f->frames.n - f->n_outside,
		.before = top ? top->instance : 0,
	};
	if (top)
		top->instance = out->n;
}

/* The frame that was taken off, whose instances are back nowhere. */
static const struct open_frame *pop_frame(struct finder *f)
{
	const struct open_frame *top = &f->frames.at[--f->frames.n];

	f->n_outside -= !top->ret;
	return top;
}

/* 1 and the index of the frame with its return address at @slot, under those below it; 0: none. */
static size_t frame_at(const struct finder *f, uint64_t slot)
{
	size_t n = f->frames.n;

	while (n && f->frames.at[n - 1].slot < slot)
		n--;
	return n && f->frames.at[n - 1].slot == slot && !f->frames.at[n - 1].signal ? n : 0;
}

static void push_frame(struct finder *f, uint64_t ret, uint64_t slot, bool signal)
{
	size_t same = signal || !slot ? 0 : frame_at(f, slot);

	while (same && f->frames.n >= same)
		pop_frame(f);
	if (!VEC_PUSH(&f->frames,
		      ((struct open_frame){.ret = ret, .slot = slot, .signal = signal})))
		f->err = -ENOMEM;
	else
		f->n_outside += !ret;
}

/* Control is at @ip: if that is behind a call that is open, all that have taken its place by tail
 * calls are over with it, and what it has called. */
static void close_frames(struct finder *f, uint64_t ip)
{
	size_t n = f->returned ? frame_at(f, f->returned) : f->frames.n;

	f->returned = 0;
	if (!n || f->frames.at[n - 1].ret != ip)
		return;
	while (f->frames.n > n)
		pop_frame(f);
	for (uint32_t i = pop_frame(f)->instance; i; i = f->out->at[i - 1].before)
		f->out->at[i - 1].back = f->count;
}

/* Code outside is left that was called back from, or that was called. */
static void leave_callback(struct finder *f)
{
	const struct open_frame *top = f->frames.n ? &f->frames.at[f->frames.n - 1] : NULL;

	if (top && !top->ret && !top->signal)
		pop_frame(f);
}

/* Traced code may itself have called what is witnessed as an entry. */
static bool is_called_by_traced(const struct finder *f)
{
	uint64_t sp = value_machine_state(f->machine)->gpr[VALUE_RSP], ret = 0;
	uint8_t quality = VALUE_UNKNOWN;

	return f->frames.n &&
	       !value_memory_read(value_machine_memory(f->machine), sp, &ret, sizeof(ret),
				  &quality) &&
	       quality < VALUE_UNKNOWN && ret && f->frames.at[f->frames.n - 1].ret == ret;
}

static void end_signal(struct finder *f)
{
	uint32_t n = f->frames.n;

	while (n && !f->frames.at[n - 1].signal)
		n--;
	while (n && f->frames.n >= n)
		pop_frame(f);
}

/* Where a call or return, whose operands are at @at, has its return address; 0: not known. */
static uint64_t stack_place(const struct value_insn *insn, const uint64_t *at)
{
	bool call = insn->kind != VALUE_INSN_RET;

	for (int i = 0; at && i < insn->n_mem && i < insn->n_addresses; i++)
		if (call ? insn->mem[i].write : insn->mem[i].read)
			return at[i];
	return 0;
}

/* @at: the addresses of its last instruction; NULL: not known. */
static void take_block(struct finder *f, const struct value_block *b, const uint64_t *at)
{
	uint16_t first = first_of(f, b);

	close_frames(f, b->ip);
	if (first != UINT16_MAX)
		for (uint16_t i = first - 1; i < b->n_insns; i++)
			if (i == first - 1 || holds(f, b->insns[i].ip))
				add_instance(f, f->count + i, b->insns[i].ip);
	f->count += b->n_insns;
	const struct value_insn *last = &b->insns[b->n_insns - 1];
	if (last->kind == VALUE_INSN_CALL || last->kind == VALUE_INSN_CALL_IND)
		push_frame(f, last->ip + last->len, stack_place(last, at), false);
	else if (last->kind == VALUE_INSN_RET)
		f->returned = stack_place(last, at);
}

static void take_trace(struct finder *f)
{
	while (f->done < f->trace.n_blocks && !f->err) {
		const struct value_block *b =
			value_machine_block(f->machine, f->trace.blocks[f->done++]);
		bool whole = f->done_addresses + b->n_addresses <= f->trace.n_addresses;

		f->done_addresses += b->n_addresses;
		take_block(f, b,
			   whole ? f->trace.addresses + f->done_addresses -
					   b->insns[b->n_insns - 1].n_addresses
				 : NULL);
	}
}

/* Some instructions are counted and in no trace: a return to code outside, for one. */
static void crossing(void *ctx, struct value_run *run, enum value_crossing what,
		     const struct capture *capture, const char *import)
{
	struct finder *f = ctx;

	(void)import;
	take_trace(f);
	f->count = value_run_count(run);
	uint64_t sp = value_machine_state(f->machine)->gpr[VALUE_RSP];
	switch (what) {
	case VALUE_CROSSING_ENTER:
		if (is_called_by_traced(f))
			break;
		leave_callback(f);
		push_frame(f, 0, sp, false);
		break;
	case VALUE_CROSSING_SIGNAL:
		push_frame(f, 0, sp, true);
		break;
	case VALUE_CROSSING_RESULT:
		leave_callback(f);
		f->returned = sp - sizeof(sp);
		break;
	case VALUE_CROSSING_KERNEL:
		if (capture && capture->nr == SYS_RT_SIGRETURN)
			end_signal(f);
		break;
	case VALUE_CROSSING_CALL:
	case VALUE_CROSSING_SWITCH:
		break;
	}
}

int value_instances_find(struct value_run *run, const uint64_t *ips, uint32_t n_ips, uint64_t max,
			 struct value_instances *out)
{
	struct finder f = {.ips = ips, .n_ips = n_ips, .max = max, .out = out};
	*out = (struct value_instances){.stop = VALUE_REPLAY_TRACE_FULL};
	f.machine = value_run_machine(run);
	if (!value_trace_init(&f.trace, BLOCKS, VALUES, VALUES))
		f.err = -ENOMEM;
	value_run_crossings(run, crossing, &f);
	while (!f.err && out->stop == VALUE_REPLAY_TRACE_FULL) {
		f.count = value_run_count(run);
		f.trace.n_blocks = f.trace.n_addresses = f.trace.n_results = 0;
		f.done = f.done_addresses = 0;
		out->stop = value_run_forward(run, UINT64_MAX / 4, &f.trace);
		take_trace(&f);
	}
	value_run_crossings(run, NULL, NULL);
	out->end = value_run_count(run);
	if (out->stop == VALUE_REPLAY_NO_MEMORY)
		f.err = -ENOMEM;
	value_trace_deinit(&f.trace);
	VEC_FREE(&f.frames);
	free(f.first);
	if (f.err)
		value_instances_deinit(out);
	return f.err;
}

void value_instances_deinit(struct value_instances *instances)
{
	VEC_FREE(instances);
}
