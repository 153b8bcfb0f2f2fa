// SPDX-License-Identifier: LGPL-2.1-or-later
/* undescribed_tables.c: where a jump table leads in code that is found only by following it.
 * jumptable.c needs whole functions, with all paths that lead to the jump. Here only what was
 * decoded right before the jump is known, so the usual sequences are looked for, and nothing else:
 *
 *   cmp $last,I; ja default; lea T(%rip),B; mov I,X; movslq (B,X,4),R; add B,R; jmp *R
 *   cmp $last,I; ja default; mov I,X; jmp *T(,X,8)
 *
 * or with `lea (B,R),R` in place of the add, or with `and` in place of the mov, to clear what is
 * above I in its register. Tables of other forms are not found: their targets stay undecoded, and
 * the jump open. */
#include "offline/code/undescribed_tables.h"

#include "offline/code/semantics.h"

/* What was read, from the jump backwards. */
struct search {
	struct table_load load;
	uint8_t target;	  /* the register that the jump goes by; REG_NONE: its entry was found */
	uint8_t distance; /* the one that holds the entry, before base is added */
	uint8_t base;	  /* the one whose constant is looked for */
	uint8_t index;
	bool guarded; /* the ja was met */
};

static bool take_jump(struct search *s, const struct sem *sem)
{
	if (sem->op != SEM_JUMP)
		return false;
	s->target = s->distance = s->base = s->index = REG_NONE;
	if (!sem->memory) {
		s->target = sem->src;
		s->load.relative = true;
		return s->target != REG_NONE;
	}
	s->load.table = (uint64_t)sem->disp;
	s->index = sem->index;
	return sem->base == REG_NONE && sem->index != REG_NONE && sem->scale == 8;
}

static bool take_write(struct search *s, const struct sem *sem)
{
	if (sem_writes(sem, s->target)) {
		bool sum = sem->op == SEM_LEA && sem->base != REG_NONE && sem->index != REG_NONE &&
			   sem->scale == 1 && !sem->disp;
		s->distance = sum ? sem->index : s->target;
		s->base = sum ? sem->base : sem->src;
		s->target = REG_NONE;
		return sum || sem->op == SEM_ADD;
	}
	if (s->distance != REG_NONE && sem->op == SEM_LOAD && sem_writes(sem, s->base)) {
		uint8_t other = s->distance; /* it was added the other way round */
		s->distance = s->base;
		s->base = other;
	}
	if (sem_writes(sem, s->distance)) {
		if (sem->op != SEM_LOAD || sem->size != 4 || sem->scale != 4 || sem->disp ||
		    sem->base != s->base || sem->index == REG_NONE)
			return false;
		s->index = sem->index;
		s->distance = REG_NONE;
		return true;
	}
	if (sem_writes(sem, s->base)) {
		s->load.table = s->load.base = (uint64_t)sem->value;
		s->base = REG_NONE;
		return sem->op == SEM_CONST;
	}
	if (sem_writes(sem, s->index)) {
		if (sem->op == SEM_AND_IMM)
			return sem->value == UINT8_MAX || sem->value == UINT16_MAX;
		s->index = sem->src;
		return sem->op == SEM_COPY;
	}
	return true;
}

bool undescribed_table(const struct builder *b, const struct pugmark_insn *insns, uint32_t n,
		       struct table_load *load, uint32_t *n_entries)
{
	struct search s = {.load = {0}};
	ZydisDecoder decoder;
	sem_decoder_init(&decoder);
	for (uint32_t i = n; i-- > 0 && n - i <= UNDESCRIBED_TABLE_WINDOW;) {
		const struct pugmark_insn *insn = &insns[i];
		uint64_t addr = b->text_addr + insn->off;
		const struct elf_code *code = builder_code_at(b, addr);
		struct sem sem;
		if (!code ||
		    !sem_decode(&decoder, code->bytes + (addr - code->addr), insn->len, addr, &sem))
			return false;
		if (i == n - 1) {
			if (!take_jump(&s, &sem))
				return false;
			continue;
		}
		if (insn->kind == PUGMARK_INSN_JCC) {
			if (s.guarded || insn->cond != 7)
				return false;
			s.guarded = true;
			continue;
		}
		if (insn->kind != PUGMARK_INSN_OTHER)
			return false;
		bool compares = sem.op == SEM_CMP && !sem.memory && sem.dst == s.index;
		if (s.guarded && s.target == REG_NONE && s.distance == REG_NONE && compares) {
			*load = s.load;
			*n_entries = (uint32_t)sem.value + 1;
			return s.base == REG_NONE && sem.value >= 0 &&
			       sem.value < TABLE_MAX_ENTRIES;
		}
		if (!take_write(&s, &sem))
			return false;
	}
	return false;
}
