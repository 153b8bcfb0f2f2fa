// SPDX-License-Identifier: LGPL-2.1-or-later
/* clock.c: the functions of the kernel's image that tell the time. They read memory that the kernel
 * writes whenever it likes, so they are not executed: records tell what they have said. */
#include "offline/replay/lead/clock.h"

#include "offline/replay/lead/blind.h"
#include "offline/replay/lead/calls.h"
#include "offline/replay/lead/outside.h"
#include "offline/replay/libraries/libraries.h"
#include "offline/replay/meet/missed.h"
#include "offline/replay/meet/records.h"
#include "offline/replay/models/models.h"
#include "offline/replay/run/gap.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/standing.h"

#include <string.h>

/* A function of the kernel's image, and the system call that it does without. */
struct clock_function {
	const char *name;
	uint32_t nr;
	uint8_t len[2]; /* of what is written at the first and the second argument */
	bool status;	/* the result is 0 */
};

static const struct clock_function *clock_function(const char *name)
{
	static const struct clock_function known[] = {
		{"__vdso_clock_gettime", 228, {0, 16}, true},
		{"__vdso_clock_getres", 229, {0, 16}, true},
		{"__vdso_gettimeofday", 96, {16, 8}, true},
		{"__vdso_getcpu", 309, {4, 4}, true},
		{"__vdso_time", 201, {8, 0}, false},
	};
	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i].name, name))
			return &known[i];
	return NULL;
}

/* Whether the record is of this function, and of these arguments, as far as they are exact. */
static bool is_told_as_asked(struct value_run *run, const struct clock_function *f,
			     const struct capture *c)
{
	static const uint8_t regs[] = {VALUE_RDI, VALUE_RSI};
	const struct value_state *s = value_machine_state(run->machine);
	bool same = f && c->nr == f->nr;
	for (unsigned i = 0; same && i < (f->len[1] ? 2 : 1); i++)
		same = value_quality(run->machine, (uint64_t)1 << regs[i]) ||
		       s->gpr[regs[i]] == c->args[i];
	return same;
}

/* A function of the kernel's image: it reads a clock. What the process has noted of that has a
 * record, as has what it asks the kernel for; so without one it has not failed. Where a signal came
 * meanwhile, the handler is done first, and then all of the function. */
enum { CLOCK_FRAME = 1024 /* bytes, of a function and what it calls */, CLOCK_OVER = 1 };

/* A signal that has found the task where the function had nothing left to do: it comes behind it.
 */
static int signal_behind(struct value_run *run)
{
	const struct capture *c;
	while ((c = value_run_record(run)) &&
	       (c->kind == CAPTURE_SIGNAL || c->kind == CAPTURE_SWITCH) &&
	       c->ip == run->libraries.vdso_range.start + CLOCK_OVER) {
		run->next++;
		if (c->kind == CAPTURE_SIGNAL)
			return value_run_signal(run, c);
	}
	return VALUE_REPLAY_LIMIT;
}

int value_run_tell_time(struct value_run *run, const char *name)
{
	struct value_machine *m = run->machine;
	const struct value_state *s = value_machine_state(m);
	if (value_run_pass_missed(run, value_run_at_clock))
		return VALUE_REPLAY_NO_MEMORY;
	const struct capture *c = value_run_record(run);
	const struct clock_function *f = clock_function(name);
	const char *by;
	if (c && c->kind == CAPTURE_LOST)
		return value_run_fail(run, "%lu records or more were lost", c->lost);
	if (c && c->kind == CAPTURE_SWITCH && value_libraries_vdso(&run->libraries, c->ip, &by)) {
		run->next++;
		return VALUE_REPLAY_LIMIT;
	}
	if (c && c->kind == CAPTURE_SIGNAL && value_libraries_vdso(&run->libraries, c->ip, &by)) {
		if (s->gpr[VALUE_RSP] - c->sp >= CLOCK_FRAME ||
		    c->ip == run->libraries.vdso_range.start + CLOCK_OVER)
			return value_run_fail(
				run, "a signal found the task in another call than %s", name);
		run->next++;
		return value_run_signal(run, c);
	}
	if (value_run_told_time(run)) {
		if (!is_told_as_asked(run, f, c))
			return value_run_fail(run, "%s is not what was recorded here, or not so",
					      name);
		run->next++;
		value_run_dead_stack(run, s->gpr[VALUE_RSP]);
		import_clobber(m);
		value_set_gpr(m, VALUE_RAX, c->result, VALUE_EXACT);
		if (value_run_kernel(run, c))
			return VALUE_REPLAY_NO_MEMORY;
		int stop = value_run_return_now(run);
		return stop == VALUE_REPLAY_LIMIT && run->in_library ? signal_behind(run) : stop;
	}
	if (!f)
		return value_run_go_blind(run,
					  "a function of the kernel's image that is not known");
	const uint64_t args[] = {s->gpr[VALUE_RDI], s->gpr[VALUE_RSI]};
	for (unsigned a = 0; a < 2; a++)
		if (f->len[a] && args[a])
			value_memory_set_quality(&run->memory, args[a], f->len[a], VALUE_UNKNOWN);
	import_clobber(m);
	if (f->status)
		value_set_gpr(m, VALUE_RAX, 0, VALUE_EXACT);
	return value_run_return_now(run);
}
