// SPDX-License-Identifier: LGPL-2.1-or-later
/* missed.c: system calls that the task has made and the run has not, as it has gone another way in
 * a library: something assumed was not so. A lock, for one, that another thread has begun to wait
 * for, so that who unlocks it asks the kernel to wake that thread. Where the run is at what a
 * record further on tells, those before it are passed over. */
#include "offline/replay/meet/missed.h"

#include "offline/replay/libraries/libraries.h"
#include "offline/replay/meet/agrees.h"
#include "offline/replay/meet/records.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/standing.h"
#include "offline/replay/threads/threads.h"

#include <sys/syscall.h>

enum { MOST_MISSED = 16 }; /* as many as are passed over at once */

bool value_run_at_call(const struct value_run *run, const struct capture *c)
{
	return c->kind == CAPTURE_KERNEL && c->nr != SYS_rt_sigreturn &&
	       value_run_same_call(run, c);
}

bool value_run_at_clock(const struct value_run *run, const struct capture *c)
{
	const char *by;
	return c->kind == CAPTURE_KERNEL && value_libraries_vdso(&run->libraries, c->ip, &by) &&
	       c->sp == value_machine_state(run->machine)->gpr[VALUE_RSP];
}

/* How many of the next records are of calls that were missed, and losses of the processor between
 * them; 0: none, or the run is at nothing that a record soon tells. */
static uint64_t missed(const struct value_run *run, value_run_at at)
{
	bool calls = false;
	for (uint64_t n = 0; n < MOST_MISSED && run->supposition.holds && !run->turned; n++) {
		const struct capture *c = value_run_record_at(run, run->next + n);
		if (c && at(run, c))
			return calls ? n : 0;
		if (!c || (c->kind != CAPTURE_SWITCH && c->kind != CAPTURE_KERNEL) ||
		    (c->kind == CAPTURE_KERNEL && c->nr == SYS_rt_sigreturn))
			return 0;
		calls |= c->kind == CAPTURE_KERNEL;
	}
	return 0;
}

int value_run_pass_missed(struct value_run *run, value_run_at at)
{
	uint64_t n = missed(run, at);
	if (n) /* what the other way has written is not known */
		value_memory_assume_all(&run->memory);
	for (; n; n--) {
		const struct capture *c = value_run_record(run);
		run->next++;
		if (c->kind == CAPTURE_SWITCH) /* others were executed since, nobody knows where */
			value_threads_part(run);
		else if (value_run_kernel(run, c))
			return VALUE_REPLAY_NO_MEMORY;
	}
	return VALUE_REPLAY_LIMIT;
}
