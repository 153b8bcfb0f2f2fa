// SPDX-License-Identifier: LGPL-2.1-or-later
/* probe_class.c: the table of probe classes. Source: Linux, arch/x86/kernel/uprobes.c
 * (uprobe_init_insn, branch_setup_xol_ops, push_setup_xol_ops). Where kernels differ the safer
 * class stands here: what one of them refuses is refused. The kernel looks an instruction up by
 * the first byte of its opcode, or by the first two; one with a VEX or EVEX prefix by its opcode
 * byte alone, as if that were a one-byte opcode: so what it would take for a branch, a push or a
 * nop is refused here as well. It skips opcode 0x90 under all prefixes, where REX.B makes an
 * exchange with r8 of it (seen on Linux 6.18: Go's gcWriteBarrierR8 went on with wrong registers).
 */
#include "offline/code/probe_class.h"

#include "offline/code/shape.h"

enum { STEPPED, EMULATED, REFUSED };

/* clang-format off */
/* One-byte opcodes. What is not named is stepped. */
static const uint8_t one_byte[256] = {
	[0x06 ... 0x07] = REFUSED, /* invalid in 64-bit mode, as are the others up to 0x3f */
	[0x0e] = REFUSED,
	[0x16 ... 0x17] = REFUSED,
	[0x1e ... 0x1f] = REFUSED,
	[0x26 ... 0x27] = REFUSED,
	[0x2e ... 0x2f] = REFUSED,
	[0x36 ... 0x37] = REFUSED,
	[0x3e ... 0x3f] = REFUSED,
	[0x50 ... 0x57] = EMULATED, /* push r64 */
	[0x60 ... 0x62] = REFUSED,
	[0x6c ... 0x6f] = REFUSED,  /* ins, outs */
	[0x70 ... 0x7f] = EMULATED, /* jcc rel8 */
	[0x82] = REFUSED,
	[0x90] = EMULATED,          /* nop, pause */
	[0x9a] = REFUSED,
	[0xcc ... 0xcf] = REFUSED,  /* int3, int, into, iret */
	[0xd4 ... 0xd6] = REFUSED,
	[0xe4 ... 0xe7] = REFUSED,  /* in, out */
	[0xe8 ... 0xe9] = EMULATED, /* call, jmp rel32 */
	[0xea] = REFUSED,
	[0xeb] = EMULATED,          /* jmp rel8 */
	[0xec ... 0xef] = REFUSED,  /* in, out */
	[0xf1] = REFUSED,
	[0xf4] = REFUSED,           /* hlt */
	[0xfa ... 0xfb] = REFUSED,  /* cli, sti */
};

/* Opcodes after 0x0f; 0x38 and 0x3a stand for their whole maps. */
static const uint8_t two_byte[256] = {
	[0x00 ... 0x01] = REFUSED, /* system; rdtscp and xtest are among them */
	[0x05 ... 0x0b] = REFUSED, /* syscall, ..., ud2 */
	[0x1f] = EMULATED,         /* nop with an operand */
	[0x24 ... 0x27] = REFUSED,
	[0x30] = REFUSED,          /* wrmsr */
	[0x34 ... 0x37] = REFUSED, /* sysenter, sysexit, getsec */
	[0x78 ... 0x79] = REFUSED, /* vmread, vmwrite */
	[0x80 ... 0x8f] = EMULATED, /* jcc rel32 */
	[0xb9] = REFUSED,          /* ud1 */
	[0xff] = REFUSED,          /* ud0 */
};
/* clang-format on */

/* What prefixes make of a row: some are refused on every instruction. */
static uint8_t prefixed(const ZydisDecodedInstruction *insn, bool is_long_nop, uint8_t class)
{
	for (uint8_t i = 0; i < insn->raw.prefix_count; i++) {
		switch (insn->raw.prefixes[i].value) {
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0xf0:
			return REFUSED;
		case 0x66:
			/* Refused on branches, and before Linux 6.18 on 0x90 as well. */
			if (class == EMULATED && !is_long_nop)
				return REFUSED;
			break;
		}
	}
	return class;
}

static uint8_t legacy_class(const ZydisDecodedInstruction *insn)
{
	bool one = insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
	uint8_t opcode = insn->opcode;
	if (insn->opcode_map == ZYDIS_OPCODE_MAP_0F38)
		opcode = 0x38;
	else if (insn->opcode_map == ZYDIS_OPCODE_MAP_0F3A)
		opcode = 0x3a;
	uint8_t class = one ? one_byte[opcode] : two_byte[opcode];
	bool is_long_nop = !one && opcode == 0x1f && insn->raw.modrm.reg == 0;
	if (!one && opcode == 0x1f && !is_long_nop)
		class = STEPPED;
	if (one && opcode == 0x8e && insn->raw.modrm.reg == 2)
		class = REFUSED; /* a load of ss masks exceptions */
	if (one && opcode == 0x90 && insn->raw.rex.B)
		class = REFUSED; /* xchg r8, which the kernel skips as if it were a nop */
	if (one && (opcode & 0xf8) == 0x50) {
		bool rex_b = insn->length == 2 && insn->raw.rex.B && !insn->raw.rex.W &&
			     !insn->raw.rex.R && !insn->raw.rex.X;
		if (insn->length != 1 && !rex_b)
			return prefixed(insn, false, STEPPED);
	}
	return prefixed(insn, is_long_nop, class);
}

static const uint64_t known[] = {
#include "offline/code/known_shapes.inc"
};

/* Whether the shape of @insn was tried with and without a probe, and the probe changed nothing. */
static bool is_known(const ZydisDecodedInstruction *insn)
{
	uint64_t shape = shape_of(insn);
	size_t low = 0, high = sizeof(known) / sizeof(*known);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (known[middle] < shape)
			low = middle + 1;
		else
			high = middle;
	}
	return low < sizeof(known) / sizeof(*known) && known[low] == shape;
}

enum pugmark_probe_class probe_class_of(const ZydisDecodedInstruction *insn)
{
	uint8_t class;
	if (insn->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		class = legacy_class(insn);
	else
		class = prefixed(insn, false,
				 one_byte[insn->opcode] == STEPPED ? STEPPED : REFUSED);
	if (class == REFUSED)
		return PUGMARK_PROBE_REFUSED;
	bool is_nop = insn->opcode == 0x90 || insn->opcode == 0x1f;
	if (class == EMULATED && is_nop && insn->length == 5)
		return PUGMARK_PROBE_NOP5;
	if (!is_known(insn))
		return PUGMARK_PROBE_REFUSED;
	return class == STEPPED ? PUGMARK_PROBE_STEPPED : PUGMARK_PROBE_EMULATED;
}
