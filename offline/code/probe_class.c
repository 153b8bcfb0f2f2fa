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

#include "offline/base/search.h"
#include "offline/code/shape.h"

#include <assert.h>
#include <stdio.h>

/* What is neither stepped nor emulated is refused, for one of these reasons. */
enum {
	STEPPED,
	EMULATED,
	INVALID,
	PORT,
	TRAP,
	ENTERS,
	PRIVILEGED,
	UNDEFINED,
	LOCKED,
	OVERRIDE,
	SIZED_BRANCH,
	MASKING,
	SEGMENT,
	EXCHANGE,
	LIKE_BRANCH,
	FIVE_BYTES,
	UNLIKE,
	UNKNOWN,
	REASONS
};

#define ALL "all"
static const struct {
	const char *why, *kernels;
} reasons[REASONS] = {
	[INVALID] = {"not valid in 64-bit mode: the kernel refuses it", ALL},
	[PORT] = {"reads or writes a port: the kernel refuses it", ALL},
	[TRAP] = {"traps: a breakpoint there is taken for the program's own", ALL},
	[ENTERS] = {"enters the kernel, or never goes on: it cannot be stepped elsewhere", ALL},
	[PRIVILEGED] = {"a system instruction: the kernel refuses it", ALL},
	[UNDEFINED] = {"always faults: with a probe, with another address", "6.18"},
	[LOCKED] = {"has a lock prefix: the kernel refuses it", ALL},
	[OVERRIDE] = {"has a segment prefix of 32-bit mode, which the kernel refuses (notrack, "
		      "branch hints)",
		      ALL},
	[SIZED_BRANCH] =
		{"has an operand size prefix on what the kernel emulates, which it refuses",
		 "all; on nops before 6.18"},
	[MASKING] = {"loads ss, which masks the step behind it", ALL},
	[SEGMENT] = {"loads a segment register: on some processors its base stays as it was only "
		     "as long as the thread is not interrupted",
		     "6.18"},
	[EXCHANGE] = {"an exchange with r8, which the kernel takes for a nop and skips", "6.18"},
	[LIKE_BRANCH] =
		{"VEX or EVEX whose opcode byte is a branch's, a push's or a nop's, as which "
		 "the kernel would take it",
		 "6.18"},
	[FIVE_BYTES] = {"a nop of five bytes: the optimised probe overwrites the red zone, and a "
			"forked child dies there",
			"6.18"},
	[UNLIKE] = {"a loop with an operand size prefix, or xabort: what it does differs between "
		    "makers of processors, and with a probe on some",
		    "6.18"},
	[UNKNOWN] = {"of a shape that was not tried with and without a probe", "-"},
};

/* clang-format off */
/* One-byte opcodes. What is not named is stepped. */
static const uint8_t one_byte[256] = {
	[0x06 ... 0x07] = INVALID,
	[0x0e] = INVALID,
	[0x16 ... 0x17] = INVALID,
	[0x1e ... 0x1f] = INVALID,
	[0x26 ... 0x27] = INVALID,
	[0x2e ... 0x2f] = INVALID,
	[0x36 ... 0x37] = INVALID,
	[0x3e ... 0x3f] = INVALID,
	[0x50 ... 0x57] = EMULATED, /* push r64 */
	[0x60 ... 0x62] = INVALID,
	[0x6c ... 0x6f] = PORT,     /* ins, outs */
	[0x70 ... 0x7f] = EMULATED, /* jcc rel8 */
	[0x82] = INVALID,
	[0x90] = EMULATED,          /* nop, pause */
	[0x9a] = INVALID,
	[0xcc ... 0xcf] = TRAP,     /* int3, int, into, iret */
	[0xd4 ... 0xd6] = INVALID,
	[0xe4 ... 0xe7] = PORT,     /* in, out */
	[0xe8 ... 0xe9] = EMULATED, /* call, jmp rel32 */
	[0xea] = INVALID,
	[0xeb] = EMULATED,          /* jmp rel8 */
	[0xec ... 0xef] = PORT,     /* in, out */
	[0xf1] = TRAP,
	[0xf4] = PRIVILEGED,        /* hlt */
	[0xfa ... 0xfb] = PRIVILEGED,  /* cli, sti */
};

/* Opcodes after 0x0f; 0x38 and 0x3a stand for their whole maps. */
static const uint8_t two_byte[256] = {
	[0x00 ... 0x01] = PRIVILEGED, /* system; rdtscp and xtest are among them */
	[0x05 ... 0x0a] = ENTERS,  /* syscall, ... */
	[0x0b] = UNDEFINED,        /* ud2 */
	[0x1f] = EMULATED,         /* nop with an operand */
	[0x24 ... 0x27] = INVALID,
	[0x30] = PRIVILEGED,       /* wrmsr */
	[0x34 ... 0x37] = ENTERS,  /* sysenter, sysexit, getsec */
	[0x78 ... 0x79] = PRIVILEGED, /* vmread, vmwrite */
	[0x80 ... 0x8f] = EMULATED, /* jcc rel32 */
	[0xb9] = UNDEFINED,        /* ud1 */
	[0xff] = UNDEFINED,        /* ud0 */
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
			return OVERRIDE;
		case 0xf0:
			return LOCKED;
		case 0x66:
			if (class == EMULATED && !is_long_nop)
				return SIZED_BRANCH;
			break;
		}
	}
	return class;
}

/* A one-byte opcode of which processors make different things: AMD's cut the target of a loop with
 * an operand size prefix to 16 bits, and those without transactions know no xabort. */
