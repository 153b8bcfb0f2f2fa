// SPDX-License-Identifier: LGPL-2.1-or-later
/* forward.c: leads the evaluator of one task from record to record.
 *
 *   inside ──call out──> outside ──RESULT──> inside, behind the call
 *                           │ ──ENTER───> inside (a callback, a handler, a thread's start)
 *                           │ ──KERNEL──> still outside: bytes and mappings change
 *   inside ──syscall──> KERNEL ──> inside      inside ──rdtsc──> INSN ──> inside
 *
 * Outside, libraries are executed as well where the recording has all that takes (library.c): then
 * records are met, not followed. The records of a
 * task are all in memory (kept_records.h), so that going back is an index.
 */
#include "offline/replay/lead/calls.h"
#include "offline/replay/lead/library.h"
#include "offline/replay/lead/outside.h"
#include "offline/replay/lead/reached.h"
#include "offline/replay/lead/turned.h"
#include "offline/replay/lead/vectors.h"
#include "offline/replay/meet/agrees.h"
#include "offline/replay/meet/records.h"
#include "offline/replay/meet/switches.h"
#include "offline/replay/records/kept_records.h"
#include "offline/replay/run/gap.h"
#include "offline/replay/run/places.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/snapshots.h"
#include "offline/replay/run/standing.h"
#include "offline/replay/run/suppose.h"
#include "offline/replay/threads/neighbours.h"

#include <errno.h>
#include <signal.h>

/* A register that is told and exact must be what was computed. */
static int check(struct value_run *run, const struct capture *c)
{
	struct value_machine *m = run->machine;
	const struct value_state *s = value_machine_state(m);
	if (value_quality(m, (uint64_t)1 << VALUE_RSP) == VALUE_EXACT && c->sp != s->gpr[VALUE_RSP])
		return value_run_fail_astray(run, "the stack pointer is %#lx, recorded was %#lx",
					     s->gpr[VALUE_RSP], c->sp);
	for (unsigned i = 0; i < 16; i++)
		if (c->known >> i & 1 && !value_quality(m, (uint64_t)1 << i) &&
		    s->gpr[i] != c->regs[i])
			return value_run_fail_astray(run, "register %u is %#lx, recorded was %#lx",
						     i, s->gpr[i], c->regs[i]);
	uint64_t bits = 1u << VALUE_RBX | 1u << VALUE_RSP | 1u << VALUE_RBP | 0xf000;
	if (c->has_hash && !value_quality(m, bits) && capture_hash(s->gpr) != c->hash)
		return value_run_fail_astray(
			run, "the registers that calls keep are not those that were recorded");
	return VALUE_REPLAY_LIMIT;
}

/* Rip is at a place. Whether its record would be the next by all means, and is not: something
 * before was not met. What is missed of a run that goes an uncertain way says nothing. */
static bool is_astray(const struct value_run *run, const struct capture *c)
{
	const uint64_t ip = value_machine_state(run->machine)->rip;
	bool of_here = c && c->place != CAPTURE_NONE &&
		       value_run_place_ip(run, c, run->replay->places[c->place].addr) == ip;
	return c && !of_here && !run->supposition.holds && c->kind != CAPTURE_END &&
	       c->kind != CAPTURE_EXEC && c->kind != CAPTURE_LOST && value_run_tells(run, ip);
}

/* Losses of the processor are left out, others may not be. */
static int go_on_astray(struct value_run *run, const struct capture **next)
{
	const struct capture *c = *next;
	if (c->kind != CAPTURE_SWITCH)
		return value_run_fail_astray(
			run, "a place without its record: the next is of something at %#lx", c->ip);
	while ((*next = c = value_run_record(run)) && c->kind == CAPTURE_SWITCH)
		value_run_switch_missed(run);
	return VALUE_REPLAY_LIMIT;
}

