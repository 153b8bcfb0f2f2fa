// SPDX-License-Identifier: LGPL-2.1-or-later
/* agrees.c: whether a record may be of the moment that the run is at.
 *
 * That is more than a comparison where the task lost the processor, or a signal came, in the midst
 * of a repeated string instruction: some of its turns were done by then, and the others, or the
 * handler, see what they have written. The registers there say how many: rcx is less by that
 * number, rsi and rdi have gone that far. */
#include "offline/replay/meet/agrees.h"

#include "offline/replay/run/run.h"

#include <sys/syscall.h>

enum { DIRECTION = 1 << 10 }; /* of the flags */

/* Whether a record may be of this moment: every register that is exact is as it says. */
bool value_run_agrees(const struct value_run *run, const struct capture *c)
{
	const struct value_state *s = value_machine_state(run->machine);
	for (unsigned i = 0; i < 16; i++)
		if (c->known >> i & 1 && !value_quality(run->machine, (uint64_t)1 << i) &&
		    s->gpr[i] != c->regs[i])
			return false;
	return c->sp == s->gpr[VALUE_RSP];
}

bool value_run_same_call(const struct value_run *run, const struct capture *c)
{
	static const uint8_t regs[] = {VALUE_RDI, VALUE_RSI, VALUE_RDX, 10, 8, 9};
	const struct value_state *s = value_machine_state(run->machine);
	if (c->kind != CAPTURE_KERNEL || c->nr == SYS_rt_sigreturn)
		return true;
	bool same = c->ip == s->rip && c->sp == s->gpr[VALUE_RSP];
	if (c->nr != SYS_restart_syscall && !value_quality(run->machine, 1 << VALUE_RAX))
		same &= s->gpr[VALUE_RAX] == c->nr;
	for (unsigned i = 0; i < sizeof(regs); i++)
		if (!value_quality(run->machine, (uint64_t)1 << regs[i]))
			same &= s->gpr[regs[i]] == c->args[i];
	return same;
}

/* The registers that such an instruction changes with each turn. */
static uint32_t moved(const struct value_insn *insn)
{
	uint32_t regs = 0;
	if (!insn || insn->kind != VALUE_INSN_STRING)
		return 0;
	for (int i = 0; i < insn->n_access; i++)
		if (insn->access[i].write && insn->access[i].kind == VALUE_ACCESS_GPR)
			regs |= 1u << insn->access[i].reg;
	return regs >> VALUE_RCX & 1 ? regs : 0; /* without it there is one turn */
}

/* Where a task was found may be between two turns. */
static bool is_found(const struct capture *c)
{
	return c->kind == CAPTURE_SWITCH || c->kind == CAPTURE_SIGNAL;
}

uint32_t value_run_told_there(struct value_run *run, const struct capture *c)
{
	return !is_found(c) ? c->known : c->known & ~moved(value_machine_insn(run->machine, c->ip));
}

/* How far a register goes in one turn. */
static uint64_t step_of(const struct value_insn *insn, const struct capture *c, unsigned reg)
{
	uint64_t size = insn->mem[0].len;
	return reg == VALUE_RCX || c->flags & DIRECTION ? -(reg == VALUE_RCX ? (uint64_t)1 : size)
							: size;
}

enum turns { TURNS_NONE, TURNS_DONE, TURNS_UNKNOWN, TURNS_IMPOSSIBLE };

/* How many turns were done at @c of the instruction that the run is before. */
static enum turns find_turns(const struct value_run *run, const struct value_insn *insn,
			     const struct capture *c, uint64_t *turns)
{
	static const uint8_t regs[] = {VALUE_RCX, VALUE_RSI, VALUE_RDI};
	const uint64_t *now = value_machine_state(run->machine)->gpr;
	const uint32_t of = moved(insn) & c->known;
	bool found = false;
	if (!moved(insn) || !is_found(c))
		return TURNS_NONE;
	if (!(c->known & CAPTURE_FLAGS_KNOWN))
		return TURNS_UNKNOWN;
	for (unsigned i = 0; i < sizeof(regs); i++) {
		unsigned r = regs[i];
		if (!(of >> r & 1) || value_quality(run->machine, (uint64_t)1 << r))
			continue;
		uint64_t step = step_of(insn, c, r), gone = c->regs[r] - now[r];
		bool back = step >> 63;
		uint64_t n = (back ? -gone : gone) / (back ? -step : step);
		if (n * step != gone || (r == VALUE_RCX && n > now[r]) || (found && n != *turns))
			return TURNS_IMPOSSIBLE;
		*turns = n;
		found = true;
	}
	return !found ? TURNS_UNKNOWN : *turns ? TURNS_DONE : TURNS_NONE;
}

