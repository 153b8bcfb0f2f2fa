// SPDX-License-Identifier: LGPL-2.1-or-later
/* liveness.c: live registers by the usual backward equations, over all functions at once.
 *
 * Two questions are asked side by side, one in each half of a 64-bit set:
 *   low  (reads)   what is read before it is written, if nothing is after the function returns
 *   high (passes)  the same, if everything is: so also what a function passes on untouched
 * A call of a function of the module needs both: before it is live what the callee reads, and what
 * is live behind the call and passes through the callee. Both grow from nothing to the least
 * solution, so that recursion needs no care. The answer given outside is the high half. */
#include "offline/patch/liveness.h"

#include <Zydis/Zydis.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BOTH(mask) ((uint64_t)(mask) | (uint64_t)(mask) << 32)
#define LOW(set) ((uint32_t)(set))
#define HIGH(set) ((uint32_t)((set) >> 32))
#define BIT(reg) (1u << (reg))

enum { AX, CX, DX, BX, SP, BP, SI, DI };

/* System V: rax says how many vector registers a variadic call uses, r10 is the static chain. */
#define ARGUMENTS (BIT(AX) | BIT(CX) | BIT(DX) | BIT(SI) | BIT(DI) | BIT(8) | BIT(9) | BIT(10))
#define CLOBBERED (ARGUMENTS | BIT(11) | LIVE_FLAGS)
#define ARITHMETIC                                                                                 \
	(ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF |               \
	 ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF)

struct step {
	uint32_t use, kill; /* what the instruction reads; what it overwrites whatever it was */
};

struct liveness {
	const struct pugmark_model *model;
	struct step *steps;  /* of each instruction */
	struct step *blocks; /* of each block's instructions together */
	uint64_t *in;	     /* live where each block begins */
	uint64_t *entry;     /* where each function begins */
};

static int reg_number(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return -1;
	return whole - ZYDIS_REGISTER_RAX;
}

static uint32_t reg_bit(ZydisRegister reg)
{
	int number = reg_number(reg);

	return number < 0 ? 0 : BIT(number);
}

/* Where a count of zero leaves the flags as they were. */
static bool may_keep_flags(const ZydisDecodedInstruction *insn)
{
	if (insn->attributes &
	    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		return true;
	return insn->meta.category == ZYDIS_CATEGORY_SHIFT ||
	       insn->meta.category == ZYDIS_CATEGORY_ROTATE;
}

static void add_flags(struct step *s, const ZydisDecodedInstruction *insn)
{
	const ZydisAccessedFlags *f = insn->cpu_flags;

	if (!f)
		return;
	if (f->tested & ARITHMETIC)
		s->use |= LIVE_FLAGS;
	uint32_t set = f->modified | f->set_0 | f->set_1 | f->undefined;
	if ((set & ARITHMETIC) == ARITHMETIC && !may_keep_flags(insn))
		s->kill |= LIVE_FLAGS;
}

/* xor and sub of a register with itself read nothing. */
static bool is_zeroing(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *op)
{
	return (insn->mnemonic == ZYDIS_MNEMONIC_XOR || insn->mnemonic == ZYDIS_MNEMONIC_SUB) &&
	       op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       op[1].type == ZYDIS_OPERAND_TYPE_REGISTER && op[0].reg.value == op[1].reg.value &&
	       op[0].size >= 32;
}

/* What the system, or a debugger, may read behind the back of the operands. */
static bool is_opaque(const ZydisDecodedInstruction *insn)
{
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
		return true;
	default:
		return insn->mnemonic == ZYDIS_MNEMONIC_XBEGIN ||
		       insn->mnemonic == ZYDIS_MNEMONIC_XABORT;
	}
}

static struct step step_of(const ZydisDecoder *decoder, const uint8_t *bytes, uint8_t len)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	struct step s = {0};

	if (ZYAN_FAILED(ZydisDecoderDecodeFull(decoder, bytes, len, &insn, op)) || is_opaque(&insn))
		return (struct step){.use = LIVE_ALL};
	bool zeroing = is_zeroing(&insn, op);
	for (uint8_t i = 0; i < insn.operand_count; i++) {
		const ZydisDecodedOperand *o = &op[i];

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY)
			s.use |= reg_bit(o->mem.base) | reg_bit(o->mem.index);
		if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ && !zeroing)
			s.use |= reg_bit(o->reg.value);
		if (o->actions & ZYDIS_OPERAND_ACTION_WRITE && o->size >= 32)
			s.kill |= reg_bit(o->reg.value);
	}
	if (insn.attributes &
	    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		s.kill = 0;
	add_flags(&s, &insn);
	return s;
}

/* What comes first of @a and @b, one after the other. */
static struct step joined(struct step a, struct step b)
{
	return (struct step){a.use | (b.use & ~a.kill), a.kill | b.kill};
}

static void find_steps(struct liveness *l)
{
	const struct pugmark_model *m = l->model;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (uint32_t b = 0; b < m->n_blocks; b++) {
		const struct pugmark_block *block = &m->blocks[b];
		struct step all = {0};

		for (uint32_t i = block->insn; i < block->insn + block->n_insns; i++) {
			const struct pugmark_insn *insn = &m->insns[i];
			size_t len;
			const uint8_t *at = pugmark_model_bytes(m, m->text_addr + insn->off, &len);

			/* What a call or jump does beyond its operands is its edge's to say. */
			l->steps[i] = at && len >= insn->len ? step_of(&decoder, at, insn->len)
							     : (struct step){.use = LIVE_ALL};
			all = joined(all, l->steps[i]);
		}
		l->blocks[b] = all;
	}
}

