// SPDX-License-Identifier: LGPL-2.1-or-later
/* reads.c: from the accesses that the evaluator's decoder lists (insn.h) to units. */
#include "offline/dep/reads.h"

#include <stdlib.h>
#include <string.h>

/* Bit i: the unit that begins at byte starts[i]. */
static uint64_t parts(const uint8_t starts[4], unsigned size, unsigned off, unsigned len)
{
	uint64_t bits = 0;
	for (unsigned i = 0; i < 4; i++) {
		unsigned end = i < 3 ? starts[i + 1] : size;
		if (off < end && off + len > starts[i])
			bits |= (uint64_t)1 << i;
	}
	return bits;
}

struct dep_units dep_units_gpr(unsigned reg, unsigned off, unsigned len)
{
	static const uint8_t starts[4] = {0, 1, 2, 4};
	return (struct dep_units){{parts(starts, 8, off, len) << 4 * reg}};
}

/* A row from the seventeenth on is a unit, but of masks each register. */
static struct dep_units wide_units(unsigned row, unsigned off)
{
	enum { MASK_BYTES = 8, OF_ROW = VALUE_ROW / MASK_BYTES };
	unsigned bit = row - VALUE_VECS;
	if (row >= VALUE_MASKS)
		bit = VALUE_MASKS - VALUE_VECS + (row - VALUE_MASKS) * OF_ROW + off / MASK_BYTES;
	return (struct dep_units){.w[DEP_WORD_WIDE] = (uint64_t)1 << bit};
}

struct dep_units dep_units_vec(unsigned reg, unsigned off, unsigned len)
{
	if (reg >= VALUE_VECS)
		return wide_units(reg, off);
	static const uint8_t starts[4] = {0, 4, 8, 16};
	return (struct dep_units){{0, parts(starts, 32, off, len) << 4 * reg}};
}

static struct dep_units flags_of(uint16_t mask)
{
	static const uint16_t order[] = {VALUE_CF, VALUE_PF, VALUE_AF,
					 VALUE_ZF, VALUE_SF, VALUE_OF};
	struct dep_units u = {{0}};
	for (unsigned i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (mask & order[i])
			u.w[DEP_WORD_REST] |= (uint64_t)1 << i;
	return u;
}

static struct dep_units rest(unsigned bit)
{
	return (struct dep_units){.w[DEP_WORD_REST] = (uint64_t)1 << bit};
}

/* Shifts by cl leave the flags as they are where it is zero. */
static bool shifts_by_cl(const struct value_insn *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		break;
	default:
		return false;
	}
	for (int i = 0; i < insn->n_access; i++)
		if (insn->access[i].kind == VALUE_ACCESS_GPR && insn->access[i].reg == VALUE_RCX &&
		    insn->access[i].len == 1 && insn->access[i].read && !insn->access[i].address)
			return true;
	return false;
}

static void add_flags(struct dep_insn *d, const struct value_insn *insn,
		      const struct value_access *a)
{
	struct dep_units u = flags_of(a->mask);
	if (!a->write) {
		dep_units_add(&d->data, &u);
		return;
	}
	/* That the others stay as they are is no read of theirs. */
	dep_units_add(&d->writes, &u);
	dep_units_add(shifts_by_cl(insn) ? &d->data : &d->kills, &u);
}

/* Registers that move by themselves: what is left is where a memory operand lies. */
static bool moves_apart(const struct value_insn *insn, unsigned reg)
{
	if (insn->kind == VALUE_INSN_STRING)
		return reg == VALUE_RSI || reg == VALUE_RDI || reg == VALUE_RCX;
	if (reg != VALUE_RSP)
		return false;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_PUSHFQ:
	case ZYDIS_MNEMONIC_POPFQ:
	case ZYDIS_MNEMONIC_LEAVE:
		return true;
	default:
		return insn->kind == VALUE_INSN_CALL || insn->kind == VALUE_INSN_CALL_IND ||
		       insn->kind == VALUE_INSN_RET;
	}
}

static void add_apart(struct dep_insn *d, const struct value_insn *insn,
		      const struct value_access *a, const struct dep_units *u)
{
	if (a->read && !(insn->mnemonic == ZYDIS_MNEMONIC_PUSH && !a->address && !a->write))
		dep_units_add(&d->address, u);
	else if (a->read)
		dep_units_add(&d->data, u); /* push rsp */
	if (!a->write)
		return;
	struct dep_units by =
		insn->mnemonic == ZYDIS_MNEMONIC_LEAVE ? dep_units_gpr(VALUE_RBP, 0, 8) : *u;
	dep_units_add(&d->moved, u);
	dep_units_add(&d->moves_by, &by);
}

