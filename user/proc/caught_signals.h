/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* caught_signals.h: the signals that end a recording, or tell that its command has ended, as a file
 * to wait for. SIGPIPE is held back: if whoever read our output is gone, the recording goes on. */
#ifndef USER_CAUGHT_SIGNALS_H
#define USER_CAUGHT_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct caught_signals {
	int fd; /* readable when there are some; -1: none are caught */
	sigset_t old_mask;
	bool io; /* SIGIO has come: somebody waits for a lease (user/file/file_guard.h) */
};

/* Returns 0 or -errno. From here on the signals wait until they are released, also after an
 * error. */
int caught_signals_init(struct caught_signals *signals);
/* Takes those that have come. Returns whether one of them asks for the end. */
bool caught_signals_read(struct caught_signals *signals);
/* Those that ask for the end stay blocked: it has come. */
void caught_signals_deinit(struct caught_signals *signals);

#endif
