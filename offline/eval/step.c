// SPDX-License-Identifier: LGPL-2.1-or-later
/* step.c: how well the bytes are known that an instruction reads, and what it writes; see step.h.
 */
#include "offline/eval/step.h"

#include <string.h>

static void mark(struct value_known *k, unsigned bit, bool inexact)
{
	k->inexact = (k->inexact & ~((uint64_t)1 << bit)) | (uint64_t)inexact << bit;
	k->forgotten &= ~((uint64_t)1 << bit);
}

/* A row behind the first sixteen, of which one bit tells. */
static bool is_exact_row(const struct value_machine *m, unsigned row)
{
	return !is_inexact(&m->known, VALUE_BIT_WIDE) || value_has_no_top(&m->state, row);
}

static void get_vec(const struct value_machine *m, unsigned reg, uint8_t out[32])
{
	const struct value_known *k = &m->known;
	memcpy(out, k->vec[reg], 32);
	if (reg >= VALUE_VECS) {
		if (is_exact_row(m, reg))
			memset(out, VALUE_EXACT, VALUE_ROW);
		return;
	}
	if (!is_inexact(k, VALUE_BIT_VEC + reg))
		memset(out, 0, 16);
	if (!is_inexact(k, VALUE_BIT_HIGH + reg))
		memset(out + 16, 0, 16);
}

/* That bit becomes set with the first byte that is not exact, and clear with the last one. */
static void put_row(struct value_machine *m, unsigned row, const uint8_t q[VALUE_ROW])
{
	struct value_known *k = &m->known;
	if (row < VALUE_MORE)
		m->state.no_tops &= ~(1 << (row - VALUE_TOPS));
	if (!is_inexact(k, VALUE_BIT_WIDE)) {
		if (worst(q, VALUE_ROW) == VALUE_EXACT)
			return;
		memset(k->vec[VALUE_VECS], VALUE_EXACT, sizeof(k->vec) - VALUE_VECS * VALUE_ROW);
	}
	/* It was the last one perhaps only where there was such a byte here. */
	const bool was = worst(k->vec[row], VALUE_ROW), is = worst(q, VALUE_ROW);
	memcpy(k->vec[row], q, VALUE_ROW);
	if (is || was)
		mark(k, VALUE_BIT_WIDE, is || value_wide_quality(&m->state, k));
}

uint8_t value_flags_worth(const struct value_known *k, uint16_t mask)
{
	return is_inexact(k, VALUE_BIT_FLAGS) && mask & ~k->flags_exact ? k->flags : VALUE_EXACT;
}

/* Flags that the instruction may leave as they were are no better than they were. */
static void put_flags(struct step *s, const struct value_access *a, uint8_t q)
{
	struct value_known *k = &s->m->known;
	uint16_t was = is_inexact(k, VALUE_BIT_FLAGS) ? k->flags_exact : VALUE_FLAGS;
	uint16_t new = !a->read ? a->mask : a->conditional ? 0 : a->mask & ~s->insn->undefined;
	uint16_t exact = q ? was & ~a->mask : was | new;
	k->flags = worse(q, VALUE_FLAGS & ~(was | new) ? k->flags : VALUE_EXACT);
	k->flags_exact = exact;
	mark(k, VALUE_BIT_FLAGS, exact != VALUE_FLAGS);
}

size_t value_step_get(const struct step *s, const struct value_access *a, uint8_t out[MEMORY_MAX])
{
	const struct value_known *k = &s->m->known;
	uint8_t all[32] = {0};
	switch (a->kind) {
	case VALUE_ACCESS_GPR:
		if (is_inexact(k, a->reg))
			memcpy(all, k->gpr[a->reg], 8);
		memcpy(out, all + a->off, a->len);
		return a->len;
	case VALUE_ACCESS_VEC:
		get_vec(s->m, a->reg, all);
		memcpy(out, all + a->off, a->len);
		return a->len;
	case VALUE_ACCESS_FLAGS:
		*out = value_flags_worth(k, a->mask);
		return 1;
	case VALUE_ACCESS_X87:
		*out = is_inexact(k, VALUE_BIT_X87) ? k->x87 : 0;
		return 1;
	case VALUE_ACCESS_MXCSR:
		*out = is_inexact(k, VALUE_BIT_MXCSR) ? k->mxcsr : 0;
		return 1;
	case VALUE_ACCESS_DF:
		*out = is_inexact(k, VALUE_BIT_DF) ? k->df : 0;
		return 1;
	case VALUE_ACCESS_STICKY:
		*out = is_inexact(k, VALUE_BIT_STICKY) ? k->sticky : 0;
		return 1;
	default: {
		size_t len = s->insn->mem[a->reg].len;
		memcpy(out, s->qualities[a->reg], len);
		return len;
	}
	}
}

