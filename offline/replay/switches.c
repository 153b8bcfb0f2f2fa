// SPDX-License-Identifier: LGPL-2.1-or-later
/* switches.c: where a task lost the processor in user mode, found again by its registers. What it
 * executes between two such records nobody else has seen, and it has seen nobody else. A place that
 * is met once more with the same registers, as a loop that waits does, is taken the first time. */
#include "offline/replay/replay_impl.h"

static bool take_switch(struct value_run *run)
{
	const struct value_state *s = value_machine_state(run->machine);
	const struct capture *c = value_run_record(run);
	if (!c || c->kind != CAPTURE_SWITCH ||
	    !(c->ip == s->rip || (c->trapped && c->ip - 1 == s->rip)))
		return false;
	struct capture here = *c;
	here.known = value_run_told_there(run, c);
	if (!value_run_agrees(run, &here))
		return false;
	run->next++;
	value_run_registers(run, &here);
	value_run_agreed(run, &here);
	value_run_ranges(run, &here);
	if (here.order >= CAPTURE_NEVER)
		run->ended = VALUE_REPLAY_END;
	return true;
}

bool value_run_switched(struct value_run *run)
{
	struct value_machine *m = run->machine;
	bool switched = take_switch(run);
	if (switched)
		value_machine_set_count(m, value_machine_count(m));
	return switched;
}

void value_run_switched_behind(struct value_run *run)
{
	while (!run->ended && !run->outside && take_switch(run))
		;
}

/* It lost the processor as it was about to make the call: then that comes once more. Else it did so
 * where it was not found. */
bool value_run_switched_before(struct value_run *run, const struct capture *c)
{
	struct value_machine *m = run->machine;
	struct value_state *s = value_machine_state(m);
	bool here = c->ip == s->rip && c->sp == s->gpr[VALUE_RSP];
	run->next++;
	if (!here) {
		value_threads_part(run);
		value_memory_assume_all(&run->memory);
		return false;
	}
	s->rip -= 2 /* syscall */;
	value_machine_set_count(m, value_machine_count(m) - 1);
	return true;
}