/* Rip is at a place. Its record, if it has one, is taken and checked. */
static int meet_place(struct value_run *run, struct value_trace *trace)
{
	struct value_state *s = value_machine_state(run->machine);
	const struct capture *c = value_run_record(run);
	if (value_run_switched(run, trace))
		return run->ended;
	bool expected = run->expected == s->rip;
	if (expected)
		run->expected = 0;
	if (value_run_signalled(run, trace))
		return value_run_signal(run, c);
	if (value_run_ends(run, c)) {
		run->ended = VALUE_REPLAY_END;
		return VALUE_REPLAY_END;
	}
	int stop = expected ? check(run, kept_records_at(run->records, run->next - 1))
			    : VALUE_REPLAY_LIMIT;
	if (expected && stop == VALUE_REPLAY_LIMIT)
		value_run_agreed(run, kept_records_at(run->records, run->next - 1));
	if (!expected && is_astray(run, c))
		stop = go_on_astray(run, &c);
	if (stop != VALUE_REPLAY_LIMIT || !c || c->place == CAPTURE_NONE ||
	    value_run_place_ip(run, c, run->replay->places[c->place].addr) != s->rip)
		return stop;
	const struct capture_place *p = &run->replay->places[c->place];
	bool always = c->kind == CAPTURE_RESULT || p->flags & PLACE_FULL;
	if (c->kind == CAPTURE_ENTER && !always && value_run_agrees(run, c)) {
		run->next++;
		value_run_registers(run, c);
		value_run_agreed(run, c);
		value_run_tell(run, VALUE_CROSSING_ENTER, c, NULL);
		return value_run_ranges(run, c) ? VALUE_REPLAY_NO_MEMORY : VALUE_REPLAY_LIMIT;
	}
	/* Behind an unpredictable instruction, to where another way leads as well. */
	if (!expected && c->kind == CAPTURE_INSN) {
		run->next++;
		return check(run, c);
	}
	if (expected || !always || c->sp != s->gpr[VALUE_RSP])
		return VALUE_REPLAY_LIMIT;
	stop = check(run, c);
	if (stop != VALUE_REPLAY_LIMIT)
		return stop;
	run->next++;
	value_run_registers(run, c);
	value_run_agreed(run, c);
	return value_run_ranges(run, c) ? VALUE_REPLAY_NO_MEMORY : VALUE_REPLAY_LIMIT;
}

static int at_place(struct value_run *run, struct value_trace *trace)
{
	int stop = meet_place(run, trace);
	if (stop == VALUE_REPLAY_LIMIT)
		value_run_switched_behind(run);
	return stop == VALUE_REPLAY_LIMIT ? run->ended : stop;
}

/* Of what the instruction writes that is known which the record tells. */
static void take_told(struct value_machine *m, const struct value_insn *insn,
		      const struct capture *c)
{
	const uint64_t flags = (uint64_t)1 << VALUE_BIT_FLAGS;
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		bool told = a->kind == VALUE_ACCESS_GPR && c->known >> a->reg & 1;
		if (a->write && a->kind == VALUE_ACCESS_GPR)
			value_set_gpr(m, a->reg, told ? c->regs[a->reg] : 0,
				      told ? VALUE_EXACT : VALUE_UNKNOWN);
		if (a->write && a->kind == VALUE_ACCESS_FLAGS) {
			told = c->known & CAPTURE_FLAGS_KNOWN;
			if (told)
				value_set_rflags(value_machine_state(m), c->flags);
			value_forget(m, flags, told ? VALUE_EXACT : VALUE_UNKNOWN);
		}
	}
}

static void tell_step(struct value_run *run, enum value_step step, const struct value_trace *trace)
{
	if (run->step)
		run->step(run->step_ctx, run->machine, step, trace);
}

/* Over an instruction that was told. */
static int skip(struct value_run *run, struct value_trace *trace)
{
	int err = value_machine_skip(run->machine, trace);
	if (!err)
		tell_step(run, VALUE_STEP_TOLD, trace);
	return err;
}

