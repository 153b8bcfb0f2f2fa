// SPDX-License-Identifier: LGPL-2.1-or-later
/* own_code.c: which code is executed: that of traced modules, where they lay at the start, as long
 * as they are mapped there, and that of libraries (libraries.c). Other code may be mapped in the
 * place of a module that was unloaded; going back brings the module back. */
#include "offline/replay/run/own_code.h"

#include "offline/replay/libraries/libraries.h"
#include "offline/replay/libraries/residue.h"
#include "offline/replay/records/sources.h"
#include "offline/replay/run/run.h"

/* Whether the file that the code is of is mapped there, as it was. */
static bool is_there(const struct value_run *run, const struct value_region *code)
{
	const struct value_region *at = value_memory_region(&run->memory, code->start);
	return at && at->prot & VALUE_EXEC && at->end > code->start &&
	       (at->source & ~SOURCE_START) == (code->source & ~SOURCE_START) &&
	       at->off + (code->start - at->start) == code->off;
}

static int sync_own(struct value_run *run)
{
	int err = 0;
	for (size_t i = 0; !err && i < run->n_code; i++) {
		struct own_code *code = &run->code[i];
		bool there = is_there(run, &code->region);
		if (there && !code->there)
			err = value_machine_code(run->machine, code->region.start,
						 code->region.end);
		else if (!there && code->there)
			value_machine_no_code(run->machine, code->region.start, code->region.end);
		code->there = there;
	}
	return err;
}

int value_run_code(struct value_run *run)
{
	int err = sync_own(run);
	if (run->walker && !value_residue_walker_fits(run->walker)) {
		value_residue_walker_free(run->walker);
		run->walker = NULL;
	}
	if (!err && run->replay->whole)
		err = value_libraries_sync(&run->libraries, run->machine);
	return err;
}
