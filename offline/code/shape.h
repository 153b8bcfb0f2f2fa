/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shape.h: what of an instruction the kernel's handling of a probe on it can depend on: its
 * encoding, opcode, prefixes, the form of its operands and the size of its immediates, and not
 * which registers, displacements and immediates these are. */
#ifndef OFFLINE_CODE_SHAPE_H
#define OFFLINE_CODE_SHAPE_H

#include <Zydis/Zydis.h>
#include <stdint.h>

/* Form of the ModRM operand. */
enum shape_form {
	SHAPE_NO_MODRM,
	SHAPE_REGISTER,
	SHAPE_MEMORY, /* without displacement */
	SHAPE_DISP8,
	SHAPE_DISP32,
	SHAPE_RIP,
	SHAPE_ABSOLUTE, /* neither base nor rip */
};

/* A shape is a number, from the lowest bit on: opcode 8, opcode map 4, encoding 3, REX or VEX W and
 * B 2 (R and X only name registers), REX present 1, 66 67 F2 F3 F0 5, segment override 3 (none, 26
 * 2e 36 3e 64 65), a prefix group more than once 1, form 3, SIB 1, ModRM.reg where it selects the
 * operation 3, ModRM.rm where that does 3, bytes of immediates 4, vector length 2, pp 2, EVEX z b
 * masked 3. */
#define SHAPE_BITS 48

/* The shape of @insn, decoded at least minimally. */
uint64_t shape_of(const ZydisDecodedInstruction *insn);

#endif