/* Whether a call of the import follows the ABI: what instruments a program need not. */
static bool is_ordinary(const struct pugmark_import *import)
{
	static const char *const others[] = {"mcount",	    "_mcount",	    "__fentry__",
					     "__morestack", "__asan_",	    "__hwasan_",
					     "__sanitizer", "__xray",	    "__tls_get_addr",
					     "_dl_",	    "__cyg_profile"};

	if (!*import->name)
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strncmp(import->name, others[i], strlen(others[i])))
			return false;
	return true;
}

/* Live just before @site's call or jump is done, if @after is behind it (of a tail jump: behind the
 * function, BOTH halves by their own questions). */
static uint64_t through(const struct liveness *l, const struct pugmark_site *site, uint64_t after)
{
	if (site->via == PUGMARK_VIA_DIRECT && site->target != PUGMARK_NONE &&
	    !(l->model->funcs[site->target].flags & PUGMARK_FUNC_OPAQUE)) {
		uint64_t callee = l->entry[site->target];

		return BOTH(LOW(callee)) | (after & BOTH(HIGH(callee)));
	}
	if (site->via == PUGMARK_VIA_IMPORT && site->import != PUGMARK_NONE &&
	    is_ordinary(&l->model->imports[site->import]))
		return BOTH(ARGUMENTS) | (after & ~BOTH(CLOBBERED));
	return BOTH(LIVE_ALL);
}

static uint64_t after_block(const struct liveness *l, uint32_t b)
{
	const struct pugmark_model *m = l->model;
	const struct pugmark_block *block = &m->blocks[b];
	const uint64_t returned = (uint64_t)LIVE_ALL << 32;
	uint64_t out = 0, left = 0;

	for (uint32_t e = block->edge; e < block->edge + block->n_edges; e++)
		out |= l->in[m->edges[e].to];
	switch (block->end) {
	case PUGMARK_END_RET:
		return returned;
	case PUGMARK_END_CALL:
	case PUGMARK_END_NORETURN:
		return block->site == PUGMARK_NONE ? BOTH(LIVE_ALL)
						   : through(l, &m->sites[block->site], out);
	case PUGMARK_END_TAIL:
	case PUGMARK_END_JCC:
		if (block->site == PUGMARK_NONE)
			return block->end == PUGMARK_END_TAIL ? BOTH(LIVE_ALL) : out;
		left = through(l, &m->sites[block->site], returned);
		if (block->flags & PUGMARK_BLOCK_TWO_SITES)
			left |= through(l, &m->sites[block->site + 1], returned);
		return out | left;
	case PUGMARK_END_TABLE:
		if (block->flags & PUGMARK_BLOCK_TABLE_NATURAL || block->site != PUGMARK_NONE)
			return BOTH(LIVE_ALL);
		return out;
	case PUGMARK_END_FALL:
	case PUGMARK_END_JMP:
		return block->n_edges ? out : BOTH(LIVE_ALL);
	case PUGMARK_END_TRAP:
	default:
		return BOTH(LIVE_ALL);
	}
}

static bool settle_function(struct liveness *l, uint32_t func)
{
	const struct pugmark_func *f = &l->model->funcs[func];
	bool changed = true, ever = false;

	while (changed) {
		changed = false;
		for (uint32_t b = f->block + f->n_blocks; b-- > f->block;) {
			struct step s = l->blocks[b];
			uint64_t in = BOTH(s.use) | (after_block(l, b) & ~BOTH(s.kill));

			if (in == l->in[b])
				continue;
			l->in[b] = in;
			changed = ever = true;
		}
	}
	if (f->n_blocks)
		l->entry[func] = l->in[f->block];
	return ever;
}

int liveness_new(const struct pugmark_model *model, struct liveness **out)
{
	struct liveness *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->model = model;
	l->steps = calloc(model->n_insns + 1, sizeof(*l->steps));
	l->blocks = calloc(model->n_blocks + 1, sizeof(*l->blocks));
	l->in = calloc(model->n_blocks + 1, sizeof(*l->in));
	l->entry = calloc(model->n_funcs + 1, sizeof(*l->entry));
	if (!l->steps || !l->blocks || !l->in || !l->entry) {
		liveness_free(l);
		return -ENOMEM;
	}
	find_steps(l);
	for (uint32_t f = 0; f < model->n_funcs; f++)
		if (!model->funcs[f].n_blocks)
			l->entry[f] = BOTH(LIVE_ALL);
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t f = model->n_funcs; f-- > 0;)
			changed |= settle_function(l, f);
	}
	*out = l;
	return 0;
}

void liveness_free(struct liveness *l)
{
	if (!l)
		return;
	free(l->steps);
	free(l->blocks);
	free(l->in);
	free(l->entry);
	free(l);
}

uint32_t liveness_after(const struct liveness *l, uint32_t block)
{
	return HIGH(after_block(l, block));
}

uint32_t liveness_before(const struct liveness *l, uint32_t block, uint32_t insn)
{
	const struct pugmark_block *b = &l->model->blocks[block];
	uint64_t live = after_block(l, block);

	for (uint32_t i = b->insn + b->n_insns; i-- > insn;)
		live = BOTH(l->steps[i].use) | (live & ~BOTH(l->steps[i].kill));
	return HIGH(live);
}
