// SPDX-License-Identifier: LGPL-2.1-or-later
/* switches.c: where a task lost the processor in user mode, or a signal found it, found again by
 * its registers (where they are hidden, by ip and stack pointer alone). What it executes between
 * two losses nobody else has seen, and it has seen nobody else. A place that is met once more with
 * the same registers and surroundings, as in a loop that waits, is taken the first time. If the
 * loop has changed memory or registers that no record tells by then, how often it did is not known.
 */
#include "offline/replay/meet/switches.h"

#include "offline/replay/meet/agrees.h"
#include "offline/replay/meet/moment.h"
#include "offline/replay/meet/records.h"
#include "offline/replay/run/gap.h"
#include "offline/replay/run/places.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/standing.h"
#include "offline/replay/run/suppose.h"
#include "offline/replay/run/together.h"

#include <string.h>

enum { LOOK_INSNS = 1 << 20 };

/* What is not as it was when a place is met once more. */
enum { SAME = 0, OTHER_MEMORY = 1, OTHER_REGISTERS = 2 /* of those that no record tells */ };

static unsigned difference(const struct value_run *run, const struct value_state *was, bool hides,
			   const struct value_snapshot *memory)
{
	const struct value_state *s = value_machine_state(run->machine);
	bool others = memcmp(s->vec, was->vec, sizeof(s->vec)) || s->no_tops != was->no_tops ||
		      memcmp(s->fx, was->fx, sizeof(s->fx)) || s->mxcsr != was->mxcsr ||
		      (hides && memcmp(s, was, sizeof(*s)));
	return (value_memory_is_as(&run->memory, memory) ? SAME : OTHER_MEMORY) |
	       (others ? OTHER_REGISTERS : SAME);
}

/* Goes on alone from where the task was found, as it may have done: what is other when it comes
 * there once more. Where registers are hidden, and it is not seen to come to a system call
 * before, all may be. */
static unsigned comes_back_changed(struct value_run *run, const struct capture *here,
				   const struct value_snapshot *memory)
{
	struct value_machine *m = run->machine;
	const struct value_state *s = value_machine_state(m);
	const struct value_state was = *s;
	bool hides = value_run_hides(here);
	uint64_t place = s->rip, count = value_machine_count(m);
	enum value_side other = value_machine_side_now(m) == VALUE_SIDE_TRACED ? VALUE_SIDE_LIBRARY
									       : VALUE_SIDE_TRACED;
	if (value_machine_expect(m, place, here->regs, value_run_told_there(run, here) & 0xffff))
		return OTHER_MEMORY | OTHER_REGISTERS;
	for (;;) {
		enum value_stop stop = value_machine_run(m, count + LOOK_INSNS, NULL);
		/* A later time would have its record behind that of this place. */
		if (stop == VALUE_STOP_PLACE && value_run_tells(run, s->rip))
			return SAME;
		if (stop == VALUE_STOP_PLACE && s->rip == place &&
		    value_run_agrees_there(run, here))
			return difference(run, &was, hides, memory);
		bool on = stop == VALUE_STOP_PLACE;
		if (stop == VALUE_STOP_OUTSIDE && value_machine_has_code(m, s->rip, other)) {
			enum value_side now = value_machine_side_now(m);
			value_machine_side(m, other);
			other = now;
			on = true;
		}
		if (!on || value_machine_count(m) >= count + LOOK_INSNS)
			return hides && stop != VALUE_STOP_SYSCALL ? OTHER_MEMORY | OTHER_REGISTERS
								   : SAME;
	}
}

static uint64_t told_bits(const struct capture *c)
{
	uint64_t flags = (uint64_t)1 << VALUE_BIT_FLAGS | (uint64_t)1 << VALUE_BIT_DF;
	return (c->known & 0xffff) | 1 << VALUE_RSP | (c->known & CAPTURE_FLAGS_KNOWN ? flags : 0);
}

/* Nothing tells which time it was: what others have done by then, and what it does meanwhile. */
static void part(struct value_run *run)
{
	value_threads_part(run);
	value_run_suppose(run);
}

