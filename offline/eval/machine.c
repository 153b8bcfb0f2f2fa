// SPDX-License-Identifier: LGPL-2.1-or-later
/* machine.c: the evaluator's tables, and the order of fast and slow execution. */
#include "offline/eval/machine_impl.h"

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
	m->jumps = m->jump_tables[VALUE_SIDE_TRACED];
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

bool value_machine_has_code(const struct value_machine *m, uint64_t addr, enum value_side side)
{
	for (size_t i = 0; i < m->n_code; i++)
		if (addr >= m->code[i].start && addr < m->code[i].end && m->code[i].side == side)
			return true;
	return false;
}

bool value_machine_is_code(const struct value_machine *m, uint64_t addr)
{
	return value_machine_has_code(m, addr, m->side);
}

static int add_code(struct value_machine *m, uint64_t start, uint64_t end, enum value_side side)
{
	struct code_range *code = realloc(m->code, (m->n_code + 1) * sizeof(*code));
	if (!code)
		return -ENOMEM;
	m->code = code;
	m->code[m->n_code++] = (struct code_range){start, end, side};
	return 0;
}

int value_machine_code(struct value_machine *m, uint64_t start, uint64_t end)
{
	return add_code(m, start, end, VALUE_SIDE_TRACED);
}

int value_machine_library(struct value_machine *m, uint64_t start, uint64_t end)
{
	return add_code(m, start, end, VALUE_SIDE_LIBRARY);
}

enum value_side value_machine_side_now(const struct value_machine *m)
{
	return m->side;
}

void value_machine_side(struct value_machine *m, enum value_side side)
{
	m->side = side;
	m->jumps = m->jump_tables[side];
}

/* Translated blocks stay where they are, for their numbers, but are not found any more. */
static void forget_translations(struct value_machine *m)
{
	memset(m->table, 0, sizeof(m->table));
	memset(m->jump_tables, 0, sizeof(m->jump_tables));
	for (uint32_t i = m->live_from; i < m->n_blocks; i++) {
		m->blocks[i]->link[0] = m->blocks[i]->link[1] = NULL;
		m->blocks[i]->gone = true;
	}
	m->live_from = m->n_blocks;
}

static void take_out(struct value_machine *m, struct value_block *b)
{
	struct value_block **at = &m->table[value_table_slot(b->ip)];
	while (*at && *at != b)
		at = &(*at)->chain;
	if (*at)
		*at = b->chain;
	b->gone = true;
}

/* The same of the blocks that have the instruction at @addr alone. */
static void forget_translation(struct value_machine *m, uint64_t addr)
{
	bool any = false;
	for (uint32_t i = m->live_from; i < m->n_blocks; i++) {
		struct value_block *b = m->blocks[i];
		const struct value_insn *last = &b->insns[b->n_insns - 1];
		if (!b->gone && b->ip <= addr && addr < last->ip + last->len) {
			take_out(m, b);
			any = true;
		}
	}
	if (!any)
		return;
	for (uint32_t i = m->live_from; i < m->n_blocks; i++)
		for (int k = 0; k < 2; k++)
			if (m->blocks[i]->link[k] && m->blocks[i]->link[k]->gone)
				m->blocks[i]->link[k] = NULL;
	for (int side = 0; side < VALUE_SIDES; side++)
		for (int i = 0; i < JUMPS; i++)
			if (m->jump_tables[side][i] && m->jump_tables[side][i]->gone)
				m->jump_tables[side][i] = NULL;
}

void value_machine_no_code(struct value_machine *m, uint64_t start, uint64_t end)
{
	size_t kept = 0;
	for (size_t i = 0; i < m->n_code; i++)
		if (m->code[i].side != VALUE_SIDE_TRACED || m->code[i].start >= end ||
		    m->code[i].end <= start)
			m->code[kept++] = m->code[i];
	if (kept != m->n_code)
		forget_translations(m);
	m->n_code = kept;
}

