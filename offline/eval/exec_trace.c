// SPDX-License-Identifier: LGPL-2.1-or-later
/* exec_trace.c: what a run tells of single instructions. Whole blocks, and addresses as they are
 * computed, exec.c appends itself. */
#include "offline/eval/machine_impl.h"

#include <string.h>

void value_trace_results(struct value_machine *m, struct value_trace *t,
			 const struct value_insn *insn)
{
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		if (!value_insn_result(insn, a))
			continue;
		uint64_t *out = &t->results[t->n_results];
		if (a->kind == VALUE_ACCESS_GPR) {
			out[0] = m->state.gpr[a->reg];
			t->n_results++;
		} else if (a->kind == VALUE_ACCESS_VEC) {
			memcpy(out, m->state.vec[a->reg], 32);
			t->n_results += 4;
		} else {
			uint64_t addr = t->addresses[t->n_addresses - insn->n_addresses + a->reg];
			size_t len = insn->mem[a->reg].len;
			out[0] = 0;
			value_memory_read(m->memory, addr, out, len < 8 ? len : 8, NULL);
			t->n_results++;
		}
	}
}

void value_trace_insn(struct value_machine *m, struct value_trace *t,
		      const struct value_block *single)
{
	if (!t)
		return;
	const struct value_insn *insn = &single->insns[0];
	t->blocks[t->n_blocks++] = single->number;
	for (int i = 0; i < insn->n_addresses; i++)
		t->addresses[t->n_addresses++] =
			i < insn->n_mem ? value_place_address(&insn->mem[i], &m->state) : 0;
	value_trace_results(m, t, insn);
}

int value_trace_cut(struct value_machine *m, struct value_trace *t, const struct value_block *b,
		    unsigned n, const struct value_trace_mark *mark)
{
	t->n_blocks = mark->n_blocks;
	t->n_addresses = mark->n_addresses;
	t->n_results = mark->n_results;
	for (unsigned i = 0; i < n; i++) {
		bool no_memory;
		const struct value_block *single =
			value_translate(m, b->insns[i].ip, true, &no_memory);
		if (!single)
			return -1;
		t->blocks[t->n_blocks++] = single->number;
		t->n_addresses += b->insns[i].n_addresses;
		t->n_results += b->insns[i].n_results;
	}
	return 0;
}
