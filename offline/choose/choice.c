// SPDX-License-Identifier: LGPL-2.1-or-later
/* choice.c: what a finished choice costs, and its end. */
#include "offline/choose/choice.h"

#include <stdlib.h>

double choice_function_cost(const struct program *prog, const uint8_t *marks, uint32_t func)
{
	const struct prog_func *f = &prog->funcs[func];
	double cost = 0;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		const struct prog_block *b = &prog->blocks[i];
		if (marks[i])
			cost += (double)b->freq * f->freq *
				(marks[i] == MARK_BLOCK ? b->any.cost_ns : b->last.cost_ns);
	}
	return cost;
}

double choice_cost(const struct program *prog, const struct choice *choice)
{
	double cost = 0;
	for (uint32_t f = 0; f < prog->n_funcs; f++)
		cost += choice_function_cost(prog, choice->marks, f);
	return cost;
}

void choice_deinit(struct choice *choice)
{
	free(choice->marks);
	free(choice->capture_ret);
	free(choice->unresolved);
	free(choice->whole);
	*choice = (struct choice){0};
}
