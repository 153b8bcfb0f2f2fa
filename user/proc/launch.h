/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* launch.h: starts a command in two steps: the process is there, then it becomes the program. */
#ifndef USER_LAUNCH_H
#define USER_LAUNCH_H

#include <pugmark/diag.h>

#include <sys/types.h>

struct launch {
	pid_t pid;
	int go_fd;    /* closing it without a word ends the child */
	int error_fd; /* tells errno where exec failed */
};

/* The file that running @name would execute, through PATH. The caller frees it; NULL: none, @diag
 * filled. */
char *launch_resolve(const char *name, struct pugmark_diag *diag);
/* Forks a child that waits. */
int launch_prepare(struct launch *launch, const char *path, char *const *argv,
		   struct pugmark_diag *diag);
/* Lets it exec; returns once it has, or -errno where it could not. */
int launch_go(struct launch *launch, const char *path, struct pugmark_diag *diag);
/* Gives up a child that still waits; nothing where there is none. */
void launch_cancel(struct launch *launch);

#endif