static int at_chance(struct value_run *run, struct value_trace *trace)
{
	struct value_machine *m = run->machine;
	const struct capture *c = value_run_record(run);
	uint64_t ip = value_machine_state(m)->rip;
	const struct value_insn *insn = value_machine_insn(m, ip);
	if (insn && value_run_vectors(run, insn)) {
		int err = skip(run, trace);
		return !err		? VALUE_REPLAY_LIMIT
		       : err == -EAGAIN ? VALUE_REPLAY_TRACE_FULL
					: VALUE_REPLAY_NO_MEMORY;
	}
	/* It may have lost the processor behind the instruction, before that was recorded. */
	const struct capture *lost = c && c->kind == CAPTURE_SWITCH ? c : NULL;
	if (lost)
		c = value_run_next_but_switches(run);
	const struct capture_place *p =
		c && c->place != CAPTURE_NONE ? &run->replay->places[c->place] : NULL;
	bool of_insn = p && p->kinds & 1 << CAPTURE_INSN &&
		       (c->kind == CAPTURE_INSN || c->kind == CAPTURE_ENTER);
	if (!insn || !of_insn || value_run_place_ip(run, c, p->site) != ip ||
	    (lost && lost->ip - value_run_place_ip(run, c, p->addr) > 1 /* the trap's byte */))
		return value_run_fail_astray(run, "an unpredictable instruction without a record");
	take_told(m, insn, c);
	int err = skip(run, trace);
	if (err)
		return err == -EAGAIN ? VALUE_REPLAY_TRACE_FULL : VALUE_REPLAY_NO_MEMORY;
	if (lost) /* both are met there */
		return VALUE_REPLAY_LIMIT;
	run->next++;
	run->expected = value_run_place_ip(run, c, p->addr);
	return VALUE_REPLAY_LIMIT;
}

/* A return to an address that nobody of ours has pushed goes to whoever called from outside. Any
 * other branch on an unknown value is a gap. */
static int return_outside(struct value_run *run, struct value_trace *trace)
{
	struct value_machine *m = run->machine;
	struct value_state *s = value_machine_state(m);
	const struct value_insn *insn = value_machine_insn(m, s->rip);
	uint8_t quality = VALUE_EXACT;
	uint64_t to;
	if (!insn || insn->kind != VALUE_INSN_RET ||
	    value_quality(m, (uint64_t)1 << VALUE_RSP) != VALUE_EXACT ||
	    value_memory_read(&run->memory, s->gpr[VALUE_RSP], &to, 8, &quality) ||
	    quality == VALUE_EXACT)
		return value_run_fail(
			run, "a branch on a value that is not known; the last call out: %s",
			run->import ? run->import : "none");
	int err = skip(run, trace);
	if (err)
		return err == -EAGAIN ? VALUE_REPLAY_TRACE_FULL : VALUE_REPLAY_NO_MEMORY;
	value_set_gpr(m, VALUE_RSP, s->gpr[VALUE_RSP] + 8, VALUE_EXACT);
	value_run_returned(run);
	return VALUE_REPLAY_LIMIT;
}

static int one_stop(struct value_run *run, uint64_t until, struct value_trace *trace)
{
	struct value_machine *m = run->machine;
	if (value_run_expect(run))
		return VALUE_REPLAY_NO_MEMORY;
	tell_step(run, VALUE_STEP_BEGINS, trace);
	enum value_stop stop = value_machine_run(m, until, trace);
	tell_step(run, VALUE_STEP_RAN, trace);
	value_run_note_supposed(run);
	if (run->turned && run->supposition.holds)
		return value_run_fail(run, "a branch, or a store's address, that is assumed");
	const char *import = run->import ? run->import : "none";
	switch (stop) {
	case VALUE_STOP_LIMIT:
		return VALUE_REPLAY_LIMIT;
	case VALUE_STOP_OUTSIDE:
		return value_run_leave(run);
	case VALUE_STOP_PLACE:
		return at_place(run, trace);
	case VALUE_STOP_SYSCALL:
		return value_run_syscall(run);
	case VALUE_STOP_CHANCE:
		return at_chance(run, trace);
	case VALUE_STOP_TRACE_FULL:
		return VALUE_REPLAY_TRACE_FULL;
	case VALUE_STOP_NO_MEMORY:
		return VALUE_REPLAY_NO_MEMORY;
	case VALUE_STOP_TRAP:
	case VALUE_STOP_FAULT: {
		if (run->turned)
			return value_run_turned_crash(
				run, stop == VALUE_STOP_FAULT ? SIGSEGV : SIGILL, "it crashes");
		const struct capture *c = value_run_record(run);
		if (c && c->kind == CAPTURE_END) {
			run->ended = VALUE_REPLAY_END;
			return VALUE_REPLAY_END;
		}
		return value_run_fail_astray(
			run, "the program would have faulted here; the last call out: %s", import);
	}
	case VALUE_STOP_UNKNOWN_BRANCH:
		return return_outside(run, trace);
	case VALUE_STOP_UNKNOWN_STORE:
		return value_run_fail(
			run, "a store to an address that is not known; the last call out: %s",
			import);
	}
	return value_run_fail(run, "the evaluator stopped");
}

