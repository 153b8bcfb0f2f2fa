// SPDX-License-Identifier: LGPL-2.1-or-later
/* worth.c: what each byte of a result is worth, by what each byte of the inputs is: of bitwise
 * operations, sums, choices and moves. Of all else every byte is worth what the worst input is. */
#include "offline/eval/step.h"

#include <string.h>

enum { WIDEST = 32 }; /* bytes of such an operation */

/* The bytes that @a reads. */
static void bytes_read(const struct step *s, const struct value_access *a, uint8_t *out, size_t n)
{
	const struct value_state *state = &s->m->state;
	if (a->kind == VALUE_ACCESS_GPR)
		memcpy(out, (const uint8_t *)&state->gpr[a->reg] + a->off, n);
	else if (a->kind == VALUE_ACCESS_VEC)
		memcpy(out, state->vec[a->reg] + a->off, n);
	else if (value_memory_read(s->m->memory, s->place[a->reg], out, n, NULL))
		memset(out, 0x55, n); /* settles nothing */
}

/* Takes one more input, of @n bytes with the qualities @q, into those of the result. */
static void fold(struct step *s, const uint8_t *bytes, const uint8_t *q, size_t n, uint8_t *out,
		 bool *settled)
{
	uint8_t flow = s->insn->flow, carried = VALUE_EXACT;
	for (size_t i = 0; i < n; i++) {
		carried = flow == VALUE_FLOW_CARRY ? worse(carried, q[i]) : q[i];
		out[i] = worse(out[i], carried);
		settled[i] |= q[i] == VALUE_EXACT && ((flow == VALUE_FLOW_AND && !bytes[i]) ||
						      (flow == VALUE_FLOW_OR && bytes[i] == 0xff));
	}
}

/* The qualities of the result's bytes, before it is computed. */
static void fold_all(struct step *s, uint8_t out[WIDEST])
{
	const struct value_insn *insn = s->insn;
	uint8_t bytes[MEMORY_MAX], q[MEMORY_MAX];
	bool settled[WIDEST] = {0};
	memset(out, VALUE_EXACT, WIDEST);
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		if (!a->read || a->address || a->kind == VALUE_ACCESS_FLAGS)
			continue;
		size_t n = value_step_get(s, a, q);
		n = n < WIDEST ? n : WIDEST;
		bytes_read(s, a, bytes, n);
		fold(s, bytes, q, n, out, settled);
	}
	if (insn->has_imm) {
		memset(q, VALUE_EXACT, sizeof(insn->imm));
		fold(s, (const uint8_t *)&insn->imm, q, sizeof(insn->imm), out, settled);
	}
	for (size_t i = 0; i < WIDEST; i++)
		out[i] = worse(settled[i] ? VALUE_EXACT : out[i], s->address);
}

/* Whether the condition that a jump, setcc or cmov has in the low four bits of its opcode holds
 * (Intel SDM 2, appendix B.1.4.7). */
static bool holds(uint8_t condition, const struct value_state *state)
{
	const uint64_t f = value_rflags(state);
	const bool carry = f & 1, parity = f & 4, zero = f & 0x40, sign = f & 0x80;
	const bool overflow = f & 0x800, less = sign != overflow;
	const bool of_pairs[] = {overflow, carry,  zero, carry || zero,
				 sign,	   parity, less, less || zero};
	return of_pairs[condition >> 1] != (condition & 1);
}

/* Flags that are known say which of the two inputs it is: the destination as it was, or the
 * source behind it. Else a byte is as good as the worst of the three. */
static void select_one(struct step *s, uint8_t out[WIDEST])
{
	const struct value_insn *insn = s->insn;
	uint8_t q[MEMORY_MAX], flags = VALUE_EXACT;
	unsigned n_inputs = 0, chosen = holds(insn->condition, &s->m->state);
	for (int i = 0; i < insn->n_access; i++)
		if (insn->access[i].kind == VALUE_ACCESS_FLAGS && insn->access[i].read)
			flags = value_flags_worth(&s->m->known, insn->access[i].mask);
	memset(out, flags, WIDEST);
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		if (!a->read || a->address || a->kind == VALUE_ACCESS_FLAGS)
			continue;
		size_t n = value_step_get(s, a, q);
		if (flags == VALUE_EXACT && n_inputs++ != chosen)
			continue;
		for (size_t b = 0; b < n && b < WIDEST; b++)
			out[b] = worse(out[b], q[b]);
	}
	/* A source whose address is not known may also be one that cannot be read. */
	for (size_t b = 0; b < WIDEST; b++)
		out[b] = worse(out[b], s->address);
}

