// SPDX-License-Identifier: LGPL-2.1-or-later
/* library.c: a call out of the traced modules is executed as well, where the recording has the
 * library's code: its results and all that it writes are computed from the same memory that the
 * program had, and no table has to say them. What a probe has captured behind the call is compared.
 *
 *   traced ──call out──> library ──system call──> KERNEL record ──> library
 *      ^                   │  │ ──__vdso_...──> KERNEL record, or it is not known ──> library
 *      └───return, callback┘  └── what cannot be executed ──> outside.c
 *
 * Instructions of libraries are not counted and are in no trace. */
#include "offline/replay/lead/library.h"

#include "offline/replay/lead/blind.h"
#include "offline/replay/lead/calls.h"
#include "offline/replay/lead/clock.h"
#include "offline/replay/lead/outside.h"
#include "offline/replay/lead/turned.h"
#include "offline/replay/lead/variants.h"
#include "offline/replay/lead/vectors.h"
#include "offline/replay/libraries/libraries.h"
#include "offline/replay/libraries/library_writes.h"
#include "offline/replay/libraries/residue.h"
#include "offline/replay/meet/agrees.h"
#include "offline/replay/meet/missed.h"
#include "offline/replay/meet/records.h"
#include "offline/replay/meet/switches.h"
#include "offline/replay/meet/torn.h"
#include "offline/replay/run/gap.h"
#include "offline/replay/run/places.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/standing.h"
#include "offline/replay/run/suppose.h"
#include "offline/replay/threads/neighbours.h"

#include <errno.h>
#include <signal.h>

/* Of one stay in a library: a loop that does not end comes of a value that is wrong. */
#define LIBRARY_INSNS 4000000000
/* Of one call, up to which a jump on something that is not known is followed. */
#define SUPPOSED_INSNS 1000000
/* Of one that goes another way than was recorded. */
#define TURNED_INSNS 200000000
/* Where others write meanwhile, a loop may wait for them that has no end here. */
enum { STEP = 1 << 23 };

/* Whether the record is of the call that is over: it is made at a place further on, and tells what
 * is used before that. */
static bool is_result(const struct value_run *run, const struct capture *c)
{
	const struct value_state *s = value_machine_state(run->machine);
	return c->kind == CAPTURE_RESULT && c->sp == s->gpr[VALUE_RSP] &&
	       value_run_place_ip(run, c, run->replay->places[c->place].site_next) == s->rip &&
	       value_run_agrees(run, c);
}

static const struct capture *result_of(struct value_run *run)
{
	const struct capture *c = value_run_record(run);
	return c && is_result(run, c) ? c : NULL;
}

/* The record of an entry at this very place. */
static const struct capture *entry_of(struct value_run *run)
{
	const struct value_state *s = value_machine_state(run->machine);
	const struct capture *c = value_run_record(run);
	return c && c->kind == CAPTURE_ENTER && c->ip == s->rip && c->sp == s->gpr[VALUE_RSP] &&
			       value_run_agrees(run, c)
		       ? c
		       : NULL;
}

/* Control is in traced code: back from a call, called back, or thrown further out. */
static int come_back(struct value_run *run)
{
	const struct value_state *s = value_machine_state(run->machine);
	const struct open_call *call = NULL;
	if (value_run_pass_missed(run, is_result))
		return VALUE_REPLAY_NO_MEMORY;
	while (run->n_calls && run->calls[run->n_calls - 1].sp < s->gpr[VALUE_RSP])
		call = &run->calls[--run->n_calls];
	run->in_library = false;
	const struct capture *c = call ? result_of(run) : entry_of(run);
	if (c) {
		run->next++;
		run->expected = value_run_place_ip(run, c, run->replay->places[c->place].addr);
		value_run_registers(run, c);
		if (!call)
			value_run_agreed(run, c);
		if (value_run_ranges(run, c))
			return VALUE_REPLAY_NO_MEMORY;
	}
	if (call) /* without the record: what the call has written was seen as it did */
		value_run_tell(run, VALUE_CROSSING_RESULT, NULL, call->import);
	else
		value_run_tell(run, VALUE_CROSSING_ENTER, c, NULL);
	return VALUE_REPLAY_LIMIT;
}

static int arrive(struct value_run *run)
{
	uint64_t ip = value_machine_state(run->machine)->rip;
	const char *name;
	if (ip == VALUE_VARIANT_END && run->n_variants)
		return value_run_end_variant(run);
	if (value_machine_has_code(run->machine, ip, VALUE_SIDE_TRACED))
		return come_back(run);
	return value_libraries_vdso(&run->libraries, ip, &name)
		       ? value_run_tell_time(run, name)
		       : value_run_go_blind(run, "code of no file");
}

