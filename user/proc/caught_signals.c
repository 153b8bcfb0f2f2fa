// SPDX-License-Identifier: LGPL-2.1-or-later
/* caught_signals.c: see caught_signals.h. */
#include "user/proc/caught_signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

int caught_signals_init(struct caught_signals *s)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGCHLD, SIGIO};
	struct sigaction hangup;
	sigset_t mask;

	sigemptyset(&mask);
	for (unsigned i = 0; i < sizeof(caught) / sizeof(*caught); i++)
		sigaddset(&mask, caught[i]);
	/* A process that ignores SIGHUP wants to outlive its terminal: nohup(1). */
	if (sigaction(SIGHUP, NULL, &hangup) || hangup.sa_handler != SIG_IGN)
		sigaddset(&mask, SIGHUP);
	s->fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	int err = s->fd < 0 ? -errno : 0;
	sigaddset(&mask, SIGPIPE);
	sigprocmask(SIG_BLOCK, &mask, &s->old_mask);
	return err;
}

bool caught_signals_read(struct caught_signals *s)
{
	struct signalfd_siginfo info;
	bool asked = false;

	while (read(s->fd, &info, sizeof(info)) == sizeof(info)) {
		s->io |= info.ssi_signo == SIGIO;
		asked |= info.ssi_signo != SIGCHLD && info.ssi_signo != SIGIO;
	}
	return asked;
}

void caught_signals_deinit(struct caught_signals *s)
{
	static const int released[] = {SIGCHLD, SIGPIPE};
	sigset_t pipe, mask;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigtimedwait(&pipe, NULL, &(struct timespec){0}); /* what came meanwhile is past */
	if (s->fd >= 0)
		close(s->fd);
	sigemptyset(&mask);
	for (unsigned i = 0; i < sizeof(released) / sizeof(*released); i++)
		if (!sigismember(&s->old_mask, released[i]))
			sigaddset(&mask, released[i]);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
}
