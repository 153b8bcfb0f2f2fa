/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* processor.h: which instructions of the traced program this machine's processor may execute in a
 * stub. */
#ifndef OFFLINE_EVAL_PROCESSOR_H
#define OFFLINE_EVAL_PROCESSOR_H

#include <Zydis/Zydis.h>

#include <stdbool.h>

/* Which extensions of the instruction set this processor has (a stub needs them). */
struct value_processor {
	bool avx, avx2, fma, bmi1, bmi2, lzcnt, popcnt, adx, aes, sha, pclmul, f16c, movbe, sse42,
		ssse3;
	/* Of AVX-512 what all processors with it have since Skylake (F, BW, DQ, VL, CD), and more.
	 */
	bool avx512, ifma, vbmi, vbmi2, vnni, bitalg, vpopcntdq;
};

void value_processor_look(struct value_processor *has);
/* Whether the processor has the instruction, and it only computes: no control flow, no system
 * state, no fault but those that a stub excludes (Intel's manual, volume 2, of each). */
bool value_processor_computes(const struct value_processor *has, const ZydisDecodedInstruction *zi);

#endif