void value_step_put(struct step *s, const struct value_access *a, const uint8_t *q)
{
	struct value_known *k = &s->m->known;
	uint8_t all[32] = {0};
	switch (a->kind) {
	case VALUE_ACCESS_GPR:
		if (is_inexact(k, a->reg))
			memcpy(all, k->gpr[a->reg], 8);
		memcpy(all + a->off, q, a->len);
		memcpy(k->gpr[a->reg], all, 8);
		memset(k->gpr_bits[a->reg] + a->off, 0, a->len);
		mark(k, a->reg, worst(all, 8));
		break;
	case VALUE_ACCESS_VEC:
		get_vec(s->m, a->reg, all);
		memcpy(all + a->off, q, a->len);
		if (a->reg >= VALUE_VECS) {
			put_row(s->m, a->reg, all);
			break;
		}
		memcpy(k->vec[a->reg], all, 32);
		memset(k->vec_bits[a->reg] + a->off, 0, a->len);
		mark(k, VALUE_BIT_VEC + a->reg, worst(all, 16));
		mark(k, VALUE_BIT_HIGH + a->reg, worst(all + 16, 16));
		break;
	case VALUE_ACCESS_FLAGS:
		put_flags(s, a, *q);
		break;
	case VALUE_ACCESS_X87:
		k->x87 = *q;
		mark(k, VALUE_BIT_X87, *q);
		break;
	case VALUE_ACCESS_MXCSR:
		k->mxcsr = *q;
		mark(k, VALUE_BIT_MXCSR, *q);
		break;
	case VALUE_ACCESS_DF:
		k->df = *q;
		mark(k, VALUE_BIT_DF, *q);
		break;
	case VALUE_ACCESS_STICKY:
		k->sticky = a->conditional && is_inexact(k, VALUE_BIT_STICKY) ? worse(k->sticky, *q)
									      : *q;
		mark(k, VALUE_BIT_STICKY, k->sticky);
		break;
	default:
		value_memory_write_qualities(s->m->memory, s->place[a->reg], q,
					     s->insn->mem[a->reg].len);
	}
}

void value_step_get_bits(const struct step *s, const struct value_access *a, const uint8_t *q,
			 uint8_t out[BITS_MAX])
{
	const struct value_known *k = &s->m->known;
	size_t n = a->kind == VALUE_ACCESS_MEMORY ? s->insn->mem[a->reg].len : a->len;
	n = n < BITS_MAX ? n : BITS_MAX;
	memset(out, 0, BITS_MAX);
	if (a->kind == VALUE_ACCESS_GPR)
		memcpy(out, k->gpr_bits[a->reg] + a->off, n);
	else if (a->kind == VALUE_ACCESS_VEC && a->reg < VALUE_VECS)
		memcpy(out, k->vec_bits[a->reg] + a->off, n);
	else if (a->kind == VALUE_ACCESS_MEMORY && worst(q, n) &&
		 value_memory_read_bits(s->m->memory, s->place[a->reg], out, n))
		memset(out, 0, BITS_MAX);
	for (size_t i = 0; i < n; i++)
		out[i] = q[i] == VALUE_EXACT ? 0xff : out[i];
}

void value_step_put_bits(struct step *s, const struct value_access *a, const uint8_t *bits)
{
	struct value_known *k = &s->m->known;
	if (a->kind == VALUE_ACCESS_GPR)
		memcpy(k->gpr_bits[a->reg] + a->off, bits, a->len);
	else if (a->kind == VALUE_ACCESS_VEC && a->reg < VALUE_VECS)
		memcpy(k->vec_bits[a->reg] + a->off, bits, a->len);
	else if (a->kind == VALUE_ACCESS_MEMORY && s->insn->mem[a->reg].len <= BITS_MAX)
		value_memory_write_bits(s->m->memory, s->place[a->reg], bits,
					s->insn->mem[a->reg].len);
}
