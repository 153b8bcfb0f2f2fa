// SPDX-License-Identifier: LGPL-2.1-or-later
/* lanes.c: what each lane of a result is worth, of instructions with EVEX: a lane is of what counts
 * for it (insn.h), and the mask, where that is known, says which lanes those are. */
#include "offline/eval/step.h"

#include <string.h>

enum { BITS = 8, SCALAR = 16 /* bytes of the register that one lane is put in */ };

static bool is_sure(const struct step *s, unsigned lane)
{
	return !s->mask_quality[lane / BITS];
}

static bool is_chosen(const struct step *s, unsigned lane)
{
	const struct value_lanes *l = &s->insn->lanes;
	return !l->mask || value_mask(&s->m->state, l->mask) >> lane & 1;
}

void value_lanes_begin(struct step *s)
{
	const struct value_insn *insn = s->insn;
	uint8_t q[MEMORY_MAX];
	for (int i = 0; insn->lanes.mask && i < insn->n_access; i++)
		if (insn->access[i].use == VALUE_LANES_MASK)
			memcpy(s->mask_quality, q, value_step_get(s, &insn->access[i], q));
}

bool value_lane_is_touched(const struct step *s, unsigned lane)
{
	return !s->insn->lanes.forgiving || !is_sure(s, lane) || is_chosen(s, lane);
}

/* Whether the lane is of what @a reads. */
static bool counts(const struct step *s, const struct value_access *a, unsigned lane)
{
	if (a->use == VALUE_LANES_ALL || !is_sure(s, lane))
		return true;
	return is_chosen(s, lane) == (a->use == VALUE_LANES_CHOSEN);
}

static unsigned min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The first byte of what @a reads or writes in its operand. */
static unsigned first_byte(const struct value_access *a)
{
	bool top = a->kind == VALUE_ACCESS_VEC &&
		   ((a->reg >= VALUE_TOPS && a->reg < VALUE_MORE) ||
		    (a->reg >= VALUE_MORE_TOPS && a->reg < VALUE_MASKS));
	return top ? VALUE_ROW : 0;
}

/* The bytes of @a, of which there are @n, that the lane is of: [*@from, *@to). */
static void bytes_of_lane(const struct value_access *a, unsigned n, unsigned lane, unsigned *from,
			  unsigned *to)
{
	const unsigned first = first_byte(a), begin = lane * a->lane, end = begin + a->lane;
	*from = begin > first ? min(begin - first, n) : 0;
	*to = !a->lane ? n : end > first ? min(end - first, n) : 0;
}

static bool is_source(const struct value_access *a)
{
	return a->read && !a->address && a->kind != VALUE_ACCESS_FLAGS;
}

void value_lanes_leave_out(const struct step *s, const struct value_access *a, uint8_t *q,
			   unsigned n)
{
	const struct value_lanes *l = &s->insn->lanes;
	uint8_t kept[MEMORY_MAX] = {0};
	if (!l->n || !is_source(a) ||
	    (l->scalar && a->use != VALUE_LANES_LEFT && a->use != VALUE_LANES_MASK &&
	     a->kind != VALUE_ACCESS_MEMORY))
		return;
	if (a->use == VALUE_LANES_MASK)
		memcpy(kept, q, min(n, (l->n + BITS - 1) / BITS));
	for (unsigned lane = 0; a->use != VALUE_LANES_MASK && lane < l->n; lane++) {
		unsigned from, to;
		bytes_of_lane(a, n, lane, &from, &to);
		if (counts(s, a, lane) && from < to)
			memcpy(kept + from, q + from, to - from);
	}
	memcpy(q, kept, n);
}

/* Makes the result's lane no better than @quality. */
static void lower(const struct value_lanes *l, unsigned lane, uint8_t quality, uint8_t *out)
{
	const unsigned first = l->size ? lane * l->size : lane / BITS;
	for (unsigned i = 0; i < (l->size ? l->size : 1); i++)
		out[first + i] = worse(out[first + i], quality);
}

/* One more input of the lane, of qualities @q. Bytes that stay are told one by one. */
static void fold_lane(const struct step *s, const struct value_access *a, const uint8_t *q,
		      unsigned n, unsigned lane, uint8_t *out)
{
	unsigned from, to;
	bytes_of_lane(a, n, lane, &from, &to);
	if (a->use == VALUE_LANES_LEFT && is_sure(s, lane))
		for (unsigned i = from; i < to; i++)
			out[first_byte(a) + i] = q[i];
	else if (from < to)
		lower(&s->insn->lanes, lane, worst(q + from, to - from), out);
}

void value_lanes_worth(const struct step *s, uint8_t out[MEMORY_MAX])
{
	const struct value_lanes *l = &s->insn->lanes;
	uint8_t q[MEMORY_MAX];
	memset(out, VALUE_EXACT, MEMORY_MAX);
	for (int i = 0; i < s->insn->n_access; i++) {
		const struct value_access *a = &s->insn->access[i];
		if (!is_source(a) || a->use == VALUE_LANES_MASK)
			continue;
		const unsigned n = value_step_get(s, a, q);
		for (unsigned lane = 0; lane < l->n; lane++)
			if (counts(s, a, lane))
				fold_lane(s, a, q, n, lane, out);
		for (unsigned k = l->size; l->scalar && l->size && k < SCALAR; k++)
			if (a->use != VALUE_LANES_LEFT && a->kind != VALUE_ACCESS_MEMORY)
				out[k] = worse(out[k], worst(q, n));
	}
	for (unsigned lane = 0; lane < l->n; lane++)
		lower(l, lane, worse(s->mask_quality[lane / BITS], s->address), out);
}

/* Of memory lane by lane, as not all of it may be there. */
static void put_memory(const struct step *s, const struct value_access *a, const uint8_t *q)
{
	const struct value_lanes *l = &s->insn->lanes;
	for (unsigned lane = 0; lane < l->n; lane++)
		value_memory_write_qualities(s->m->memory, s->place[a->reg] + lane * l->size,
					     q + lane * l->size, l->size);
}

uint8_t value_lanes_put(struct step *s, const uint8_t q[MEMORY_MAX])
{
	for (int i = 0; i < s->insn->n_access; i++) {
		const struct value_access *a = &s->insn->access[i];
		if (!a->write)
			continue;
		if (a->kind == VALUE_ACCESS_MEMORY)
			put_memory(s, a, q);
		else
			value_step_put(s, a,
				       a->kind == VALUE_ACCESS_VEC ? q + first_byte(a) : &s->in);
	}
	return worst(q, MEMORY_MAX);
}
