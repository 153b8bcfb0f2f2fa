// SPDX-License-Identifier: LGPL-2.1-or-later
/* machine.c: the evaluator's tables, and the order of fast and slow execution. */
#include "offline/value/machine_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct arena_chunk {
	struct arena_chunk *next;
};

struct value_machine *value_machine_new(struct value_memory *memory)
{
	struct value_machine *m = aligned_alloc(64, (sizeof(*m) + 63) / 64 * 64);
	if (!m)
		return NULL;
	memset(m, 0, sizeof(*m));
	m->memory = memory;
	m->stubs = value_stubs_new();
	if (!m->stubs) {
		free(m);
		return NULL;
	}
	ZydisDecoderInit(&m->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	m->labels[0] = value_exec_labels(false);
	m->labels[1] = value_exec_labels(true);
	m->state.mxcsr = m->state.mxcsr_host = 0x1f80;
	m->state.fx[0] = 0x7f; /* as after fninit */
	m->state.fx[1] = 0x03;
	const uint32_t mxcsr = 0x1f80;
	memcpy(m->state.fx + 24, &mxcsr, 4);
	value_set_rflags(&m->state, 0x202);
	return m;
}

void value_machine_free(struct value_machine *m)
{
	if (!m)
		return;
	while (m->arena) {
		struct arena_chunk *chunk = m->arena;
		m->arena = chunk->next;
		free(chunk);
	}
	value_stubs_free(m->stubs);
	free(m->blocks);
	free(m->code);
	free(m->places);
	free(m);
}

/* --- code and places ------------------------------------------------------------------------- */

bool value_machine_is_code(const struct value_machine *m, uint64_t addr)
{
	for (size_t i = 0; i < m->n_code; i++)
		if (addr >= m->code[i].start && addr < m->code[i].end)
			return true;
	return false;
}

int value_machine_code(struct value_machine *m, uint64_t start, uint64_t end)
{
	struct code_range *code = realloc(m->code, (m->n_code + 1) * sizeof(*code));
	if (!code)
		return -ENOMEM;
	m->code = code;
	m->code[m->n_code++] = (struct code_range){start, end};
	return 0;
}

/* Translated blocks stay where they are, for their numbers, but are not found any more. */
static void forget_translations(struct value_machine *m)
{
	memset(m->table, 0, sizeof(m->table));
	memset(m->jumps, 0, sizeof(m->jumps));
	for (uint32_t i = 0; i < m->n_blocks; i++)
		m->blocks[i]->link[0] = m->blocks[i]->link[1] = NULL;
}

void value_machine_no_code(struct value_machine *m, uint64_t start, uint64_t end)
{
	size_t kept = 0;
	for (size_t i = 0; i < m->n_code; i++)
		if (m->code[i].end <= start || m->code[i].start >= end)
			m->code[kept++] = m->code[i];
	if (kept != m->n_code)
		forget_translations(m);
	m->n_code = kept;
}

static size_t place_slot(const uint64_t *places, size_t room, uint64_t addr)
{
	size_t i = addr * 0x9e3779b97f4a7c15 >> 20 & (room - 1);
	while (places[i] && places[i] != addr)
		i = (i + 1) & (room - 1);
	return i;
}

bool value_is_place(const struct value_machine *m, uint64_t addr)
{
	return m->n_places && m->places[place_slot(m->places, m->room_places, addr)] == addr;
}

int value_machine_place(struct value_machine *m, uint64_t addr)
{
	if (value_is_place(m, addr))
		return 0;
	if (2 * (m->n_places + 1) > m->room_places) {
		size_t room = m->room_places ? 2 * m->room_places : 256;
		uint64_t *places = calloc(room, sizeof(*places));
		if (!places)
			return -ENOMEM;
		for (size_t i = 0; i < m->room_places; i++)
			if (m->places[i])
				places[place_slot(places, room, m->places[i])] = m->places[i];
		free(m->places);
		m->places = places;
		m->room_places = room;
	}
	m->places[place_slot(m->places, m->room_places, addr)] = addr;
	m->n_places++;
	if (m->n_blocks)
		forget_translations(m);
	return 0;
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

void value_machine_inexact(const struct value_machine *m, uint64_t *assumed, uint64_t *unknown)
{
	*assumed = m->assumed;
	*unknown = m->unknown;
}

void value_forget(struct value_machine *m, uint64_t bits, uint8_t quality)
{
	struct value_known *k = &m->known;
	for (unsigned i = 0; i < 16; i++) {
		if (bits >> i & 1)
			memset(k->gpr[i], quality, 8);
		bool low = bits >> (VALUE_BIT_VEC + i) & 1, high = bits >> (VALUE_BIT_HIGH + i) & 1;
		if (low)
			memset(k->vec[i], quality, 16);
		if (high)
			memset(k->vec[i] + 16, quality, 16);
	}
	k->flags = bits >> VALUE_BIT_FLAGS & 1 ? quality : k->flags;
	k->x87 = bits >> VALUE_BIT_X87 & 1 ? quality : k->x87;
	k->mxcsr = bits >> VALUE_BIT_MXCSR & 1 ? quality : k->mxcsr;
	k->df = bits >> VALUE_BIT_DF & 1 ? quality : k->df;
	k->inexact = quality ? k->inexact | bits : k->inexact & ~bits;
}

void value_set_gpr(struct value_machine *m, unsigned reg, uint64_t value, uint8_t quality)
{
	m->state.gpr[reg] = value;
	value_forget(m, (uint64_t)1 << reg, quality);
}

void value_set_vec(struct value_machine *m, unsigned reg, const uint8_t bytes[32], uint8_t quality)
{
	memcpy(m->state.vec[reg], bytes, 32);
	value_forget(m,
		     (uint64_t)1 << (VALUE_BIT_VEC + reg) | (uint64_t)1 << (VALUE_BIT_HIGH + reg),
		     quality);
}

static uint8_t worst_of(const uint8_t *q, size_t n)
{
	uint8_t w = 0;
	for (size_t i = 0; i < n; i++)
		w = q[i] > w ? q[i] : w;
	return w;
}

uint8_t value_quality(const struct value_machine *m, uint64_t bits)
{
	const struct value_known *k = &m->known;
	uint8_t q[VALUE_BIT_DF + 1] = {0};
	bits &= k->inexact;
	for (unsigned i = 0; i < 16; i++) {
		q[i] = bits >> i & 1 ? worst_of(k->gpr[i], 8) : 0;
		if (bits >> (VALUE_BIT_VEC + i) & 1)
			q[VALUE_BIT_VEC + i] = worst_of(k->vec[i], 16);
		if (bits >> (VALUE_BIT_HIGH + i) & 1)
			q[VALUE_BIT_HIGH + i] = worst_of(k->vec[i] + 16, 16);
	}
	q[VALUE_BIT_FLAGS] = bits >> VALUE_BIT_FLAGS & 1 ? k->flags : 0;
	q[VALUE_BIT_X87] = bits >> VALUE_BIT_X87 & 1 ? k->x87 : 0;
	q[VALUE_BIT_MXCSR] = bits >> VALUE_BIT_MXCSR & 1 ? k->mxcsr : 0;
	q[VALUE_BIT_DF] = bits >> VALUE_BIT_DF & 1 ? k->df : 0;
	return worst_of(q, sizeof(q));
}

/* --- running --------------------------------------------------------------------------------- */

const struct value_block *value_machine_block(const struct value_machine *m, uint32_t number)
{
	return number < m->n_blocks ? m->blocks[number] : NULL;
}

uint32_t value_machine_blocks(const struct value_machine *m)
{
	return m->n_blocks;
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

/* One instruction, exactly; STEP_DONE or why not. */
static int step(struct value_machine *m, struct value_trace *trace)
{
	bool no_memory = false;
	struct value_block *b = value_translate(m, m->state.rip, true, &no_memory);
	if (!b)
		return no_memory				? VALUE_STOP_NO_MEMORY
		       : value_machine_is_code(m, m->state.rip) ? VALUE_STOP_TRAP
								: VALUE_STOP_OUTSIDE;
	if (b->place && m->resumed != b->ip)
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

enum value_stop value_machine_run(struct value_machine *m, uint64_t until,
				  struct value_trace *trace)
{
	int stop = STEP_DONE;
	if (m->resumed && m->resumed == m->state.rip && m->count < until)
		stop = step(m, trace);
	while ((stop == STEP_DONE || stop == VALUE_STOP_LIMIT) && m->count < until) {
		stop = value_exec(m, until, trace);
		if (stop == STOP_SLOW)
			stop = step_on(m, until, trace);
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

void value_machine_pass(struct value_machine *m)
{
	m->resumed = m->state.rip;
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

/* --- coverage -------------------------------------------------------------------------------- */

struct value_judge {
	struct value_memory memory;
	struct value_machine *machine;
};

struct value_judge *value_judge_new(void)
{
	struct value_judge *judge = calloc(1, sizeof(*judge));
	if (!judge)
		return NULL;
	if (value_memory_init(&judge->memory, NULL, NULL)) {
		free(judge);
		return NULL;
	}
	judge->machine = value_machine_new(&judge->memory);
	if (!judge->machine) {
		value_memory_deinit(&judge->memory);
		free(judge);
		return NULL;
	}
	return judge;
}

void value_judge_free(struct value_judge *judge)
{
	if (!judge)
		return;
	value_machine_free(judge->machine);
	value_memory_deinit(&judge->memory);
	free(judge);
}

bool value_judge_insn(struct value_judge *judge, const ZydisDecodedInstruction *zi,
		      const ZydisDecodedOperand *ops, const uint8_t *bytes)
{
	struct value_access access[VALUE_ACCESSES];
	struct value_op out[PER_INSN];
	struct value_insn insn;
	value_insn_describe(zi, ops, 0x400000, access, &insn);
	return value_lower(judge->machine, zi, ops, bytes, &insn, false, out) > 0;
}
