// SPDX-License-Identifier: LGPL-2.1-or-later
/* reached.c: how many instructions a run had executed before it took each of its records, noted as
 * it goes forward, from when somebody asks for it. moments.c goes by it. */
#include "offline/replay/lead/reached.h"

#include "offline/replay/run/run.h"

#include <stdlib.h>
#include <string.h>

void value_run_note_reached(struct value_run *run)
{
	if (!run->reached || run->noted >= run->next)
		return;
	while (run->noted < run->next)
		run->reached[++run->noted] = value_run_count(run);
}

bool value_run_begin_noting(struct value_run *run)
{
	size_t size = (run->records->n + 1) * sizeof(*run->reached);
	if (run->reached)
		return true;
	run->reached = malloc(size);
	if (!run->reached)
		return false;
	memset(run->reached, 0xff, size);
	run->noted = run->next;
	return true;
}