static bool is_unlike(const ZydisDecodedInstruction *insn)
{
	bool is_loop = (insn->opcode & 0xfc) == 0xe0; /* loopne, loope, loop, jrcxz */
	bool is_xabort = insn->opcode == 0xc6 && insn->raw.modrm.reg == 7;
	return is_xabort || (is_loop && insn->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE);
}

static uint8_t legacy_class(const ZydisDecodedInstruction *insn)
{
	bool one = insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
	uint8_t opcode = insn->opcode;
	if (one && is_unlike(insn))
		return UNLIKE;
	if (insn->opcode_map == ZYDIS_OPCODE_MAP_0F38)
		opcode = 0x38;
	else if (insn->opcode_map == ZYDIS_OPCODE_MAP_0F3A)
		opcode = 0x3a;
	uint8_t class = one ? one_byte[opcode] : two_byte[opcode];
	bool is_long_nop = !one && opcode == 0x1f && insn->raw.modrm.reg == 0;
	if (!one && opcode == 0x1f && !is_long_nop)
		class = STEPPED;
	if (one && opcode == 0x8e)
		class = insn->raw.modrm.reg == 2 ? MASKING : SEGMENT;
	if (one && opcode == 0x90 && insn->raw.rex.B)
		class = EXCHANGE;
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

/* A shape times 2^16, and what a probe did to it: bits of enum probe_finding. */
static const uint64_t found[] = {
#include "offline/code/refused_shapes.inc"
};
static_assert(SHAPE_BITS <= 48, "what was found lies below");

/* Whether the shape of @insn was tried with and without a probe, and the probe changed nothing. All
 * instructions of a program are asked about: a search that does not branch by what it finds takes
 * half the time of one that does. */
static bool is_known(const ZydisDecodedInstruction *insn)
{
	uint64_t shape = shape_of(insn);
	const uint64_t *at = known;
	for (size_t n = sizeof(known) / sizeof(*known); n > 1; n -= n / 2)
		at += (at[n / 2 - 1] < shape) * (n / 2);
	return *at == shape;
}

/* STEPPED, EMULATED, or why it is refused. */
static uint8_t judge(const ZydisDecodedInstruction *insn)
{
	uint8_t class;
	if (insn->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		class = legacy_class(insn);
	else
		class = prefixed(insn, false,
				 one_byte[insn->opcode] == STEPPED ? STEPPED : LIKE_BRANCH);
	bool is_nop = insn->opcode == 0x90 || insn->opcode == 0x1f;
	if (class == EMULATED && is_nop && insn->length == 5)
		return FIVE_BYTES;
	return class <= EMULATED && !is_known(insn) ? UNKNOWN : class;
}

enum pugmark_probe_class probe_class_of(const ZydisDecodedInstruction *insn)
{
	switch (judge(insn)) {
	case STEPPED:
		return PUGMARK_PROBE_STEPPED;
	case EMULATED:
		return PUGMARK_PROBE_EMULATED;
	case FIVE_BYTES:
		return PUGMARK_PROBE_NOP5;
	default:
		return PUGMARK_PROBE_REFUSED;
	}
}

/* What was found of a shape that was tried, in words. */
static bool tell_found(const ZydisDecodedInstruction *insn, struct probe_refusal *out)
{
	static const char *const words[PROBE_FINDINGS] = {
		[PROBE_CHANGES_REGISTERS] = "changes general registers",
		[PROBE_CHANGES_RIP] = "changes where it goes on",
		[PROBE_CHANGES_FLAGS] = "changes flags",
		[PROBE_CHANGES_SIGNAL] = "changes the signal that it raises",
		[PROBE_CHANGES_SEGMENTS] = "changes segment registers",
		[PROBE_CHANGES_MEMORY] = "changes memory",
		[PROBE_CHANGES_X87] = "changes x87 state",
		[PROBE_CHANGES_X87_POINTERS] = "changes x87's last instruction",
		[PROBE_CHANGES_VECTORS] = "changes vectors",
		[PROBE_FIRES_AGAIN] = "fires more than once",
		[PROBE_DOES_NOT_END] = "keeps it from ending",
		[PROBE_IS_REFUSED] = "is refused by the kernel",
		[PROBE_ENTERS_KERNEL] = "cannot be tried, as it enters the kernel or another mode",
		[PROBE_NOT_TRIED] = "was not tried, as the processor has no such instruction",
	};
	enum { N = sizeof(found) / sizeof(*found) };
	uint64_t shape = shape_of(insn);
	size_t at = SEARCH_FIRST_NOT(0, N, i, found[i] < shape << 16);
	if (at == N || found[at] >> 16 != shape)
		return false;
	size_t len = (size_t)snprintf(out->why, sizeof(out->why), "a probe there");
	for (unsigned i = 0, told = 0; i < PROBE_FINDINGS; i++)
		if (found[at] >> i & 1 && len < sizeof(out->why))
			len += (size_t)snprintf(out->why + len, sizeof(out->why) - len, "%s%s",
						told++ ? ", " : " ", words[i]);
	snprintf(out->kernels, sizeof(out->kernels), "%s", REFUSED_SHAPES_SEEN);
	return true;
}

bool probe_refusal_of(const ZydisDecodedInstruction *insn, struct probe_refusal *out)
{
	uint8_t why = judge(insn);
	if (why <= EMULATED)
		return false;
	if (why == UNKNOWN && tell_found(insn, out))
		return true;
	snprintf(out->why, sizeof(out->why), "%s", reasons[why].why);
	snprintf(out->kernels, sizeof(out->kernels), "%s", reasons[why].kernels);
	return true;
}

bool probe_refusal_at(const uint8_t *bytes, size_t len_bytes, struct probe_refusal *out)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	return ZYAN_SUCCESS(
		       ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, len_bytes, &insn)) &&
	       probe_refusal_of(&insn, out);
}