static void add_register(struct dep_insn *d, const struct value_insn *insn,
			 const struct value_access *a)
{
	bool general = a->kind == VALUE_ACCESS_GPR;
	struct dep_units u = general ? dep_units_gpr(a->reg, a->off, a->len)
				     : dep_units_vec(a->reg, a->off, a->len);
	if (general && moves_apart(insn, a->reg)) {
		add_apart(d, insn, a, &u);
		return;
	}
	bool computes = insn->mnemonic == ZYDIS_MNEMONIC_LEA; /* its address is its result */
	if (a->read)
		dep_units_add(a->address && !computes ? &d->address : &d->data, &u);
	if (a->write) {
		dep_units_add(&d->writes, &u);
		dep_units_add(a->conditional ? &d->data : &d->kills, &u);
	}
	/* A cmov to four bytes always clears the upper four. */
	if (general && a->write && a->conditional && a->len == 4 && !a->off) {
		struct dep_units upper = dep_units_gpr(a->reg, 4, 4);
		dep_units_add(&d->writes, &upper);
		dep_units_add(&d->kills, &upper);
	}
}

static void add_memory(struct dep_insn *d, const struct value_insn *insn, unsigned i)
{
	const struct value_place *p = &insn->mem[i];
	struct dep_operand operand = {i, p->len};
	if (p->read)
		d->loads[d->n_loads++] = operand;
	if (p->write)
		d->stores[d->n_stores++] = operand;
}

static void describe(struct dep_insn *d, const struct value_insn *insn)
{
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		struct dep_units u = {{0}};
		switch (a->kind) {
		case VALUE_ACCESS_GPR:
		case VALUE_ACCESS_VEC:
			add_register(d, insn, a);
			break;
		case VALUE_ACCESS_FLAGS:
			add_flags(d, insn, a);
			break;
		case VALUE_ACCESS_X87:
			u = rest(DEP_BIT_X87);
			dep_units_add(&d->data, &u); /* the stack is one thing */
			if (a->write)
				dep_units_add(&d->writes, &u);
			break;
		case VALUE_ACCESS_MXCSR:
			u = rest(DEP_BIT_MXCSR);
			if (insn->mnemonic == ZYDIS_MNEMONIC_LDMXCSR ||
			    insn->mnemonic == ZYDIS_MNEMONIC_VLDMXCSR) {
				dep_units_add(&d->writes, &u);
				dep_units_add(&d->kills, &u);
			} else if (insn->mnemonic == ZYDIS_MNEMONIC_STMXCSR ||
				   insn->mnemonic == ZYDIS_MNEMONIC_VSTMXCSR) {
				dep_units_add(&d->data, &u);
			}
			break;
		case VALUE_ACCESS_DF:
			u = rest(DEP_BIT_DF);
			dep_units_add(a->read ? &d->address : &d->writes, &u);
			if (a->write)
				dep_units_add(&d->kills, &u);
			break;
		default:
			break;
		}
	}
	struct dep_units zeros = {.w[DEP_WORD_WIDE] = insn->no_tops};
	dep_units_add(&d->writes, &zeros);
	dep_units_add(&d->kills, &zeros);
	d->string = insn->kind == VALUE_INSN_STRING;
	d->predicate = insn->kind == VALUE_INSN_JCC || insn->kind == VALUE_INSN_JUMP_IND;
	d->direction = insn->mnemonic == ZYDIS_MNEMONIC_STD   ? -1
		       : insn->mnemonic == ZYDIS_MNEMONIC_CLD ? 1
							      : 0;
	d->n_addresses = insn->n_addresses;
	d->n_results = insn->n_results;
	for (unsigned i = 0; i < insn->n_mem && !d->string; i++)
		add_memory(d, insn, i);
}

/* What an instruction reads, it reads before it writes. */
static void list_accesses(struct dep_block *b, const struct dep_insn *d, uint16_t first)
{
	for (unsigned i = 0; i < d->n_loads; i++)
		b->accesses[b->n_accesses++] =
			(struct dep_access){first + d->loads[i].address, d->loads[i].len, false};
	for (unsigned i = 0; i < d->n_stores; i++)
		b->accesses[b->n_accesses++] =
			(struct dep_access){first + d->stores[i].address, d->stores[i].len, true};
}

struct dep_block *dep_block_new(const struct value_block *block)
{
	enum { PER_INSN = 4 }; /* two memory operands, each read and written */
	size_t insns = block->n_insns * sizeof(struct dep_insn);
	size_t accesses = block->n_insns * PER_INSN * sizeof(struct dep_access);
	struct dep_block *b = calloc(1, sizeof(*b) + insns + accesses);
	if (!b)
		return NULL;
	b->accesses = (struct dep_access *)&b->insns[block->n_insns];
	b->ip = block->ip;
	b->number = block->number;
	b->n_insns = block->n_insns;
	b->last_kind = block->insns[block->n_insns - 1].kind;
	b->single = block->single;
	b->block = block;
	uint16_t first = 0; /* of the instruction's addresses */
	for (unsigned i = 0; i < block->n_insns; i++) {
		struct dep_insn *d = &b->insns[i];
		describe(d, &block->insns[i]);
		list_accesses(b, d, first);
		first += d->n_addresses;
		d->ip_off = block->insns[i].ip - block->ip;
		dep_units_add(&b->data, &d->data);
		dep_units_add(&b->address, &d->address);
		dep_units_add(&b->writes, &d->writes);
		dep_units_add(&b->writes, &d->moved);
		b->n_loads += d->n_loads;
		b->n_results += d->n_results;
		b->n_stores += d->n_stores;
		b->n_strings += d->string;
		b->slow |= d->string || d->direction;
	}
	b->n_addresses = first;
	return b;
}
