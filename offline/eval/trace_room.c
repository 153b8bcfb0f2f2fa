// SPDX-License-Identifier: LGPL-2.1-or-later
/* trace_room.c: the memory of a trace (machine.h). */
#include "offline/eval/machine.h"

#include <stdlib.h>

bool value_trace_init(struct value_trace *t, size_t blocks, size_t addresses, size_t results)
{
	*t = (struct value_trace){
		.blocks = malloc(blocks * sizeof(*t->blocks)),
		.addresses = malloc(addresses * sizeof(*t->addresses)),
		.results = malloc(results * sizeof(*t->results)),
		.max_blocks = blocks,
		.max_addresses = addresses,
		.max_results = results,
	};
	if (t->blocks && t->addresses && t->results)
		return true;
	value_trace_deinit(t);
	return false;
}

void value_trace_deinit(struct value_trace *t)
{
	free(t->blocks);
	free(t->addresses);
	free(t->results);
	*t = (struct value_trace){0};
}
