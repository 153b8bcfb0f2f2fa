// SPDX-License-Identifier: LGPL-2.1-or-later
/* site_operand.c: the probe class and condition of a site come from the model; the target operand
 * of an indirect call or jump is decoded here, since few sites need one. */
#include "offline/plan/site_operand.h"

#include "offline/code/decode.h"

#include <Zydis/Zydis.h>
#include <errno.h>

static const struct pugmark_insn *insn_at(const struct pugmark_model *model, uint64_t addr)
{
	uint32_t block = pugmark_model_block_at(model, addr);
	if (block == PUGMARK_NONE)
		return NULL;
	const struct pugmark_block *b = &model->blocks[block];
	for (uint32_t i = b->insn; i < b->insn + b->n_insns; i++)
		if (model->text_addr + model->insns[i].off == addr)
			return &model->insns[i];
	return NULL;
}

static uint8_t reg_number(ZydisRegister reg)
{
	if (reg == ZYDIS_REGISTER_RIP)
		return 16;
	ZyanI8 id = ZydisRegisterGetId(reg);
	return reg == ZYDIS_REGISTER_NONE || id < 0 ? 255 : id;
}

static void decode_operand(const struct pugmark_model *model, uint64_t addr,
			   struct pugmark_plan_operand *target)
{
	size_t len;
	const uint8_t *bytes = pugmark_model_bytes(model, addr, &len);
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!bytes || ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, len, &insn, ops)))
		return;
	*target = (struct pugmark_plan_operand){.base = 255, .index = 255, .scale = 1};
	if (ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		target->base = reg_number(ops[0].reg.value);
	} else if (ops[0].type == ZYDIS_OPERAND_TYPE_MEMORY) {
		target->is_memory = 1;
		target->base = reg_number(ops[0].mem.base);
		target->index = reg_number(ops[0].mem.index);
		target->scale = ops[0].mem.scale ? ops[0].mem.scale : 1;
		target->disp = ops[0].mem.disp.value;
		if (target->base == 16)
			target->disp += addr + insn.length;
	}
}

/* The register that a call goes by, if it is one of a retpoline beside it. */
static void decode_called_register(const struct pugmark_model *model, uint64_t addr,
				   struct pugmark_plan_operand *target)
{
	enum { CALL_BYTES = 5 };
	uint32_t func = pugmark_model_func_at(model, addr);
	const struct pugmark_func *f = func == PUGMARK_NONE ? NULL : &model->funcs[func];
	for (uint32_t i = 0; f && i < f->n_parts; i++) {
		const struct pugmark_part *part = &model->parts[f->part + i];
		size_t len, before = addr - part->addr;
		if (addr < part->addr || addr >= part->end)
			continue;
		const uint8_t *bytes = pugmark_model_bytes(model, part->addr, &len);
		uint8_t reg;
		if (bytes && len >= before + CALL_BYTES &&
		    decode_calls_register(bytes + before, before, &reg))
			target->base = reg;
	}
}

int site_operand_at(const struct pugmark_model *model, uint64_t addr, struct site_operand *out)
{
	const struct pugmark_insn *insn = insn_at(model, addr);
	if (!insn)
		return -EINVAL;
	*out = (struct site_operand){
		.probe = insn->probe,
		.cond = insn->cond,
		.target = {.base = 255, .index = 255},
	};
	if (insn->kind == PUGMARK_INSN_CALL_IND || insn->kind == PUGMARK_INSN_JMP_IND)
		decode_operand(model, addr, &out->target);
	else if (insn->kind == PUGMARK_INSN_CALL)
		decode_called_register(model, addr, &out->target);
	else if (insn->kind ==
		 PUGMARK_INSN_RET) /* one that jumps: to what lies on top of the stack */
		out->target = (struct pugmark_plan_operand){
			.is_memory = 1, .base = 4, .index = 255, .scale = 1};
	return 0;
}