static int at_place(struct value_run *run)
{
	struct value_machine *m = run->machine;
	struct value_state *s = value_machine_state(m);
	const struct capture *c = value_run_record(run);
	if (value_run_ends(run, c)) {
		run->ended = VALUE_REPLAY_END;
		return VALUE_REPLAY_END;
	}
	bool switched = value_run_switched(run, value_writes_trace(run->writes));
	bool signalled = !switched && value_run_signalled(run, value_writes_trace(run->writes));
	value_writes_tell(run->writes, m);
	if (switched)
		return run->ended;
	if (signalled)
		return value_run_signal(run, c);
	const struct library_function *f = value_libraries_function(&run->libraries, s->rip);
	bool left = value_run_may_be_in(run, c);
	if (left && c->kind == CAPTURE_SWITCH && f && f->name) {
		enum value_torn torn = value_run_torn(run, f->name);
		if (torn == VALUE_TORN_HERE)
			return run->ended;
		left = torn == VALUE_TORN_UNSURE;
	}
	if (left)
		return VALUE_REPLAY_LIMIT;
	struct residue_call call;
	value_residue_begin(&call, m, s->rip);
	value_writes_model(run->writes, &run->memory, true);
	int err = f && f->name ? value_run_model(run, f->name) : -ENOSYS;
	value_writes_model(run->writes, &run->memory, false);
	if (!err) {
		value_residue_end(&run->residues, m, &call);
		if (value_libraries_stack(&run->libraries, m, f, false))
			value_run_dead_stack(run, s->gpr[VALUE_RSP]);
		return value_run_return_now(run);
	}
	if (err == -ENOMEM)
		return VALUE_REPLAY_NO_MEMORY;
	/* Not all is known of what the model looks at: the code may do with less. */
	return f && f->plain ? value_run_begin_variant(run, f) : VALUE_REPLAY_LIMIT;
}

static void put_told(struct value_machine *m, unsigned reg, uint32_t value, uint32_t varies)
{
	struct value_known *k = value_machine_known(m);
	value_set_gpr(m, reg, value, varies ? VALUE_UNKNOWN : VALUE_EXACT);
	for (unsigned b = 0; varies && b < sizeof(uint64_t); b++)
		k->gpr[reg][b] = (uint64_t)varies >> 8 * b & 0xff ? VALUE_UNKNOWN : VALUE_EXACT;
}

/* cpuid, and xgetbv of XCR0: what they tell does not change, and is recorded once. */
static bool tell_processor(struct value_run *run, const struct value_insn *insn)
{
	static const uint8_t regs[] = {VALUE_RAX, VALUE_RBX, VALUE_RCX, VALUE_RDX};
	struct value_machine *m = run->machine;
	const struct value_state *s = value_machine_state(m);
	const struct captures *captures = run->replay->captures;
	const uint32_t leaf = s->gpr[VALUE_RAX], subleaf = s->gpr[VALUE_RCX];
	const bool subleaf_known = !value_quality(m, 1 << VALUE_RCX);
	uint32_t out[4], varies[4];
	uint64_t xcr0;
	if (insn->mnemonic == ZYDIS_MNEMONIC_XGETBV && subleaf_known && !subleaf &&
	    captures_xcr0(captures, &xcr0)) {
		put_told(m, VALUE_RAX, (uint32_t)xcr0, 0);
		put_told(m, VALUE_RDX, xcr0 >> 32, 0);
		return true;
	}
	if (insn->mnemonic != ZYDIS_MNEMONIC_CPUID || value_quality(m, 1 << VALUE_RAX) ||
	    (!subleaf_known && captures_has_subleaves(leaf)) ||
	    !captures_cpuid(captures, leaf, subleaf, out, varies))
		return false;
	for (unsigned i = 0; i < 4; i++)
		put_told(m, regs[i], out[i], varies[i]);
	return true;
}

/* rdtsc and the like: no probe is in a library, so what they tell is not known. */
static int at_chance(struct value_run *run)
{
	struct value_machine *m = run->machine;
	const struct value_insn *insn = value_machine_insn(m, value_machine_state(m)->rip);
	if (!insn)
		return value_run_go_blind(run, "no instruction");
	uint64_t bits = 0;
	for (int i = 0; i < insn->n_access; i++) {
		const struct value_access *a = &insn->access[i];
		if (a->write && a->kind == VALUE_ACCESS_GPR)
			bits |= (uint64_t)1 << a->reg;
		if (a->write && a->kind == VALUE_ACCESS_FLAGS)
			bits |= (uint64_t)1 << VALUE_BIT_FLAGS;
	}
	if (!value_run_vectors(run, insn) && !tell_processor(run, insn))
		value_forget(m, bits, VALUE_UNKNOWN);
	return value_machine_skip(m, NULL) ? VALUE_REPLAY_NO_MEMORY : VALUE_REPLAY_LIMIT;
}

