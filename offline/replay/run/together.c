// SPDX-License-Identifier: LGPL-2.1-or-later
/* together.c: whether the threads of a process are executed as one. */
#include "offline/replay/run/together.h"

#include "offline/replay/run/run.h"

bool value_threads_together(const struct value_run *run)
{
	return run->threads && !run->threads->apart;
}

uint64_t value_threads_executed(const struct value_run *run)
{
	return run->threads ? run->threads->executed : 0;
}

void value_threads_mapped(struct value_run *run)
{
	if (run->threads)
		run->maps = ++run->threads->maps;
}

void value_threads_part(struct value_run *run)
{
	if (!value_threads_together(run))
		return;
	run->threads->apart = true;
	value_memory_assume_all(&run->memory);
}
