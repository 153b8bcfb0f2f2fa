// SPDX-License-Identifier: LGPL-2.1-or-later
/* worth.c: what each byte of a result is worth, by what each byte of the inputs is: of bitwise
 * operations, sums, choices, moves and searches for a bit. Of all else every byte is worth what the
 * worst input is. */
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

/* A result of bytes, as far as it is computed: what they are worth, and of bitwise operations their
 * bits, those that are exact, and how many bytes were read of one input. */
struct folded {
	uint8_t worth[WIDEST], value[WIDEST], bits[WIDEST];
	size_t width;
};

/* The bits of @a op @b that are exact, where those of @ea and @eb are: in one input a zero settles
 * an `and`, a one an `or`. */
static uint8_t exact_bits(uint8_t flow, uint8_t a, uint8_t ea, uint8_t b, uint8_t eb)
{
	const uint8_t both = ea & eb;
	return flow == VALUE_FLOW_AND  ? both | (ea & ~a) | (eb & ~b)
	       : flow == VALUE_FLOW_OR ? both | (ea & a) | (eb & b)
				       : both;
}

/* Takes one more input, of @n bytes with the qualities @q and the exact bits @bits. */
static void fold(const struct step *s, const uint8_t *bytes, const uint8_t *q, const uint8_t *bits,
		 size_t n, struct folded *f)
{
	uint8_t flow = s->insn->flow, carried = VALUE_EXACT;
	for (size_t i = 0; i < n; i++) {
		carried = flow == VALUE_FLOW_CARRY ? worse(carried, q[i]) : q[i];
		f->worth[i] = worse(f->worth[i], carried);
		f->bits[i] = exact_bits(flow, f->value[i], f->bits[i], bytes[i], bits[i]);
		if (flow == VALUE_FLOW_BYTES && f->bits[i] != 0xff)
			f->bits[i] = 0;
		f->value[i] = flow == VALUE_FLOW_AND  ? f->value[i] & bytes[i]
			      : flow == VALUE_FLOW_OR ? f->value[i] | bytes[i]
						      : f->value[i] ^ bytes[i];
	}
}

/* The flags of a bitwise operation that are exact: no carry; no zero, as soon as one bit is set; of
 * the other two what their bits are. */
static uint16_t exact_flags(const struct folded *f)
{
	uint16_t flags = VALUE_CF | VALUE_OF;
	bool all = true, one = false;
	for (size_t i = 0; i < f->width; i++) {
		all &= f->bits[i] == 0xff;
		one |= f->value[i] & f->bits[i];
	}
	flags |= all || one ? VALUE_ZF : 0;
	flags |= f->bits[0] == 0xff ? VALUE_PF : 0;
	flags |= f->width && f->bits[f->width - 1] & 0x80 ? VALUE_SF : 0;
	return flags;
}

/* Two numbers that are not the same in one bit are not equal. */
static uint16_t unequal_flags(const struct value_insn *insn, const struct folded *f)
{
	bool differ = false;
	for (size_t i = 0; i < f->width; i++)
		differ |= f->value[i] & f->bits[i];
	bool compares =
		insn->mnemonic == ZYDIS_MNEMONIC_CMP || insn->mnemonic == ZYDIS_MNEMONIC_SUB;
	return compares && differ ? VALUE_ZF : 0;
}

/* How many bits from the lowest on are exact, of @n bytes. */
static size_t exact_run(const uint8_t *bits, size_t n)
{
	size_t i = 0;
	while (i < 8 * n && bits[i / 8] >> i % 8 & 1)
		i++;
	return i;
}

/* A bit of a sum is of those of the inputs that are no higher. */
static void sum_bits(const struct folded *f, uint8_t out[WIDEST])
{
	const size_t run = exact_run(f->bits, f->width);
	memset(out, 0, WIDEST);
	for (size_t i = 0; i < run; i++)
		out[i / 8] |= (uint8_t)(1u << i % 8);
}

static void fold_inputs(struct step *s, struct folded *f)
{
	const struct value_insn *insn = s->insn;
	uint8_t bytes[MEMORY_MAX], q[MEMORY_MAX], bits[BITS_MAX];
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		if (!a->read || a->address || a->kind == VALUE_ACCESS_FLAGS)
			continue;
		size_t n = value_step_get(s, a, q);
		n = n < WIDEST ? n : WIDEST;
		value_step_get_bits(s, a, q, bits);
		bytes_read(s, a, bytes, n);
		fold(s, bytes, q, bits, n, f);
		f->width = n > f->width ? n : f->width;
	}
	if (insn->has_imm) {
		memset(q, VALUE_EXACT, sizeof(insn->imm));
		memset(bits, 0xff, sizeof(insn->imm));
		fold(s, (const uint8_t *)&insn->imm, q, bits, sizeof(insn->imm), f);
	}
}

