/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* step.h: one instruction whose inputs are not all exact (slow.c), and what each byte of its result
 * is worth (worth.c). */
#ifndef OFFLINE_EVAL_STEP_H
#define OFFLINE_EVAL_STEP_H

#include "offline/eval/machine_impl.h"

enum { MEMORY_MAX = VALUE_STUB_BUFFER, BITS_MAX = 64 /* bytes whose bits are told */ };

/* One instruction at the current place. */
struct step {
	struct value_machine *m;
	const struct value_insn *insn;
	uint8_t in;			  /* the worst quality of what its result depends on */
	uint8_t kept;			  /* of the flags, where they may all stay as they were */
	uint8_t address;		  /* of what addresses are computed from */
	uint8_t reason, reg;		  /* why it is not exact, as inexact.h has it, */
	uint8_t reason_for;		  /* of an input of this quality */
	const struct value_state *before; /* set while bytes are flipped (worth.c) */
	uint64_t place[2];		  /* addresses of the memory operands */
	uint8_t qualities[2][MEMORY_MAX]; /* of its memory operands, before it */
	uint8_t mask_quality[8];	  /* of the bits that choose lanes (insn.h) */
	/* Of the result, of bytes that are not exact: the bits that are; and flags that are. */
	uint8_t bits[2 * BITS_MAX];
	uint16_t flags_exact;
};

static inline uint8_t worse(uint8_t a, uint8_t b)
{
	return a > b ? a : b;
}

static inline uint8_t worst(const uint8_t *q, size_t n)
{
	uint8_t w = VALUE_EXACT;
	for (size_t i = 0; i < n; i++)
		w = worse(w, q[i]);
	return w;
}

static inline bool is_inexact(const struct value_known *k, unsigned bit)
{
	return k->inexact >> bit & 1;
}

/* The worst of the flags @mask. */
uint8_t value_flags_worth(const struct value_known *k, uint16_t mask);
/* The qualities of the bytes that @a reads; returns how many. */
size_t value_step_get(const struct step *s, const struct value_access *a, uint8_t out[MEMORY_MAX]);
/* Of the same bytes, of which @q are the qualities, the bits that are exact. */
void value_step_get_bits(const struct step *s, const struct value_access *a, const uint8_t *q,
			 uint8_t out[BITS_MAX]);
/* Says of what @a writes how well it is known: of no byte that is not exact is a bit exact, before
 * the latter says so. */
void value_step_put(struct step *s, const struct value_access *a, const uint8_t *q);
void value_step_put_bits(struct step *s, const struct value_access *a, const uint8_t *bits);

/* Of an instruction with lanes: how well the mask is known. First of all. */
void value_lanes_begin(struct step *s);
/* Whether memory of that lane may be touched. */
bool value_lane_is_touched(const struct step *s, unsigned lane);
/* What @a reads and no lane is of does not matter: of @q, which are its qualities, exact. */
void value_lanes_leave_out(const struct step *s, const struct value_access *a, uint8_t *q,
			   unsigned n);
/* As the two below. */
void value_lanes_worth(const struct step *s, uint8_t out[MEMORY_MAX]);
uint8_t value_lanes_put(struct step *s, const uint8_t q[MEMORY_MAX]);

/* Before it is executed: what each byte of its result will be worth, where that is told byte by
 * byte; else false. @b: the instruction as a block of its own. */
bool value_step_worth(struct step *s, struct value_block *b, uint8_t out[MEMORY_MAX]);
/* After that: says so of what it has written. Returns the worst of it. */
uint8_t value_step_put_bytes(struct step *s, const uint8_t *q);

#endif