/* Changes all bits of the bytes of registers that are not exact. Returns whether that is all that
 * is not exact of what the instruction reads. */
static bool flip_inexact(struct step *s)
{
	const struct value_insn *insn = s->insn;
	struct value_state *state = &s->m->state;
	uint8_t q[MEMORY_MAX];
	for (int i = 0; i < insn->n_mem; i++)
		if (insn->mem[i].write || worst(s->qualities[i], insn->mem[i].len))
			return false;
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		uint8_t *bytes = a->kind == VALUE_ACCESS_GPR   ? (uint8_t *)&state->gpr[a->reg]
				 : a->kind == VALUE_ACCESS_VEC ? state->vec[a->reg]
							       : NULL;
		if (!a->read || a->kind == VALUE_ACCESS_MEMORY)
			continue;
		size_t n = value_step_get(s, a, q);
		bool says_how = insn->mnemonic == ZYDIS_MNEMONIC_PSHUFB && !a->write;
		if (worst(q, n) && (!bytes || a->address || says_how))
			return false;
		/* One register may be read twice: its bytes are changed once, from the copy's. */
		const uint8_t *from = a->kind == VALUE_ACCESS_GPR
					      ? (const uint8_t *)&s->before->gpr[a->reg]
					      : s->before->vec[a->reg];
		for (size_t k = 0; bytes && k < n; k++)
			bytes[a->off + k] = from[a->off + k] ^ (q[k] ? 0xff : 0);
	}
	return true;
}

/* An instruction that moves bits and changes none is executed twice, once with all bits changed of
 * bytes that are not exact: bytes of the result that differ come from these. */
static bool moved(struct step *s, struct value_block *b, uint8_t out[MEMORY_MAX])
{
	struct value_machine *m = s->m;
	const struct value_state before = m->state;
	const uint64_t count = m->count;
	struct value_state results[2];
	s->before = &before;
	bool done = flip_inexact(s);
	for (int turn = 0; done && turn < 2; turn++) {
		done = value_exec_single(m, b, NULL) == VALUE_STOP_LIMIT;
		results[turn] = m->state;
		m->state = before;
		m->count = count;
	}
	m->state = before;
	for (int i = 0; done && i < s->insn->n_access; i++) {
		const struct value_access *a = &s->insn->access[i];
		const uint8_t *as[2];
		for (int turn = 0; turn < 2; turn++)
			as[turn] = a->kind == VALUE_ACCESS_GPR
					   ? (const uint8_t *)&results[turn].gpr[a->reg]
					   : results[turn].vec[a->reg];
		if (!a->write || a->kind == VALUE_ACCESS_FLAGS)
			continue;
		if (a->kind != VALUE_ACCESS_GPR && a->kind != VALUE_ACCESS_VEC)
			return false;
		for (size_t k = 0; k < a->len; k++)
			out[k] = as[0][a->off + k] != as[1][a->off + k] ? s->in : VALUE_EXACT;
	}
	return done;
}

bool value_step_worth(struct step *s, struct value_block *b, uint8_t out[MEMORY_MAX])
{
	switch (s->insn->flow) {
	case VALUE_FLOW_BITS:
	case VALUE_FLOW_AND:
	case VALUE_FLOW_OR:
	case VALUE_FLOW_CARRY:
		fold_all(s, out);
		return true;
	case VALUE_FLOW_SELECT:
		select_one(s, out);
		return true;
	case VALUE_FLOW_MOVED:
		memset(out, VALUE_EXACT, WIDEST);
		return moved(s, b, out);
	case VALUE_FLOW_LANES:
		value_lanes_worth(s, out);
		return true;
	default:
		return false;
	}
}

/* Flags are of all bytes, of what leaves the register as well, and of what they were if they may
 * not be written. Returns the worst of what is written. */
uint8_t value_step_put_bytes(struct step *s, const uint8_t *q)
{
	uint8_t all = worst(q, WIDEST), flags = s->insn->flow == VALUE_FLOW_MOVED ? s->in : all;
	bool sets_flags = false;
	if (s->insn->flow == VALUE_FLOW_LANES)
		return value_lanes_put(s, q);
	for (int i = 0; i < s->insn->n_access; i++) {
		const struct value_access *a = &s->insn->access[i];
		if (!a->write)
			continue;
		sets_flags |= a->kind == VALUE_ACCESS_FLAGS;
		if (a->kind == VALUE_ACCESS_FLAGS && a->read)
			flags = worse(flags, s->kept);
		value_step_put(s, a, a->kind == VALUE_ACCESS_FLAGS ? &flags : q);
	}
	return sets_flags ? worse(all, flags) : all;
}