/* The qualities of the result's bytes, before it is computed. */
static void fold_all(struct step *s, uint8_t out[WIDEST])
{
	const uint8_t flow = s->insn->flow;
	struct folded f = {.width = 0};
	memset(f.bits, 0xff, WIDEST);
	memset(f.value, flow == VALUE_FLOW_AND ? 0xff : 0, WIDEST);
	fold_inputs(s, &f);
	for (size_t i = 0; i < WIDEST; i++)
		out[i] = worse(f.bits[i] == 0xff && flow != VALUE_FLOW_CARRY ? VALUE_EXACT
									     : f.worth[i],
			       s->address);
	if (s->address)
		return;
	if (flow == VALUE_FLOW_CARRY)
		sum_bits(&f, s->bits);
	else
		memcpy(s->bits, f.bits, WIDEST);
	if (flow != VALUE_FLOW_BYTES)
		s->flags_exact =
			flow == VALUE_FLOW_CARRY ? unequal_flags(s->insn, &f) : exact_flags(&f);
}

/* The lowest bit that is set is known if it is exact, and those below it are. Of the flags ZF says
 * that there is one, and the others are not told. */
static bool find_lowest(struct step *s, uint8_t out[WIDEST])
{
	const struct value_insn *insn = s->insn;
	uint8_t bytes[MEMORY_MAX], q[MEMORY_MAX], bits[BITS_MAX];
	const struct value_access *of = NULL;
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		if (a->read && !a->write && !a->address)
			of = a;
	}
	if (!of || s->address)
		return false;
	const size_t n = value_step_get(s, of, q);
	if (n > 8)
		return false;
	value_step_get_bits(s, of, q, bits);
	bytes_read(s, of, bytes, n);
	const size_t run = exact_run(bits, n);
	size_t i = 0;
	while (i < run && !(bytes[i / 8] >> i % 8 & 1))
		i++;
	if (i == run)
		return false;
	memset(out, VALUE_EXACT, WIDEST);
	s->flags_exact = VALUE_ZF;
	return true;
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

/* Whether @a says where bits go: the second input of pshufb, and cl of a shift. */
static bool says_how(const struct value_insn *insn, const struct value_access *a)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_PSHUFB:
		return !a->write;
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
		return !insn->has_imm && a->kind == VALUE_ACCESS_GPR && a->reg == VALUE_RCX;
	default:
		return false;
	}
}

/* Changes all bits of registers that are not exact. Returns whether that is all that
 * is not exact of what the instruction reads. */
static bool flip_inexact(struct step *s)
{
	const struct value_insn *insn = s->insn;
	struct value_state *state = &s->m->state;
	uint8_t q[MEMORY_MAX], bits[BITS_MAX];
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
		if (worst(q, n) && (!bytes || a->address || says_how(insn, a)))
			return false;
		value_step_get_bits(s, a, q, bits);
		/* One register may be read twice: its bytes are changed once, from the copy's. */
		const uint8_t *from = a->kind == VALUE_ACCESS_GPR
					      ? (const uint8_t *)&s->before->gpr[a->reg]
					      : s->before->vec[a->reg];
		for (size_t k = 0; bytes && k < n; k++)
			bytes[a->off + k] = from[a->off + k] ^ (uint8_t)~bits[k];
	}
	return true;
}

/* An instruction that moves bits and changes none is executed twice, once with all bits changed
 * that are not exact: bits of the result that differ come from these. */
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
		for (size_t k = 0; k < a->len; k++) {
			s->bits[k] = ~(as[0][a->off + k] ^ as[1][a->off + k]);
			out[k] = s->bits[k] == 0xff ? VALUE_EXACT : s->in;
		}
	}
	return done;
}

bool value_step_worth(struct step *s, struct value_block *b, uint8_t out[MEMORY_MAX])
{
	switch (s->insn->flow) {
	case VALUE_FLOW_BITS:
	case VALUE_FLOW_AND:
	case VALUE_FLOW_OR:
	case VALUE_FLOW_BYTES:
	case VALUE_FLOW_CARRY:
		fold_all(s, out);
		return true;
	case VALUE_FLOW_LOWEST:
		return find_lowest(s, out);
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
	const uint8_t flow = s->insn->flow, all = worst(q, WIDEST);
	uint8_t flags = flow == VALUE_FLOW_MOVED || flow == VALUE_FLOW_LOWEST ? s->in : all;
	bool sets_flags = false;
	if (flow == VALUE_FLOW_LANES)
		return value_lanes_put(s, q);
	for (int i = 0; i < s->insn->n_access; i++) {
		const struct value_access *a = &s->insn->access[i];
		if (!a->write)
			continue;
		sets_flags |= a->kind == VALUE_ACCESS_FLAGS;
		if (a->kind == VALUE_ACCESS_FLAGS && a->read)
			flags = worse(flags, s->kept);
		value_step_put(s, a, a->kind == VALUE_ACCESS_FLAGS ? &flags : q);
		if (a->kind == VALUE_ACCESS_FLAGS)
			s->m->known.flags_exact |= s->flags_exact & a->mask;
		else
			value_step_put_bits(s, a, s->bits);
	}
	return sets_flags ? worse(all, flags) : all;
}
