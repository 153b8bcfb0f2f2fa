// SPDX-License-Identifier: LGPL-2.1-or-later
/* kept_args.c: see kept_args.h. Looks backward from the call for who made the register, through
 * copies (`mov %r15,%rdi`) and distances (`lea 32(%rsp),%rdi`), until a register that calls keep is
 * left whose value does not change any more before the call. */
#include "offline/capture/kept_args.h"

#include "offline/capture/effects.h"

enum { RSP = 4, NONE = 0xff };

static const uint8_t arg_numbers[] = {7, 6, 2, 1, 8, 9}; /* rdi, rsi, rdx, rcx, r8, r9 */

static const uint8_t values[16] = {
	[3] = VALUE_KEPT_RBX,  [RSP] = VALUE_KEPT_RSP, [5] = VALUE_KEPT_RBP,  [12] = VALUE_KEPT_R12,
	[13] = VALUE_KEPT_R13, [14] = VALUE_KEPT_R14,  [15] = VALUE_KEPT_R15,
};

static uint8_t number_of(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15 ? reg - ZYDIS_REGISTER_RAX
								      : NONE;
}

static ZydisRegister whole(ZydisRegister reg)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

/* What it was before the instruction that makes it. False: the instruction does not say. */
static bool before(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *op,
		   struct kept_arg *arg)
{
	bool of_registers = op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			    op[1].type == ZYDIS_OPERAND_TYPE_REGISTER;

	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_LEA:
		arg->reg = number_of(op[1].mem.base);
		arg->addend += op[1].mem.disp.value;
		return insn->operand_width == 64 && arg->reg != NONE &&
		       op[1].mem.index == ZYDIS_REGISTER_NONE;
	case ZYDIS_MNEMONIC_MOV:
		arg->reg = of_registers ? number_of(op[1].reg.value) : NONE;
		return arg->reg != NONE;
	case ZYDIS_MNEMONIC_XOR:
		arg->null = of_registers && op[0].size >= 32 && !arg->addend &&
			    op[0].reg.value == op[1].reg.value &&
			    number_of(whole(op[0].reg.value)) == arg->reg;
		return arg->null;
	default:
		return false;
	}
}

/* Whether it is still so where nothing but @changed has changed. */
static bool is_kept(const struct kept_arg *arg, uint16_t changed)
{
	return values[arg->reg] && !(changed >> arg->reg & 1);
}

/* The value before instruction @i of the block, that behind it being *@arg. *@changed grows by what
 * the instruction writes. False: nothing tells. */
static bool step_back(const struct pugmark_model *model, const ZydisDecoder *decoder, uint32_t i,
		      struct kept_arg *arg, uint16_t *changed)
{
	size_t len;
	const uint8_t *bytes =
		pugmark_model_bytes(model, model->text_addr + model->insns[i].off, &len);
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	struct effects e;

	if (!bytes || !effects_of(decoder, bytes, len, &e) || e.kernel)
		return false;
	*changed |= e.writes;
	return !(e.writes >> arg->reg & 1) ||
	       (ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, bytes, len, &insn, op)) &&
		before(&insn, op, arg));
}

bool kept_arg_of(const struct pugmark_model *model, const ZydisDecoder *decoder,
		 const struct pugmark_site *site, unsigned arg, struct kept_arg *out)
{
	const struct pugmark_block *block = &model->blocks[site->block];
	struct kept_arg now = {.reg = arg_numbers[arg]};
	uint32_t at = block->n_insns;
	uint16_t changed = 0; /* between there and the call */

	while (at && model->text_addr + model->insns[block->insn + at - 1].off != site->addr)
		at--;
	*out = (struct kept_arg){0};
	/* The stack pointer is worth more than others: what is stored on the stack is told apart.
	 */
	while (at > 1 && out->reg != RSP && !out->null &&
	       step_back(model, decoder, block->insn + --at - 1, &now, &changed)) {
		now.value = values[now.reg];
		if (now.null || is_kept(&now, changed))
			*out = now;
	}
	return out->value || out->null;
}
