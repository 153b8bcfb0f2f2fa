// SPDX-License-Identifier: LGPL-2.1-or-later
/* known.c: how well each byte of the registers is known. @bits are those of state.h. */
#include "offline/eval/machine_impl.h"

#include <string.h>

/* The rows of VALUE_BIT_WIDE say themselves what they are worth. */
static void open_rows(struct value_machine *m)
{
	enum { BYTES = (VALUE_ROWS - VALUE_VECS) * VALUE_ROW };
	struct value_known *k = &m->known;
	if (!(k->inexact >> VALUE_BIT_WIDE & 1))
		memset(k->vec[VALUE_VECS], VALUE_EXACT, BYTES);
	for (unsigned row = VALUE_TOPS; row < VALUE_MORE; row++)
		if (value_has_no_top(&m->state, row)) {
			memset(m->state.vec[row], 0, VALUE_ROW);
			memset(k->vec[row], VALUE_EXACT, VALUE_ROW);
		}
	m->state.no_tops = 0;
}

/* No bit of these halves of a vector register is exact where the byte is not. */
static void forget_bits(struct value_known *k, unsigned reg, bool low, bool high)
{
	memset(k->vec_bits[reg], 0, low ? 16 : 0);
	memset(k->vec_bits[reg] + 16, 0, high ? 16 : 0);
}

void value_forget(struct value_machine *m, uint64_t bits, uint8_t quality)
{
	struct value_known *k = &m->known;
	m->sayings++;
	for (unsigned i = 0; i < 16; i++) {
		if (bits >> i & 1) {
			memset(k->gpr[i], quality, 8);
			memset(k->gpr_bits[i], 0, 8);
			k->said[i] = m->sayings;
		}
		bool low = bits >> (VALUE_BIT_VEC + i) & 1, high = bits >> (VALUE_BIT_HIGH + i) & 1;
		if (low)
			memset(k->vec[i], quality, 16);
		if (high)
			memset(k->vec[i] + 16, quality, 16);
		forget_bits(k, i, low, high);
	}
	if (bits >> VALUE_BIT_WIDE & 1) {
		open_rows(m);
		memset(k->vec[VALUE_VECS], quality, (VALUE_ROWS - VALUE_VECS) * VALUE_ROW);
	}
	k->flags = bits >> VALUE_BIT_FLAGS & 1 ? quality : k->flags;
	k->flags_exact = bits >> VALUE_BIT_FLAGS & 1 ? 0 : k->flags_exact;
	k->x87 = bits >> VALUE_BIT_X87 & 1 ? quality : k->x87;
	k->mxcsr = bits >> VALUE_BIT_MXCSR & 1 ? quality : k->mxcsr;
	k->df = bits >> VALUE_BIT_DF & 1 ? quality : k->df;
	k->sticky = bits >> VALUE_BIT_STICKY & 1 ? quality : k->sticky;
	k->inexact = quality ? k->inexact | bits : k->inexact & ~bits;
	k->forgotten = quality ? k->forgotten | bits : k->forgotten & ~bits;
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
	m->sayings++;
	for (unsigned i = 0; i < 16; i++) {
		unsigned low = VALUE_BIT_VEC + i, high = VALUE_BIT_HIGH + i;
		if (bits >> i & 1) {
			doubt_bytes(k->gpr[i], 8, k->inexact >> i & 1);
			memset(k->gpr_bits[i], 0, 8);
			k->said[i] = m->sayings;
		}
		if (bits >> low & 1)
			doubt_bytes(k->vec[i], 16, k->inexact >> low & 1);
		if (bits >> high & 1)
			doubt_bytes(k->vec[i] + 16, 16, k->inexact >> high & 1);
		forget_bits(k, i, bits >> low & 1, bits >> high & 1);
	}
	if (bits >> VALUE_BIT_WIDE & 1) {
		open_rows(m);
		doubt_bytes(k->vec[VALUE_VECS], (VALUE_ROWS - VALUE_VECS) * VALUE_ROW, true);
	}
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (bits >> (VALUE_BIT_FLAGS + i) & 1)
			doubt_bytes(others[i], 1, k->inexact >> (VALUE_BIT_FLAGS + i) & 1);
	k->flags_exact = bits >> VALUE_BIT_FLAGS & 1 ? 0 : k->flags_exact;
	k->inexact |= bits;
	k->forgotten |= bits;
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

static uint8_t quality_of(const struct value_machine *m, uint64_t bits)
{
	const struct value_known *k = &m->known;
	uint8_t q[VALUE_BITS_USED] = {0};
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
	if (bits >> VALUE_BIT_WIDE & 1)
		q[VALUE_BIT_WIDE] = value_wide_quality(&m->state, k);
	return worst_of(q, sizeof(q));
}

/* Asked of each register wherever a loop comes by, and mostly of what is exact. */
uint8_t value_quality(const struct value_machine *m, uint64_t bits)
{
	uint64_t inexact = bits & m->known.inexact;
	uint8_t worst = inexact ? quality_of(m, inexact) : VALUE_EXACT;
	return m->memory && m->memory->on_supposition && !worst ? VALUE_ASSUMED : worst;
}
