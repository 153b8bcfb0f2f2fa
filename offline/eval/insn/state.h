/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* state.h: the registers of an evaluated task, and how well each byte of them is known.
 *
 * Flags are kept as `lahf; seto %al` leaves them in %ax, because that is how the evaluator gets
 * them: bits 8 to 15 are the low byte of RFLAGS, bit 0 is OF. DF, which string instructions alone
 * read, is apart. */
#ifndef OFFLINE_EVAL_STATE_H
#define OFFLINE_EVAL_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* Indices into value_state.gpr: the sixteen of the processor in its own order, then what address
 * computations use as if they were registers. */
enum {
	VALUE_RAX,
	VALUE_RCX,
	VALUE_RDX,
	VALUE_RBX,
	VALUE_RSP,
	VALUE_RBP,
	VALUE_RSI,
	VALUE_RDI,
	VALUE_ZERO = 16, /* always 0: no base, no index */
	VALUE_FS = 17,	 /* base of the segment */
	VALUE_GS = 18,
	VALUE_SCRATCH = 19, /* of one instruction */
	VALUE_GPRS = 20,
};

enum {
	VALUE_CF = 1 << 8,
	VALUE_PF = 1 << 10,
	VALUE_AF = 1 << 12,
	VALUE_ZF = 1 << 14,
	VALUE_SF = 1 << 15,
	VALUE_OF = 1 << 0,
	VALUE_FLAGS = VALUE_CF | VALUE_PF | VALUE_AF | VALUE_ZF | VALUE_SF | VALUE_OF,
};

/* The 32 vector registers of AVX-512 as rows of 32 bytes, an index into value_state.vec each: first
 * the lower halves of zmm0 to zmm15, which are ymm0 to ymm15; then mask registers, four a row. */
enum {
	VALUE_VECS = 16,
	VALUE_TOPS = 16,      /* upper halves of zmm0 to zmm15 */
	VALUE_MORE = 32,      /* lower halves of zmm16 to zmm31 */
	VALUE_MORE_TOPS = 48, /* and upper ones */
	VALUE_MASKS = 64,     /* k0 to k7 */
	VALUE_ROWS = 66,
	VALUE_ROW = 32, /* bytes */
};

/* One bit for each register that can be known or not: 0 to 15 general, then the halves of the
 * vector registers apart, because instructions without VEX leave the upper half alone. */
enum {
	VALUE_BIT_VEC = 16,
	VALUE_BIT_HIGH = 32,
	VALUE_BIT_FLAGS = 48,
	VALUE_BIT_X87 = 49,   /* the whole stack with its control and status words */
	VALUE_BIT_MXCSR = 50, /* what it decides: rounding, masks, denormals */
	VALUE_BIT_DF = 51,
	VALUE_BIT_STICKY = 52, /* the exceptions that MXCSR remembers */
	VALUE_BIT_WIDE = 53,   /* all rows of value_state.vec behind the first sixteen together */
	VALUE_BITS_USED = 54,
};
#define VALUE_BITS_ALL (((uint64_t)1 << VALUE_BITS_USED) - 1)

/* The bits of MXCSR that there are: a processor that is to load another one faults. */
enum { VALUE_MXCSR_BITS = 0xffff, VALUE_FX_MXCSR = 24 /* where it is in FXSAVE */ };
enum { VALUE_FX_X87 = 160 }; /* of FXSAVE: bytes of the x87 part */

struct value_state {
	uint64_t gpr[VALUE_GPRS];
	uint64_t rip;
	uint64_t flags;
	uint32_t mxcsr;
	uint32_t mxcsr_run;  /* for stubs: with all exceptions masked */
	uint32_t mxcsr_host; /* for stubs: the evaluator's own */
	uint32_t df;	     /* 0 or 1 */
	/* One bit each of zmm0 to zmm15: the upper half is zeros, whatever its row has, as the last
	 * instruction that wrote the register was one of VEX, or narrower. */
	uint16_t no_tops;
	uint8_t vec[VALUE_ROWS][VALUE_ROW] __attribute__((aligned(64)));
	uint8_t fx[512] __attribute__((aligned(64))); /* FXSAVE; of it the x87 part alone,
							     without MXCSR */
};

/* The registers of a processor that has just begun; all that is no register is 0. */
static inline struct value_state value_state_fresh(void)
{
	return (struct value_state){
		.mxcsr = 0x1f80,
		.mxcsr_host = 0x1f80,
		.flags = 1 << 9,    /* value_set_rflags() of 0x202 */
		.fx = {0x7f, 0x03}, /* as after fninit */
	};
}

/* Qualities (memory.h), a byte each; the bit of a register is in @inexact if any of its bytes is
 * not exact. Where the bit is clear, the bytes here mean nothing. Of VALUE_BIT_WIDE they mean
 * something for all of its rows but those that value_state.no_tops names. */
struct value_known {
	uint64_t inexact;
	uint64_t forgotten; /* of them: value_forget() or value_doubt() said so, and no instruction
			     */
	uint64_t said[16];  /* which call of these it was, of general registers; 0: no matter */
	uint8_t gpr[16][8];
	uint8_t vec[VALUE_ROWS][VALUE_ROW];
	/* Of a byte that is not exact: the bits that are all the same. */
	uint8_t gpr_bits[16][8], vec_bits[VALUE_VECS][VALUE_ROW];
	uint8_t flags, x87, mxcsr, df, sticky;
	uint16_t flags_exact; /* where VALUE_BIT_FLAGS is set: those flags that are exact all the
				 same; the others are worth `flags` */
};

/* Whether @row is the upper half of a register that has none but zeros. */
static inline bool value_has_no_top(const struct value_state *state, unsigned row)
{
	return row >= VALUE_TOPS && row < VALUE_MORE && state->no_tops >> (row - VALUE_TOPS) & 1;
}

/* What the mask register has; and the bits of @n lanes. */
static inline uint64_t value_mask(const struct value_state *state, unsigned number)
{
	enum { BYTES = 8, OF_ROW = VALUE_ROW / BYTES };
	uint64_t mask;
	__builtin_memcpy(&mask, &state->vec[VALUE_MASKS + number / OF_ROW][number % OF_ROW * BYTES],
			 BYTES);
	return mask;
}

static inline uint64_t value_lanes_all(unsigned n)
{
	return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

/* The worst quality of the rows of VALUE_BIT_WIDE, where that bit is set. */
static inline uint8_t value_wide_quality(const struct value_state *state,
					 const struct value_known *known)
{
	uint8_t worst[VALUE_ROW] = {0};
	for (unsigned row = VALUE_VECS; row < VALUE_ROWS; row++)
		for (unsigned b = 0; !value_has_no_top(state, row) && b < VALUE_ROW; b++)
			worst[b] = known->vec[row][b] > worst[b] ? known->vec[row][b] : worst[b];
	for (unsigned b = 1; b < VALUE_ROW; b++)
		worst[0] = worst[b] > worst[0] ? worst[b] : worst[0];
	return worst[0];
}

/* RFLAGS as the processor has it (with bit 1 and IF set, as in user space) from and to the form
 * above. */
static inline uint64_t value_rflags(const struct value_state *state)
{
	return (state->flags >> 8 & 0xd5) | (state->flags & VALUE_OF) << 11 |
	       (uint64_t)state->df << 10 | 0x202;
}

static inline void value_set_rflags(struct value_state *state, uint64_t rflags)
{
	state->flags = (rflags & 0xd5) << 8 | (rflags >> 11 & 1) | 1 << 9;
	state->df = rflags >> 10 & 1;
}

#endif
