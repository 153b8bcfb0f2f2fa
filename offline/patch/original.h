/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* original.h: an instruction that a patch has taken the place of, and that its trampoline makes
 * again. */
#ifndef OFFLINE_PATCH_ORIGINAL_H
#define OFFLINE_PATCH_ORIGINAL_H

#include "offline/patch/emit.h"

#include <Zydis/Zydis.h>

struct original {
	ZydisDecodedInstruction insn;
	const uint8_t *bytes; /* borrowed: as it is in the file */
	uint8_t at;	      /* how far behind the start of the patch */
	bool by_rip;	      /* has a memory operand relative to the instruction */
	uint64_t memory;      /* then: its run-time address */
	uint64_t target;      /* of a direct call or jump: its run-time address */
	uint16_t regs;	      /* that an indirect call or jump reads */
	bool readable;	      /* where that goes can be computed in a trampoline */
	bool touches_sp;      /* needs the stack pointer as it was, or changes it */
};

/* Decodes the instruction of @addr, @len bytes at most. Returns 0, or -EINVAL: it cannot be
 * executed elsewhere. */
int original_decode(const uint8_t *bytes, uint8_t len, uint64_t addr, struct original *out);
/* Appends it as it is, but for where a memory operand lies and for @reg, which is the reg field of
 * its ModRM byte where that is not ORIGINAL_AS_IT_IS. */
#define ORIGINAL_AS_IT_IS 0xff
void original_emit(struct patch_code *c, const struct original *o, uint8_t reg);
/* Loads where an indirect call or jump goes to into @reg. @ax has what it finds in ax: ASM_AX
 * itself, or one of those that a function may clobber. */
void original_load_target(struct patch_code *c, const struct original *o, uint8_t reg, uint8_t ax);

#endif
