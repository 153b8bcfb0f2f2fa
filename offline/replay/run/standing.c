// SPDX-License-Identifier: LGPL-2.1-or-later
/* standing.c: where a run stands: how many instructions it has executed, and which record is next.
 */
#include "offline/replay/run/standing.h"

#include "offline/replay/records/kept_records.h"
#include "offline/replay/run/run.h"

uint64_t value_run_count(const struct value_run *run)
{
	return run->executing ? run->count : value_machine_count(run->machine);
}

uint64_t value_run_library_count(const struct value_run *run)
{
	return run->in_libraries + (run->executing ? value_machine_count(run->machine) : 0);
}

const struct capture *value_run_record(const struct value_run *run)
{
	return run->turned ? NULL : value_run_record_at(run, run->next);
}

const struct capture *value_run_record_at(const struct value_run *run, uint64_t i)
{
	return i < run->records->n ? kept_records_at(run->records, i) : NULL;
}