/* Whether what the record tells of one part of the memory around may lie there: that is told of
 * what is exact. Code may have had probes. */
static bool part_agrees(struct value_run *run, const struct capture *c, uint32_t i)
{
	uint64_t words[SURROUNDINGS_WORDS], at = surroundings_at((const __u64 *)c->regs, i);
	uint8_t quality = VALUE_UNKNOWN;
	if (!c->surroundings[i] ||
	    value_memory_read(&run->memory, at, words, sizeof(words), &quality) || quality ||
	    surroundings_sum((const __u64 *)words) == c->surroundings[i])
		return true;
	const struct value_region *first = value_memory_region(&run->memory, at);
	const struct value_region *last = value_memory_region(&run->memory, at + sizeof(words) - 1);
	return !first || !last || (first->prot | last->prot) & VALUE_EXEC;
}

/* The same of all parts, of which the one that told the last time is looked at first: a loop may
 * come by a million times. In the midst of a string instruction some of it is written already. */
static bool surroundings_agree(struct value_run *run, const struct capture *c)
{
	if (!c->n_surroundings || moved(value_machine_insn(run->machine, c->ip)))
		return true;
	for (uint32_t k = 0; k < c->n_surroundings; k++) {
		uint32_t i = (run->told_apart + k) % c->n_surroundings;
		if (!part_agrees(run, c, i)) {
			run->told_apart = i;
			return false;
		}
	}
	return true;
}

bool value_run_agrees_there(struct value_run *run, const struct capture *c)
{
	struct capture here = *c;
	uint64_t turns;
	here.known = value_run_told_there(run, c);
	return value_run_agrees(run, &here) && surroundings_agree(run, c) &&
	       (value_machine_state(run->machine)->rip != c->ip ||
		find_turns(run, value_machine_insn(run->machine, c->ip), c, &turns) !=
			TURNS_IMPOSSIBLE);
}

bool value_run_is_amid(struct value_run *run, const struct capture *c)
{
	uint64_t turns, ip = value_machine_state(run->machine)->rip;
	return ip == c->ip &&
	       find_turns(run, value_machine_insn(run->machine, ip), c, &turns) != TURNS_NONE;
}

/* With all that it moves as it was when it began, and so many turns to do. */
static bool do_turns(struct value_run *run, const struct value_insn *insn, const struct capture *c,
		     uint64_t turns, struct value_trace *trace)
{
	struct value_machine *m = run->machine;
	struct value_state *s = value_machine_state(m);
	const uint64_t ip = s->rip, end = ip + insn->len;
	const uint32_t of = moved(insn) & (1u << VALUE_RSI | 1u << VALUE_RDI);
	if (!insn->computed)
		return false;
	for (unsigned r = 0; r < 16; r++)
		if (of >> r & 1)
			value_set_gpr(m, r, c->regs[r] - turns * step_of(insn, c, r), VALUE_EXACT);
	value_set_gpr(m, VALUE_RCX, turns, VALUE_EXACT);
	s->df = (c->flags & DIRECTION) != 0;
	value_forget(m, (uint64_t)1 << VALUE_BIT_DF, VALUE_EXACT);
	value_machine_met(m);
	enum value_stop stop = value_machine_run(m, value_machine_count(m) + 1, trace);
	bool done = stop == VALUE_STOP_LIMIT && s->rip == end && !s->gpr[VALUE_RCX];
	s->rip = ip;
	value_machine_met(m);
	return done;
}

void value_run_do_turns(struct value_run *run, const struct capture *c, struct value_trace *trace)
{
	const struct value_insn *insn =
		value_machine_insn(run->machine, value_machine_state(run->machine)->rip);
	uint64_t turns;
	enum turns found = find_turns(run, insn, c, &turns);
	if (found == TURNS_NONE)
		return;
	if (found != TURNS_DONE || !do_turns(run, insn, c, turns, trace))
		value_memory_assume_all(&run->memory);
}
