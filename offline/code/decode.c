// SPDX-License-Identifier: LGPL-2.1-or-later
/* decode.c: Zydis in its minimal mode, classified by mnemonic (its branch categories call XABORT an
 * unconditional branch). What a relative operand points to is read from the bytes again when it is
 * asked for, so that an instruction takes eight bytes of the model and no more. */
#include "offline/code/decode.h"
#include "offline/code/probe_class.h"

#include <string.h>

void decoder_init(struct decoder *decoder)
{
	ZydisDecoderInit(&decoder->zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisDecoderEnableMode(&decoder->zydis, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
}

static uint8_t kind_of(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
		return insn->raw.imm[0].is_relative ? PUGMARK_INSN_CALL : PUGMARK_INSN_CALL_IND;
	case ZYDIS_MNEMONIC_JMP:
		return insn->raw.imm[0].is_relative ? PUGMARK_INSN_JMP : PUGMARK_INSN_JMP_IND;
	case ZYDIS_MNEMONIC_JB:
	case ZYDIS_MNEMONIC_JBE:
	case ZYDIS_MNEMONIC_JL:
	case ZYDIS_MNEMONIC_JLE:
	case ZYDIS_MNEMONIC_JNB:
	case ZYDIS_MNEMONIC_JNBE:
	case ZYDIS_MNEMONIC_JNL:
	case ZYDIS_MNEMONIC_JNLE:
	case ZYDIS_MNEMONIC_JNO:
	case ZYDIS_MNEMONIC_JNP:
	case ZYDIS_MNEMONIC_JNS:
	case ZYDIS_MNEMONIC_JNZ:
	case ZYDIS_MNEMONIC_JO:
	case ZYDIS_MNEMONIC_JP:
	case ZYDIS_MNEMONIC_JS:
	case ZYDIS_MNEMONIC_JZ:
		return PUGMARK_INSN_JCC;
	case ZYDIS_MNEMONIC_JCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		return PUGMARK_INSN_JCXZ;
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return PUGMARK_INSN_RET;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT3:
		return PUGMARK_INSN_TRAP;
	case ZYDIS_MNEMONIC_XBEGIN:
		return PUGMARK_INSN_XBEGIN;
	default:
		return PUGMARK_INSN_OTHER;
	}
}

/* Addresses in operands: relative to rip, or, where the code is linked to a fixed address, 32-bit
 * displacements and immediates. */
static void find_refs(const ZydisDecodedInstruction *insn, uint64_t addr, struct decoded_refs *refs)
{
	uint64_t place = 0;
	bool relative = false;
	*refs = (struct decoded_refs){0};
	if (insn->attributes & ZYDIS_ATTRIB_HAS_MODRM && insn->raw.disp.size == 32) {
		relative = insn->raw.modrm.mod == 0 && insn->raw.modrm.rm == 5;
		if (relative)
			place = addr + insn->length + (uint64_t)insn->raw.disp.value;
		else if (insn->raw.disp.value > 0)
			place = (uint64_t)insn->raw.disp.value;
	}
	if (insn->mnemonic == ZYDIS_MNEMONIC_LEA) {
		refs->pointer = place;
		refs->lea = relative;
	} else {
		refs->place = place;
	}
	if (insn->raw.imm[0].size >= 32 && !insn->raw.imm[0].is_relative)
		refs->pointer = insn->raw.imm[0].value.u;
}

bool decode_jumps_by_return(const uint8_t *mov, const uint8_t *ret, size_t len_bytes)
{
	return len_bytes == 4 && (mov[0] & 0xfb) == 0x48 && mov[1] == 0x89 &&
	       (mov[2] & 0xc7) == 0x04 && mov[3] == 0x24 && *ret == 0xc3;
}

bool decode_takes_return_off(const uint8_t *lea, size_t len_bytes)
{
	static const uint8_t takes_off[] = {0x48, 0x8d, 0x64, 0x24, 0x08};
	return len_bytes == sizeof(takes_off) && !memcmp(lea, takes_off, sizeof(takes_off));
}

/* Whether the call goes a few bytes on, to code that at once replaces its return address by a
 * register, or takes it off, and returns: so it is a jump. Compilers keep processors from guessing
 * where an indirect jump, or a return, goes by such code (retpolines). */
static bool call_jumps(const uint8_t *bytes, size_t len_bytes)
{
	enum { CALL_BYTES = 5, AHEAD_MAX = 64 };
	int32_t ahead;
	if (bytes[0] != 0xe8)
		return false;
	memcpy(&ahead, bytes + 1, sizeof(ahead));
	if (ahead <= 0 || ahead > AHEAD_MAX || len_bytes <= CALL_BYTES + (size_t)ahead)
		return false;
	const uint8_t *to = bytes + CALL_BYTES + ahead;
	size_t left = len_bytes - CALL_BYTES - (size_t)ahead;
	return (left > 4 && decode_jumps_by_return(to, to + 4, 4)) ||
	       (left > 5 && decode_takes_return_off(to, 5) && to[5] == 0xc3);
}

bool decode_calls_register(const uint8_t *call, size_t before, uint8_t *reg)
{
	enum { CALL_BYTES = 5, JUMP_BYTES = 2, AROUND_MAX = 64 };
	int32_t back, ahead;
	if (call[0] != 0xe8)
		return false;
	memcpy(&back, call + 1, sizeof(back));
	back += CALL_BYTES;
	if (back >= 0 || back < -AROUND_MAX || before < (size_t)-back + JUMP_BYTES)
		return false;
	/* jmp call; inner: call outer; ...; outer: mov REG,(%rsp); ret; call: call inner */
	const uint8_t *inner = call + back, *jump = inner - JUMP_BYTES;
	if (jump[0] != 0xeb || jump[1] != -back || !call_jumps(inner, (size_t)-back))
		return false;
	memcpy(&ahead, inner + 1, sizeof(ahead));
	const uint8_t *mov = inner + CALL_BYTES + ahead;
	*reg = (uint8_t)((mov[2] >> 3 & 7) | (mov[0] & 4) << 1);
	return mov[1] == 0x89;
}

bool decode_insn(const struct decoder *decoder, const uint8_t *bytes, size_t len_bytes,
		 uint64_t addr, struct pugmark_insn *insn, struct decoded_refs *refs)
{
	ZydisDecodedInstruction raw;
	if (ZYAN_FAILED(
		    ZydisDecoderDecodeInstruction(&decoder->zydis, NULL, bytes, len_bytes, &raw)))
		return false;
	insn->len = raw.length;
	insn->kind = kind_of(&raw);
	if (insn->kind == PUGMARK_INSN_CALL && call_jumps(bytes, len_bytes))
		insn->kind = PUGMARK_INSN_JMP;
	insn->cond = insn->kind == PUGMARK_INSN_JCC ? raw.opcode & 15 : 0;
	insn->probe = (uint8_t)probe_class_of(&raw);
	find_refs(&raw, addr, refs);
	return true;
}

static uint8_t skip_prefixes(const uint8_t *bytes, uint8_t len)
{
	uint8_t i = 0;
	for (; i + 1 < len; i++) {
		uint8_t byte = bytes[i];
		bool prefix = byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 ||
			      byte == 0xf3 || byte == 0x2e || byte == 0x36 || byte == 0x3e ||
			      byte == 0x26 || byte == 0x64 || byte == 0x65 || (byte & 0xf0) == 0x40;
		if (!prefix)
			break;
	}
	return i;
}

uint64_t decode_target(const struct pugmark_insn *insn, const uint8_t *bytes, uint64_t addr)
{
	uint8_t opcode = bytes[skip_prefixes(bytes, insn->len)];
	bool is_short = opcode == 0xeb || (opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0;
	if (is_short)
		return addr + insn->len + (uint64_t)(int8_t)bytes[insn->len - 1];
	int32_t rel;
	if (insn->len < sizeof(rel))
		return addr + insn->len;
	memcpy(&rel, bytes + insn->len - sizeof(rel), sizeof(rel));
	return addr + insn->len + (uint64_t)(int64_t)rel;
}

uint64_t decode_slot(const struct pugmark_insn *insn, const uint8_t *bytes, uint64_t addr)
{
	uint8_t at = skip_prefixes(bytes, insn->len), left = (uint8_t)(insn->len - at);
	int32_t disp;
	if (left < 6 || bytes[at] != 0xff)
		return 0;
	memcpy(&disp, bytes + insn->len - sizeof(disp), sizeof(disp));
	uint8_t modrm = bytes[at + 1];
	if (left == 6 && (modrm & 0xc7) == 0x05)
		return addr + insn->len + (uint64_t)(int64_t)disp;
	if (left == 7 && (modrm & 0xc7) == 0x04 && bytes[at + 2] == 0x25)
		return (uint64_t)(int64_t)disp;
	return 0;
}
