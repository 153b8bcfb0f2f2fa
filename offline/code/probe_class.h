/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* probe_class.h: what the kernel does with a breakpoint on an instruction, from one table. */
#ifndef OFFLINE_PROBE_CLASS_H
#define OFFLINE_PROBE_CLASS_H

#include <Zydis/Zydis.h>

#include <pugmark/model.h>

/* The class of the instruction @insn (decoded at least minimally). */
enum pugmark_probe_class probe_class_of(const ZydisDecodedInstruction *insn);

/* What a probe was found to do to a shape of instruction, or why it was not tried: bits. */
enum probe_finding {
	PROBE_CHANGES_REGISTERS,
	PROBE_CHANGES_RIP,
	PROBE_CHANGES_FLAGS,
	PROBE_CHANGES_SIGNAL,
	PROBE_CHANGES_SEGMENTS,
	PROBE_CHANGES_MEMORY,
	PROBE_CHANGES_X87,
	PROBE_CHANGES_X87_POINTERS,
	PROBE_CHANGES_VECTORS,
	PROBE_FIRES_AGAIN,
	PROBE_DOES_NOT_END,
	PROBE_IS_REFUSED,
	PROBE_ENTERS_KERNEL,
	PROBE_NOT_TRIED,
	PROBE_FINDINGS
};

/* Why no probe stands on an instruction, and on which kernels that was seen. */
struct probe_refusal {
	char why[160], kernels[64];
};
/* False: one may stand there. */
bool probe_refusal_of(const ZydisDecodedInstruction *insn, struct probe_refusal *out);
/* The same of the instruction at @bytes; false as well where they are none. */
bool probe_refusal_at(const uint8_t *bytes, size_t len_bytes, struct probe_refusal *out);

#endif
