// SPDX-License-Identifier: LGPL-2.1-or-later
/* inherited_signals.c: see inherited_signals.h. What was inherited belongs to the process, so it is
 * kept in one place, written once. */
#include "user/proc/inherited_signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

static struct {
	bool taken;
	sigset_t mask;
	struct sigaction child;
} inherited;

void inherited_signals_take(void)
{
	struct sigaction usual = {.sa_handler = SIG_DFL};
	sigset_t mask;

	/* With SIGXFSZ ignored, a file that outgrows its limit makes the write fail, as a full disk
	 * does. */
	sigemptyset(&mask);
	sigaddset(&mask, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &mask, &inherited.mask);
	/* Where SIGCHLD is ignored, children vanish before anybody learns how they ended. */
	sigaction(SIGCHLD, &usual, &inherited.child);
	inherited.taken = true;
}

void inherited_signals_restore(void)
{
	if (!inherited.taken)
		return;
	sigaction(SIGCHLD, &inherited.child, NULL);
	sigprocmask(SIG_SETMASK, &inherited.mask, NULL);
}
