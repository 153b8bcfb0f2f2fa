// SPDX-License-Identifier: LGPL-2.1-or-later
/* moment.c: executes on for a look, and goes back. Records are not taken meanwhile. */
#include "offline/replay/meet/moment.h"

#include "offline/replay/run/run.h"

void value_moment_keep(struct value_run *run, struct value_moment *out)
{
	struct value_machine *m = run->machine;
	out->state = *value_machine_state(m);
	out->known = *value_machine_known(m);
	out->side = value_machine_side_now(m);
	out->count = value_machine_count(m);
	value_machine_inexact(m, &out->assumed, &out->unknown);
	out->memory = value_memory_snapshot(&run->memory);
}

void value_moment_go_back(struct value_run *run, struct value_moment *to)
{
	struct value_machine *m = run->machine;
	value_memory_restore(&run->memory, &to->memory);
	value_memory_forget(&run->memory, &to->memory);
	value_machine_side(m, to->side);
	*value_machine_state(m) = to->state;
	*value_machine_known(m) = to->known;
	value_machine_set_count(m, to->count);
	value_machine_set_inexact(m, to->assumed, to->unknown);
	value_machine_supposed(m);
}