/* Whether a signal has found the task before the instruction that it is at, perhaps behind losses
 * of the processor there. */
static bool is_interrupted(const struct value_run *run)
{
	uint64_t i = run->next, ip = value_machine_state(run->machine)->rip;
	const struct capture *c = value_run_record(run);
	while (c && c->kind == CAPTURE_SWITCH && c->ip == ip)
		c = value_run_record_at(run, ++i);
	return c && c->kind == CAPTURE_SIGNAL && c->ip == ip && value_run_agrees(run, c);
}

/* As many instructions are executed as were asked for. The next one may be a handler's: then a
 * record is taken on the way there. */
static int go_to_next(struct value_run *run, struct value_trace *trace)
{
	int stop = is_interrupted(run) ? at_place(run, trace) : VALUE_REPLAY_LIMIT;
	run->memory.on_supposition = run->supposition.holds;
	return stop;
}

/* A loop that waits for what others write may have no end here. */
enum { STEP = 1 << 22, SUPPOSED_MAX = 1 << 23 };

static int check_supposed(struct value_run *run)
{
	const struct supposition *s = &run->supposition;
	if (!s->holds || value_run_count(run) - s->since < SUPPOSED_MAX)
		return VALUE_REPLAY_LIMIT;
	return value_run_fail(run,
			      "no record agrees with where a branch on something assumed has led, "
			      "at instruction %lu",
			      s->since);
}

/* Behind the last record nothing tells how far the task came before the recording ended: where
 * nothing else ends it, as in a loop that makes no record, that is for so many instructions. */
#define OPEN_MAX ((uint64_t)1 << 30)

static bool is_open_for_long(const struct value_run *run)
{
	return run->next >= run->records->n &&
	       value_run_count(run) - run->supposition.agreed >= OPEN_MAX;
}

enum value_replay_stop value_run_forward(struct value_run *run, uint64_t until,
					 struct value_trace *trace)
{
	run->memory.on_supposition = false;
	while (!run->ended) {
		if (run->memory.exhausted || value_run_neighbours(run) != VALUE_REPLAY_LIMIT)
			return VALUE_REPLAY_NO_MEMORY;
		if (is_open_for_long(run))
			run->ended = VALUE_REPLAY_END;
		if (run->ended)
			break;
		if (run->stop_behind && run->next >= run->stop_behind)
			return VALUE_REPLAY_LIMIT;
		uint64_t count = value_run_count(run);
		uint64_t told = value_run_note_stray(run);
		value_run_note_reached(run);
		if (value_run_is_far(run) && !value_run_keep(run))
			return VALUE_REPLAY_NO_MEMORY;
		bool inside =
			value_machine_is_code(run->machine, value_machine_state(run->machine)->rip);
		if (count >= until && !run->outside && !run->in_library && inside) {
			uint64_t next = run->next;
			int stop = go_to_next(run, trace);
			if (stop != VALUE_REPLAY_LIMIT || run->next == next)
				return stop;
			run->memory.on_supposition = false;
			continue;
		}
		uint64_t to = until < run->snapshot_next ? until : run->snapshot_next;
		to = to < told ? to : told;
		to = to < count + STEP ? to : count + STEP;
		/* Wherever one came from, it ends at the same instruction. */
		if (run->next >= run->records->n && to > run->supposition.agreed + OPEN_MAX)
			to = run->supposition.agreed + OPEN_MAX;
		if (check_supposed(run) != VALUE_REPLAY_LIMIT)
			return VALUE_REPLAY_GAP;
		int stop = run->outside		       ? value_run_outside(run)
			   : run->in_library	       ? value_run_library(run)
			   : count >= until && !inside ? value_run_leave(run)
						       : one_stop(run, to, trace);
		if (run->memory.exhausted)
			return VALUE_REPLAY_NO_MEMORY;
		if (stop != VALUE_REPLAY_LIMIT)
			return stop;
	}
	return run->ended;
}