/* Where it may have been another time, what that would have changed is assumed. */
static void doubt_ambiguous(struct value_run *run, const struct capture *here)
{
	struct value_moment now;
	value_moment_keep(run, &now);
	const uint64_t turns = value_machine_turns(run->machine);
	value_machine_set_turns(run->machine, LOOK_INSNS);
	unsigned changed = comes_back_changed(run, here, &now.memory);
	value_machine_set_turns(run->machine, turns);
	value_moment_go_back(run, &now);
	if (changed & OTHER_MEMORY)
		value_memory_assume_all(&run->memory);
	if (changed & OTHER_REGISTERS)
		value_doubt(run->machine, VALUE_BITS_ALL & ~told_bits(here));
	if (changed && value_run_hides(here))
		part(run);
}

/* Whether the task lost the processor at this very moment, as the next record says. */
static bool is_switch(struct value_run *run)
{
	const struct value_state *s = value_machine_state(run->machine);
	const struct capture *c = value_run_record(run);
	/* In the trap of a probe, of one byte, ip is behind that: also where the probe is gone by
	 * the time, so that c->trapped does not say so. The place is met then. */
	return c && c->kind == CAPTURE_SWITCH && (c->ip == s->rip || c->ip - 1 == s->rip) &&
	       value_run_agrees_there(run, c);
}

/* Whatever is to be met at @ip was met before the first turn of the instruction there. */
static void met_before_turns(struct value_run *run, uint64_t ip)
{
	if (value_machine_stops_at(run->machine, ip))
		run->expected = ip;
}

static void take_switch(struct value_run *run, struct value_trace *trace, struct capture *out)
{
	*out = *value_run_record(run);
	if (value_run_is_amid(run, out)) {
		value_run_do_turns(run, out, trace);
		met_before_turns(run, out->ip);
	}
	run->next++;
	value_run_registers(run, out);
	value_run_agreed(run, out);
	value_run_ranges(run, out);
	if (out->order >= CAPTURE_NEVER)
		run->ended = VALUE_REPLAY_END;
	value_run_tell(run, VALUE_CROSSING_SWITCH, out, NULL);
}

bool value_run_switched(struct value_run *run, struct value_trace *trace)
{
	struct value_machine *m = run->machine;
	struct capture here;
	if (!is_switch(run))
		return false;
	take_switch(run, trace, &here);
	/* Which time it was matters to those alone that were executed meanwhile. */
	if (value_threads_together(run) && !value_run_was_alone(run, here.entered, here.order))
		doubt_ambiguous(run, &here);
	value_machine_set_count(m, value_machine_count(m));
	return true;
}

bool value_run_signalled(struct value_run *run, struct value_trace *trace)
{
	const struct value_state *s = value_machine_state(run->machine);
	const struct capture *c = value_run_record(run);
	if (!c || c->kind != CAPTURE_SIGNAL || c->ip != s->rip || !value_run_agrees_there(run, c))
		return false;
	/* The handler sees what the turns have written that were done. */
	if (value_run_is_amid(run, c)) {
		value_run_do_turns(run, c, trace);
		value_run_registers(run, c);
	}
	value_run_agreed(run, c);
	/* Of a hidden one nothing is exact from here on; behind a system call it is the one. */
	if (!value_run_hides(c) && !value_run_behind_syscall(run, c->ip))
		doubt_ambiguous(run, c);
	run->next++;
	return true;
}

void value_run_switched_behind(struct value_run *run)
{
	struct value_machine *m = run->machine;
	struct capture here;
	while (!run->ended && !run->outside && is_switch(run)) {
		/* The others go on before the next turns do: it is met once more for that. */
		if (value_run_is_amid(run, value_run_record(run))) {
			run->expected = value_machine_state(m)->rip;
			value_machine_set_count(m, value_machine_count(m));
			return;
		}
		take_switch(run, NULL, &here);
		if (value_run_hides(&here) && value_threads_together(run) &&
		    !value_run_was_alone(run, here.entered, here.order))
			part(run);
	}
}

void value_run_switch_missed(struct value_run *run)
{
	run->next++;
	value_run_strayed(run, false);
	value_threads_part(run);
	value_memory_assume_all(&run->memory);
}

/* It lost the processor as it was about to make the call: then that comes once more. Else it did so
 * where it was not found. */
bool value_run_switched_before(struct value_run *run, const struct capture *c)
{
	struct value_machine *m = run->machine;
	struct value_state *s = value_machine_state(m);
	bool here = c->ip == s->rip && c->sp == s->gpr[VALUE_RSP];
	if (!here) {
		value_run_switch_missed(run);
		return false;
	}
	run->next++;
	s->rip -= 2 /* syscall */;
	value_machine_set_count(m, value_machine_count(m) - 1);
	return true;
}
