/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* decode.h: one instruction at a time: its length, what it does to control flow, and the address
 * that it names. Operands are left to semantics.h, which costs twice as much. */
#ifndef OFFLINE_DECODE_H
#define OFFLINE_DECODE_H

#include <Zydis/Zydis.h>

#include <pugmark/model.h>

struct decoder {
	ZydisDecoder zydis;
};

/* The addresses that an instruction names, 0 where it names none. Whether anything lies there is
 * for the caller to find out. */
struct decoded_refs {
	uint64_t place;	  /* of its memory operand */
	uint64_t pointer; /* the address that it makes a pointer to: by lea, or an immediate */
	bool lea;	  /* @pointer is by lea, relative to rip: an address, and no number */
};

void decoder_init(struct decoder *decoder);
/* Decodes the instruction at @addr, whose bytes are @bytes (at most @len_bytes of them). A call
 * that is a jump, as what it goes to takes its return address off, is a PUGMARK_INSN_JMP, where
 * @len_bytes has that. Returns false where they are no instruction; @insn->off is left to the
 * caller. */
bool decode_insn(const struct decoder *decoder, const uint8_t *bytes, size_t len_bytes,
		 uint64_t addr, struct pugmark_insn *insn, struct decoded_refs *refs);
/* Whether the instructions @mov, of @len_bytes, and @ret, which follow one another, put a register
 * in the place of the return address and return: a jump to where that points. */
bool decode_jumps_by_return(const uint8_t *mov, const uint8_t *ret, size_t len_bytes);
/* Whether the instruction @lea, of @len_bytes, takes a word off the stack, as a return address. */
bool decode_takes_return_off(const uint8_t *lea, size_t len_bytes);
/* Whether @call, which @before bytes of code lie in front of, goes to a retpoline that stands right
 * in front of it and that a jump leads around: then it is a call of the register *@reg. */
bool decode_calls_register(const uint8_t *call, size_t before, uint8_t *reg);
/* Where the direct call or jump @insn (of any INSN_ kind with a relative operand) at @addr goes. */
uint64_t decode_target(const struct pugmark_insn *insn, const uint8_t *bytes, uint64_t addr);
/* The address of the memory operand of a PUGMARK_INSN_CALL_IND or PUGMARK_INSN_JMP_IND, where the
 * instruction alone tells it (the GOT slot of `jmp *slot(%rip)`); 0 for a register or a computed
 * address. */
uint64_t decode_slot(const struct pugmark_insn *insn, const uint8_t *bytes, uint64_t addr);

/* Whether the jump is a call that is one: it puts a word on the stack. */
static inline bool insn_is_jumping_call(const struct pugmark_insn *insn, const uint8_t *bytes)
{
	return insn->kind == PUGMARK_INSN_JMP && bytes[0] == 0xe8;
}

/* Whether control goes anywhere but to the next instruction. */
static inline bool insn_ends_block(const struct pugmark_insn *insn)
{
	return insn->kind != PUGMARK_INSN_OTHER;
}

static inline bool insn_is_direct_jump(const struct pugmark_insn *insn)
{
	return insn->kind == PUGMARK_INSN_JMP || insn->kind == PUGMARK_INSN_JCC ||
	       insn->kind == PUGMARK_INSN_JCXZ || insn->kind == PUGMARK_INSN_XBEGIN;
}

#endif