void value_machine_no_libraries(struct value_machine *m)
{
	size_t kept = 0;
	for (size_t i = 0; i < m->n_code; i++)
		if (m->code[i].side != VALUE_SIDE_LIBRARY)
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
	forget_translation(m, addr);
	return 0;
}

/* Those behind it that it was in the way of move up. */
static void no_place(struct value_machine *m, uint64_t addr)
{
	size_t mask = m->room_places - 1, hole = place_slot(m->places, m->room_places, addr);
	if (m->places[hole] != addr)
		return;
	m->places[hole] = 0;
	m->n_places--;
	for (size_t i = (hole + 1) & mask; m->places[i]; i = (i + 1) & mask) {
		uint64_t moved = m->places[i];
		m->places[i] = 0;
		m->places[place_slot(m->places, m->room_places, moved)] = moved;
	}
}

int value_machine_expect(struct value_machine *m, uint64_t addr, const uint64_t regs[16],
			 uint16_t known)
{
	m->expected_known = addr ? known : 0;
	if (addr)
		memcpy(m->expected_regs, regs, sizeof(m->expected_regs));
	if (addr == m->expected)
		return 0;
	if (m->expected_place) {
		no_place(m, m->expected);
		forget_translation(m, m->expected);
	}
	m->expected = 0;
	m->expected_place = addr && !value_is_place(m, addr);
	if (m->expected_place && value_machine_place(m, addr)) {
		m->expected_place = false;
		return -ENOMEM;
	}
	m->expected = addr;
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
	k->sticky = bits >> VALUE_BIT_STICKY & 1 ? quality : k->sticky;
	k->inexact = quality ? k->inexact | bits : k->inexact & ~bits;
}

static void doubt_bytes(uint8_t *q, size_t n, bool inexact)
{
	for (size_t i = 0; i < n; i++)
		q[i] = inexact && q[i] > VALUE_ASSUMED ? q[i] : VALUE_ASSUMED;
}

void value_doubt(struct value_machine *m, uint64_t bits)
{
	struct value_known *k = &m->known;
	uint8_t *const others[] = {&k->flags, &k->x87, &k->mxcsr, &k->df, &k->sticky};
	for (unsigned i = 0; i < 16; i++) {
		unsigned low = VALUE_BIT_VEC + i, high = VALUE_BIT_HIGH + i;
		if (bits >> i & 1)
			doubt_bytes(k->gpr[i], 8, k->inexact >> i & 1);
		if (bits >> low & 1)
			doubt_bytes(k->vec[i], 16, k->inexact >> low & 1);
		if (bits >> high & 1)
			doubt_bytes(k->vec[i] + 16, 16, k->inexact >> high & 1);
	}
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (bits >> (VALUE_BIT_FLAGS + i) & 1)
			doubt_bytes(others[i], 1, k->inexact >> (VALUE_BIT_FLAGS + i) & 1);
	k->inexact |= bits;
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
	uint8_t q[VALUE_BITS_USED] = {0};
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
	q[VALUE_BIT_STICKY] = bits >> VALUE_BIT_STICKY & 1 ? k->sticky : 0;
	uint8_t worst = worst_of(q, sizeof(q));
	return m->memory && m->memory->supposed && !worst ? VALUE_ASSUMED : worst;
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

static bool differs(const struct value_machine *m, unsigned i)
{
	return m->expected_known >> i & 1 && m->state.gpr[i] != m->expected_regs[i] &&
	       !(m->known.inexact >> i & 1);
}

/* Whether rip is where the owner expects it, at another time: a loop comes by often. */
static bool comes_by(struct value_machine *m)
{
	if (!m->expected_place || m->state.rip != m->expected)
		return false;
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
	if (m->resumed && m->resumed == m->state.rip && m->count < until)
		stop = step(m, trace);
	while ((stop == STEP_DONE || stop == VALUE_STOP_LIMIT) && m->count < until) {
		stop = value_exec(m, until, trace);
		if (stop == STOP_SLOW)
			stop = step_on(m, until, trace);
		if (stop == VALUE_STOP_PLACE && comes_by(m)) {
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
