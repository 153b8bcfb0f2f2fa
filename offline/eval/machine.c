// SPDX-License-Identifier: LGPL-2.1-or-later
/* machine.c: the evaluator's tables, and the order of fast and slow execution. */
#include "offline/eval/machine_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct value_machine *value_machine_new(struct value_memory *memory)
{
	struct value_machine *m = aligned_alloc(64, (sizeof(*m) + 63) / 64 * 64);
	if (!m)
		return NULL;
	memset(m, 0, sizeof(*m));
	m->memory = memory;
	m->turns = m->translatable = UINT64_MAX;
	m->makeable = MADE_INSNS;
	m->jumps = m->jump_tables[VALUE_SIDE_TRACED];
	m->stubs = value_stubs_new();
	m->table_bits = TABLE_FIRST;
	m->table = calloc((size_t)1 << TABLE_FIRST, sizeof(*m->table));
	if (!m->stubs || !m->table) {
		value_stubs_free(m->stubs);
		free(m->table);
		free(m);
		return NULL;
	}
	ZydisDecoderInit(&m->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	/* Without a shadow stack, which is not followed, what asks for it (rdssp) does nothing. */
	ZydisDecoderEnableMode(&m->decoder, ZYDIS_DECODER_MODE_CET, ZYAN_FALSE);
	m->labels[0] = value_exec_labels(false);
	m->labels[1] = value_exec_labels(true);
	m->state = value_state_fresh();
	return m;
}

void value_machine_free(struct value_machine *m)
{
	if (!m)
		return;
	value_arena_free(m);
	value_stubs_free(m->stubs);
	free(m->table);
	free(m->made);
	free(m->blocks);
	free(m->live);
	value_inexacts_free(&m->inexacts);
	free(m->code);
	free(m->places);
	free(m);
}

/* --- state ----------------------------------------------------------------------------------- */

struct value_state *value_machine_state(struct value_machine *m)
{
	return &m->state;
}

struct value_known *value_machine_known(struct value_machine *m)
{
	return &m->known;
}

struct value_memory *value_machine_memory(struct value_machine *m)
{
	return m->memory;
}

uint64_t value_machine_count(const struct value_machine *m)
{
	return m->count;
}

void value_machine_set_count(struct value_machine *m, uint64_t count)
{
	m->count = count;
	m->resumed = 0;
}

uint64_t value_machine_turns(const struct value_machine *m)
{
	return m->turns;
}

void value_machine_set_turns(struct value_machine *m, uint64_t turns)
{
	m->turns = turns;
}

void value_machine_set_translated_max(struct value_machine *m, uint64_t most)
{
	m->translatable = most;
}

bool value_machine_is_full(const struct value_machine *m)
{
	return m->full;
}

void value_machine_met(struct value_machine *m)
{
	m->resumed = m->state.rip;
}

void value_machine_inexact(const struct value_machine *m, uint64_t *assumed, uint64_t *unknown)
{
	*assumed = m->assumed;
	*unknown = m->unknown;
}

const struct value_inexacts *value_machine_inexacts(const struct value_machine *m)
{
	return &m->inexacts;
}

void value_machine_recall(struct value_machine *m, value_recall_fn *fn, void *ctx)
{
	m->recall = fn;
	m->recall_ctx = ctx;
}

void value_machine_set_inexact(struct value_machine *m, uint64_t assumed, uint64_t unknown)
{
	m->assumed = assumed;
	m->unknown = unknown;
}

void value_machine_suppose(struct value_machine *m)
{
	m->supposed = true;
}

bool value_machine_supposed(struct value_machine *m)
{
	bool supposed = m->supposed;

	m->supposed = false;
	return supposed;
}

/* --- running --------------------------------------------------------------------------------- */

const struct value_block *value_machine_block(const struct value_machine *m, uint32_t number)
{
	return number < m->n_blocks ? m->blocks[number] : NULL;
}

const struct value_insn *value_machine_insn(struct value_machine *m, uint64_t ip)
{
	bool no_memory;
	const struct value_block *b = value_translate(m, ip, true, &no_memory);
	return b ? &b->insns[0] : NULL;
}

static bool trace_full(const struct value_trace *trace)
{
	enum { ADDRESSES = 4, RESULTS = 64 }; /* of one instruction, with room to spare */
	return trace && (trace->max_blocks - trace->n_blocks <= VALUE_BLOCK_INSNS ||
			 trace->max_addresses - trace->n_addresses < ADDRESSES ||
			 trace->max_results - trace->n_results < RESULTS);
}

static int step_once(struct value_machine *m, struct value_trace *trace)
{
	bool no_memory = false;
	struct value_block *b = value_translate(m, m->state.rip, true, &no_memory);
	if (!b)
		return no_memory				? VALUE_STOP_NO_MEMORY
		       : value_machine_is_code(m, m->state.rip) ? VALUE_STOP_TRAP
								: VALUE_STOP_OUTSIDE;
	if (b->place && m->resumed != b->ip && value_stops_before(m, b))
		return VALUE_STOP_PLACE;
	if (trace_full(trace))
		return VALUE_STOP_TRACE_FULL;
	m->resumed = 0;
	m->left = &b->insns[0];
	if (b->needs & m->known.inexact)
		return value_step_slow(m, trace);
	int stop = value_exec_single(m, b, trace);
	return stop == VALUE_STOP_LIMIT ? STEP_DONE
	       : stop == STOP_SLOW	? value_step_slow(m, trace)
					: stop;
}

/* One instruction, exactly; STEP_DONE or why not. One that stores to where code was translated from
 * was refused, so that no block that it changes goes on. */
static int step(struct value_machine *m, struct value_trace *trace)
{
	const uint64_t resumed = m->resumed;
	int stop = step_once(m, trace);
	if (stop != VALUE_STOP_FAULT || !m->memory || !m->memory->stored_to_watched)
		return stop;
	m->unwatched = true; /* it may store to its own page */
	value_memory_unwatch(m->memory);
	m->resumed = resumed; /* the place there was met */
	stop = step_once(m, trace);
	m->unwatched = false;
	value_made_look_again(m);
	return stop;
}

/* Instruction by instruction to the end of a block: the next one may be fast again. */
static int step_on(struct value_machine *m, uint64_t until, struct value_trace *trace)
{
	for (;;) {
		uint64_t ip = m->state.rip;
		int stop = step(m, trace);
		if (stop != STEP_DONE || m->count >= until)
			return stop;
		const struct value_insn *insn = value_machine_insn(m, ip);
		if (insn && insn->kind != VALUE_INSN_PLAIN && insn->kind != VALUE_INSN_STRING)
			return stop;
	}
}

static bool differs(const struct value_machine *m, unsigned i)
{
	return m->expected_known >> i & 1 && m->state.gpr[i] != m->expected_regs[i] &&
	       !(m->known.inexact >> i & 1);
}

/* Whether rip is where the owner expects it at another time, as a loop comes by often, or did once.
 */
static bool comes_by(struct value_machine *m)
{
	if (!m->expected_place || m->state.rip != m->expected)
		return false;
	if (!m->expects) {
		value_expect_nothing(m);
		return true;
	}
	for (unsigned i = 0; i < 16; i++)
		if (differs(m, (m->differed + i) % 16)) {
			m->differed = (m->differed + i) % 16;
			return true;
		}
	return false;
}

enum value_stop value_machine_run(struct value_machine *m, uint64_t until,
				  struct value_trace *trace)
{
	int stop = STEP_DONE;
	value_made_sync(m);
	if (m->resumed != m->state.rip) /* the owner has left it by himself */
		m->resumed = 0;
	if (m->resumed && m->count < until)
		stop = step(m, trace);
	while ((stop == STEP_DONE || stop == VALUE_STOP_LIMIT) && m->count < until) {
		stop = value_exec(m, until, trace);
		if (stop == STOP_SLOW)
			stop = step_on(m, until, trace);
		if (stop != VALUE_STOP_PLACE || !comes_by(m))
			continue;
		stop = VALUE_STOP_LIMIT;
		if (m->count < until) {
			m->resumed = m->state.rip;
			stop = step(m, trace);
		}
	}
	if (stop == VALUE_STOP_PLACE)
		m->resumed = m->state.rip;
	return stop == STEP_DONE ? VALUE_STOP_LIMIT : (enum value_stop)stop;
}

const struct value_insn *value_machine_left(const struct value_machine *m, uint64_t *slot)
{
	*slot = m->left && m->left->n_mem &&
				(m->left->kind == VALUE_INSN_JUMP_IND ||
				 m->left->kind == VALUE_INSN_CALL_IND)
			? value_place_address(&m->left->mem[0], &m->state)
			: 0;
	return m->left;
}

int value_machine_skip(struct value_machine *m, struct value_trace *trace)
{
	bool no_memory;
	const struct value_block *b = value_translate(m, m->state.rip, true, &no_memory);
	if (!b || trace_full(trace))
		return b ? -EAGAIN : -ENOENT;
	m->resumed = 0;
	m->left = &b->insns[0];
	value_trace_insn(m, trace, b);
	m->state.rip += b->insns[0].len;
	m->count++;
	return 0;
}
