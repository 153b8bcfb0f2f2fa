// SPDX-License-Identifier: LGPL-2.1-or-later
/* translate.c: blocks. Code is read from the evaluated memory when control first comes to it. */
#include "offline/eval/machine_impl.h"

#include <string.h>

enum { INSN_MAX = ZYDIS_MAX_INSTRUCTION_LENGTH };

/* The bytes of the instruction at @ip, as many as there are in code and exact; 0: none. */
static size_t fetch(struct value_machine *m, uint64_t ip, uint8_t *bytes)
{
	size_t n = 0, end = 0;
	while (n == end && n < INSN_MAX && value_machine_is_code(m, ip + n) &&
	       !value_made_is_crowded(m, ip + n)) {
		uint8_t quality[INSN_MAX];
		size_t part = VALUE_PAGE - (ip + n) % VALUE_PAGE;
		part = part < INSN_MAX - n ? part : INSN_MAX - n;
		if (value_memory_read(m->memory, ip + n, bytes + n, part, NULL) ||
		    value_memory_read_qualities(m->memory, ip + n, quality, part))
			break;
		end = n + part;
		for (size_t i = 0; i < part && quality[i] == VALUE_EXACT; i++)
			n++;
	}
	return n;
}

struct draft {
	struct value_insn insns[VALUE_BLOCK_INSNS];
	struct value_access access[VALUE_BLOCK_INSNS][VALUE_ACCESSES];
	ZydisDecodedInstruction zi[VALUE_BLOCK_INSNS];
	ZydisDecodedOperand operands[VALUE_BLOCK_INSNS][ZYDIS_MAX_OPERAND_COUNT];
	uint8_t bytes[VALUE_BLOCK_INSNS][INSN_MAX];
	bool quiet[VALUE_BLOCK_INSNS];
	struct value_op ops[VALUE_BLOCK_INSNS * PER_INSN + 1];
	unsigned n_insns, n_ops;
	bool ended; /* by an instruction that is neither PLAIN nor STRING */
};

static void decode(struct value_machine *m, struct draft *d, uint64_t ip, unsigned max)
{
	while (d->n_insns < max && (!d->n_insns || !value_is_place(m, ip))) {
		unsigned i = d->n_insns;
		size_t n = fetch(m, ip, d->bytes[i]);
		if (!n || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&m->decoder, d->bytes[i], n,
							       &d->zi[i], d->operands[i])))
			break;
		value_insn_describe(&d->zi[i], d->operands[i], ip, d->access[i], &d->insns[i]);
		d->n_insns++;
		ip += d->insns[i].len;
		uint8_t kind = d->insns[i].kind;
		d->ended = kind != VALUE_INSN_PLAIN && kind != VALUE_INSN_STRING;
		if (d->ended)
			break;
	}
}

/* Marks instructions whose flags nobody reads: all six are written again before the block's end. */
static void find_quiet(struct draft *d)
{
	uint16_t live = VALUE_FLAGS;
	for (unsigned i = d->n_insns; i-- > 0;) {
		uint16_t read = 0, written = 0;
		for (int k = 0; k < d->insns[i].n_access; k++) {
			const struct value_access *a = &d->insns[i].access[k];
			if (a->kind != VALUE_ACCESS_FLAGS)
				continue;
			read |= a->write ? a->read ? (uint16_t)~a->mask : 0 : a->mask;
			written |= a->write && !(a->read && a->mask == VALUE_FLAGS) ? a->mask : 0;
		}
		d->quiet[i] = written && !(live & written);
		live = (live & ~written) | (read & VALUE_FLAGS);
	}
}

static void lower_all(struct value_machine *m, struct draft *d)
{
	for (unsigned i = 0; i < d->n_insns; i++) {
		struct value_insn *insn = &d->insns[i];
		insn->first_op = d->n_ops;
		struct value_op *out = &d->ops[d->n_ops];
		unsigned n = value_lower(m, &d->zi[i], d->operands[i], d->bytes[i], insn,
					 d->quiet[i], out);
		insn->computed = n;
		if (!n) {
			memset(out, 0, sizeof(*out));
			out->id = insn->kind == VALUE_INSN_PLAIN || insn->kind == VALUE_INSN_STRING
					  ? OP_unsupported
					  : OP_trap;
			if (out->id == OP_trap)
				insn->kind = VALUE_INSN_TRAP;
			out->log = insn->n_results ? LOG_ALL : LOG_NOTHING;
			n = 1;
		}
		for (unsigned k = 0; k < n; k++)
			out[k].insn = i;
		d->n_ops += n;
	}
}