/* Of a byte with bits that nobody has set none is known, so neither is one of them that was set: a
 * jump on it goes by what is there, as by something assumed. Of a call that has gone on for long it
 * does not: a loop whose end is not known may have none here. Nor where records lack bytes, of
 * which nothing is there. */
static int suppose_flags(struct value_run *run)
{
	struct value_machine *m = run->machine;
	const struct value_insn *insn = value_machine_insn(m, value_machine_state(m)->rip);
	if (run->turned || run->left_out || !insn || insn->kind != VALUE_INSN_JCC ||
	    value_machine_count(m) >= SUPPOSED_INSNS)
		return value_run_go_blind(run, "a branch on a value that is not known");
	value_forget(m, (uint64_t)1 << VALUE_BIT_FLAGS, VALUE_ASSUMED);
	return VALUE_REPLAY_LIMIT;
}

static int one_stop(struct value_run *run)
{
	struct value_machine *m = run->machine;
	const struct capture *c = value_run_record(run);
	if (value_run_expect(run))
		return VALUE_REPLAY_NO_MEMORY;
	struct value_trace *trace = value_writes_trace(run->writes);
	enum value_stop stop = value_machine_run(m, value_machine_count(m) + STEP, trace);
	value_writes_tell(run->writes, m);
	value_run_note_supposed(run);
	if (run->turned && run->supposition.holds)
		return value_run_go_blind(run, "a branch, or a store's address, that is assumed");
	switch (stop) {
	case VALUE_STOP_LIMIT:
		return value_machine_count(m) < (run->turned ? TURNED_INSNS : LIBRARY_INSNS) &&
				       !run->supposition.holds
			       ? VALUE_REPLAY_LIMIT
			       : value_run_go_blind(run, "a loop without an end");
	case VALUE_STOP_TRACE_FULL:
		return VALUE_REPLAY_LIMIT;
	case VALUE_STOP_OUTSIDE:
		return arrive(run);
	case VALUE_STOP_PLACE:
		return at_place(run);
	case VALUE_STOP_SYSCALL:
		if (value_run_pass_missed(run, value_run_at_call))
			return VALUE_REPLAY_NO_MEMORY;
		c = value_run_record(run);
		if (c && c->kind != CAPTURE_KERNEL && c->kind != CAPTURE_END &&
		    c->kind != CAPTURE_EXEC && c->kind != CAPTURE_SWITCH) {
			/* It may be of what was executed before the library was. */
			if (c->kind == CAPTURE_SIGNAL &&
			    !value_libraries_has(&run->libraries, c->ip))
				value_run_strayed(run, false);
			return value_run_go_blind(run,
						  "a system call whose record is not the next");
		}
		if (c && c->kind != CAPTURE_SWITCH && run->supposition.holds &&
		    !value_run_same_call(run, c))
			return value_run_go_blind(run,
						  "a system call that is not the one recorded");
		return value_run_syscall(run);
	case VALUE_STOP_CHANCE:
		return at_chance(run);
	case VALUE_STOP_NO_MEMORY:
		return VALUE_REPLAY_NO_MEMORY;
	case VALUE_STOP_UNKNOWN_BRANCH:
		return suppose_flags(run);
	case VALUE_STOP_UNKNOWN_STORE:
		return value_run_go_blind(run, "a store to an address that is not known");
	case VALUE_STOP_FAULT:
		if (run->turned)
			return value_run_turned_crash(run, SIGSEGV, "it crashes in a library");
		return value_run_go_blind(run, "an access that would have faulted");
	case VALUE_STOP_TRAP:
		return value_run_go_blind(run, "bytes that are no instruction");
	default:
		return value_run_go_blind(run, "a loop without an end");
	}
}

int value_run_library(struct value_run *run)
{
	struct value_machine *m = run->machine;
	int stop = VALUE_REPLAY_LIMIT;
	run->count = value_machine_count(m);
	run->executing = true;
	value_machine_inexact(m, &run->assumed, &run->unknown);
	value_machine_set_count(m, 0);
	value_machine_side(m, VALUE_SIDE_LIBRARY);
	while (stop == VALUE_REPLAY_LIMIT && run->in_library &&
	       !(run->stop_behind && run->next >= run->stop_behind)) {
		stop = one_stop(run);
		stop = stop == VALUE_REPLAY_LIMIT ? value_run_neighbours(run) : stop;
		stop = stop == VALUE_REPLAY_LIMIT ? run->ended : stop; /* as these say */
	}
	value_machine_side(m, VALUE_SIDE_TRACED);
	run->in_libraries += value_machine_count(m);
	value_machine_set_count(m, run->count);
	run->executing = false;
	value_machine_set_inexact(m, run->assumed, run->unknown);
	return stop;
}
