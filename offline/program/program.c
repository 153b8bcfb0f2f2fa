// SPDX-License-Identifier: LGPL-2.1-or-later
/* program.c: the program that is common to all origins. */
#include "offline/program/program.h"

#include <stdlib.h>

const struct probe_costs probe_costs_default = {
	/* the ratios of a Linux 6.18 guest; `pugmark doctor` measures the machine's own */
	.emulated_ns = 600,
	.stepped_ns = 6500,
	.ret_ns = 40,
	.patched_ns = 2,
};

void program_free(struct program *program)
{
	if (!program)
		return;
	free(program->funcs);
	free(program->blocks);
	free(program->opaque_calls);
	free(program->succs);
	free(program->unknown);
	free(program->chances);
	free(program);
}

void program_mark_entered_tails(struct program *p)
{
	for (uint32_t f = 0; f < p->n_funcs; f++)
		if (p->funcs[f].flags & PROG_ENTRY_WITNESS)
			p->funcs[f].flags |= PROG_ENTERED_TAIL;
	bool grew = true;
	while (grew) {
		grew = false;
		for (uint32_t b = 0; b < p->n_blocks; b++) {
			const struct prog_block *block = &p->blocks[b];
			if (block->call != CALL_DIRECT || !(block->flags & PROG_TAIL) ||
			    !(p->funcs[block->func].flags & PROG_ENTERED_TAIL) ||
			    p->funcs[block->callee].flags & PROG_ENTERED_TAIL)
				continue;
			p->funcs[block->callee].flags |= PROG_ENTERED_TAIL;
			grew = true;
		}
	}
}
