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
	VALUE_BITS_USED = 53,
};
#define VALUE_BITS_ALL (((uint64_t)1 << VALUE_BITS_USED) - 1)

struct value_state {
	uint64_t gpr[VALUE_GPRS];
	uint64_t rip;
	uint64_t flags;
	uint32_t mxcsr;
	uint32_t mxcsr_run;  /* for stubs: with all exceptions masked */
	uint32_t mxcsr_host; /* for stubs: the evaluator's own */
	uint32_t df;	     /* 0 or 1 */
	uint8_t vec[16][32] __attribute__((aligned(64)));
	uint8_t fx[512] __attribute__((aligned(64))); /* FXSAVE; of it the x87 part alone */
};

/* Qualities (memory.h), a byte each; the bit of a register is in @inexact if any of its bytes is
 * not exact. Where the bit is clear, the bytes here mean nothing. */
struct value_known {
	uint64_t inexact;
	uint64_t forgotten; /* of them: value_forget() or value_doubt() said so, and no instruction
			     */
	uint64_t said[16];  /* which call of these it was, of general registers; 0: no matter */
	uint8_t gpr[16][8];
	uint8_t vec[16][32];
	uint8_t flags, x87, mxcsr, df, sticky;
};

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
