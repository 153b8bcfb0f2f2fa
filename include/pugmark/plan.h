/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan.h: a plan says where to place probes in one module, what each of them reads, and what the
 * parser needs to turn their events into the whole call trace. The format on disk is
 * docs/plan-format.md; a plan is opened read-only and mapped. */
#ifndef PUGMARK_PLAN_H
#define PUGMARK_PLAN_H

#include <pugmark/model.h>

/* What an event of a site stands for. Append-only: recordings outlive us. */
enum plan_site_kind {
	WITNESS_BLOCK = 0,  /* this block runs (a call site, an entry, any block) */
	WITNESS_BRANCH = 1, /* this jcc runs; val is 1 if it will be taken, else 0 */
	WITNESS_TARGET = 2, /* this indirect call or jump runs; val is its target address */
	WITNESS_RETURN = 3, /* this ret runs */
};

/* What the probe reads. sp (or bp) and the time are always read. */
enum plan_capture {
	CAPTURE_RET = 1,      /* the 8 bytes at CFA-8: the return address of this activation */
	CAPTURE_FLAGS = 2,    /* the flags, reduced to one bit by the condition code */
	CAPTURE_TARGET = 4,   /* the target operand, register or memory, reduced to an address */
	CAPTURE_SNAPSHOT = 8, /* if the return address is outside of this module: a copy of the
				 stack from sp upwards */
};

/* The operand of an indirect call or jump, for CAPTURE_TARGET. Registers by their number in
 * instruction encoding (0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8..15 r8..r15). */
struct plan_operand {
	uint8_t base;	   /* register, 16: rip (disp is then an ELF address), 255: none */
	uint8_t index;	   /* register or 255 */
	uint8_t scale;	   /* 1, 2, 4, 8 */
	uint8_t is_memory; /* 0: the target is base itself */
	int32_t pad;
	int64_t disp;
};

struct plan_site {
	uint64_t addr;	   /* ELF virtual address of the probed instruction */
	uint64_t off_file; /* its offset in the file */
	int32_t cfa_off;   /* CFA = sp or bp + cfa_off, just before the instruction */
	uint8_t cfa_reg;   /* enum pugmark_cfa_reg; CFA_UNKNOWN: sp is reported as it is */
	uint8_t kind;	   /* enum plan_site_kind */
	uint8_t capture;   /* enum plan_capture */
	uint8_t cond;	   /* CAPTURE_FLAGS: x86 condition code, 0 to 15 */
	uint8_t probe;	   /* enum pugmark_probe_class */
	uint8_t reserved[3];
	uint32_t func;		     /* index in the plan's functions */
	struct plan_operand operand; /* CAPTURE_TARGET */
};

#endif
