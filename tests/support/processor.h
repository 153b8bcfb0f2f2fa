/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* processor.h: one instruction executed by the processor itself, from a given state of all
 * registers but the stack pointer: the truth for evaluators. It shares nothing with what it is a
 * truth for. */
#ifndef TESTS_SUPPORT_PROCESSOR_H
#define TESTS_SUPPORT_PROCESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROCESSOR_XSAVE = 4096 };

struct processor_state {
	uint64_t gpr[16]; /* by number of the encoding; that of rsp is neither read nor written */
	uint64_t rflags;
	uint64_t host_rsp;
	/* The standard format: x87 and SSE as FXSAVE has them, the upper halves of ymm at 576, and
	 * what AVX-512 has where processor_wide says. */
	uint8_t xsave[PROCESSOR_XSAVE] __attribute__((aligned(64)));
};

struct processor;

/* NULL: no memory, or no XSAVE. */
struct processor *processor_new(void);
void processor_free(struct processor *p);

/* Offsets in the XSAVE area: of mask registers, 8 bytes each; of the upper halves of zmm0 to zmm15,
 * 32 bytes each; of zmm16 to zmm31. @there: this processor and its kernel have AVX-512. */
struct processor_wide {
	bool there;
	size_t masks, tops, more;
};
struct processor_wide processor_wide(const struct processor *p);

/* The state that processor_run() begins with and leaves. All vector registers and x87 are in use.
 */
struct processor_state *processor_state(struct processor *p);
/* False: it has faulted (an instruction that this processor lacks, for one). */
bool processor_run(struct processor *p, const uint8_t *insn, size_t len);

#endif