static void end(struct draft *d, uint64_t ip)
{
	if (d->ended)
		return;
	struct value_op *op = &d->ops[d->n_ops++];
	memset(op, 0, sizeof(*op));
	op->id = OP_fall;
	op->base = op->index = VALUE_ZERO;
	op->insn = d->n_insns - 1;
	op->imm = ip;
}

/* Copies @d into the arena; NULL: no memory. */
static struct value_block *keep(struct value_machine *m, const struct draft *d)
{
	struct value_block *b = value_arena(m, sizeof(*b));
	struct value_insn *insns = value_arena(m, d->n_insns * sizeof(*insns));
	struct value_op *ops = value_arena(m, d->n_ops * sizeof(*ops));
	if (!b || !insns || !ops)
		return NULL;
	memset(b, 0, sizeof(*b));
	b->insns = insns;
	b->ops = ops;
	b->ip = d->insns[0].ip;
	b->n_insns = d->n_insns;
	b->n_ops = d->n_ops;
	memcpy(ops, d->ops, d->n_ops * sizeof(*ops));
	for (unsigned i = 0; i < d->n_ops; i++)
		for (int k = 0; k < 2; k++)
			ops[i].code[k] = m->labels[k][ops[i].id];
	for (unsigned i = 0; i < d->n_insns; i++) {
		insns[i] = d->insns[i];
		size_t size = insns[i].n_access * sizeof(struct value_access);
		insns[i].access = value_arena(m, size ? size : 1);
		if (!insns[i].access)
			return NULL;
		memcpy(insns[i].access, d->access[i], size);
		b->needs |= value_insn_reads(&insns[i]) & ~b->defines;
		b->defines |= value_insn_defines(&insns[i]);
		b->n_addresses += insns[i].n_addresses;
		b->n_results += insns[i].n_results;
		b->string |= insns[i].kind == VALUE_INSN_STRING;
	}
	return b;
}

static int add_block(struct value_machine *m, struct value_block *b)
{
	if (m->n_blocks == m->room_blocks) {
		uint32_t room = m->room_blocks ? 2 * m->room_blocks : 1024;
		struct value_block **blocks = realloc(m->blocks, room * sizeof(*blocks));
		if (!blocks)
			return -1;
		m->blocks = blocks;
		uint32_t *live = realloc(m->live, room * sizeof(*live));
		if (!live)
			return -1;
		m->live = live;
		m->room_blocks = room;
	}
	b->number = m->n_blocks;
	m->live[m->n_live++] = b->number;
	m->blocks[m->n_blocks++] = b;
	return 0;
}

/* Twice as many lists, once there are as many blocks. Without memory for that they get longer. */
static void grow_table(struct value_machine *m)
{
	const unsigned bits = m->table_bits + 1;
	struct value_block **table = calloc((size_t)1 << bits, sizeof(*table));
	if (!table)
		return;
	free(m->table);
	m->table = table;
	m->table_bits = bits;
	for (uint32_t i = 0; i < m->n_live; i++) {
		struct value_block *b = m->blocks[m->live[i]];
		if (!b->gone)
			value_put_block(m, b);
	}
}

struct value_block *value_translate(struct value_machine *m, uint64_t ip, bool single,
				    bool *no_memory)
{
	value_made_sync(m);
	for (struct value_block *b = *value_table_slot(m, ip); b; b = b->chain)
		if (b->ip == ip && b->single == single && b->side == m->side)
			return b;
	*no_memory = false;
	if (!value_machine_is_code(m, ip))
		return NULL;
	struct value_block *again = value_made_again(m, ip, single);
	if (again || value_made_is_full(m, ip))
		return again;
	m->full |= m->translatable < VALUE_BLOCK_INSNS;
	struct draft *d = m->full ? NULL : malloc(sizeof(*d));
	if (!d) {
		*no_memory = true;
		return NULL;
	}
	d->n_insns = d->n_ops = 0;
	d->ended = false;
	decode(m, d, ip, single ? 1 : VALUE_BLOCK_INSNS);
	struct value_block *b = NULL;
	if (d->n_insns) {
		m->translatable -= d->n_insns;
		find_quiet(d);
		lower_all(m, d);
		const struct value_insn *last = &d->insns[d->n_insns - 1];
		end(d, last->ip + last->len);
		b = keep(m, d);
		*no_memory = !b || add_block(m, b);
	}
	free(d);
	if (!b || *no_memory)
		return NULL;
	b->single = single;
	b->side = m->side;
	b->place = value_is_place(m, ip);
	b->seldom = value_is_seldom(m, ip);
	if (b->place && !single)
		b->needs |= VALUE_PLACE_BIT;
	*no_memory = !value_made_keep(m, b);
	if (*no_memory)
		return NULL;
	value_put_block(m, b);
	if (m->n_live >> m->table_bits)
		grow_table(m);
	return b;
}
