// SPDX-License-Identifier: LGPL-2.1-or-later
/* backslice_sem.c: what an instruction does, decoded when a search first asks and kept for the next
 * one: backslice.c and callee_writes.c both search. */
#include "offline/code/backslice.h"

const struct sem *backslice_sem(struct backslice *s, uint32_t insn)
{
	if (!s->sem_of_insn[insn]) {
		struct sem sem;
		if (!sem_decode(&s->decoder, builder_insn_bytes(s->b, insn),
				s->b->insns.at[insn].len, insn_addr(s->b, insn), &sem))
			sem.writes = UINT16_MAX;
		s->sem_of_insn[insn] = s->sems.n;
		if (!VEC_PUSH(&s->sems, sem)) {
			s->sem_of_insn[insn] = 0;
			return NULL;
		}
	}
	return &s->sems.at[s->sem_of_insn[insn]];
}
