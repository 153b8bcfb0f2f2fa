/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* launch.h: starts a command in two steps: the process is there, then it becomes the program. */
#ifndef USER_LAUNCH_H
#define USER_LAUNCH_H

#include <pugmark/diag.h>

#include <stdbool.h>
#include <sys/types.h>

struct launch {
	pid_t pid;
	int go_fd;    /* closing it without a word ends the child */
	int error_fd; /* tells errno where exec failed */
};

/* The file that running @name would execute, through PATH. The caller frees it; NULL: none, or out
 * of memory; @diag says which. */
char *launch_resolve(const char *name, struct pugmark_diag *diag);
enum { LAUNCH_GROUPS_MAX = 256 };

/* Whom a command runs as. */
struct launch_user {
	uid_t uid;
	gid_t gid;
	gid_t groups[LAUNCH_GROUPS_MAX];
	int n_groups;
	char name[256], home[4096]; /* empty: there is no such account */
};

/* @name: of an account, or a number. Returns 0 or -errno with @diag filled. */
int launch_user_find(const char *name, struct launch_user *out, struct pugmark_diag *diag);
/* Forks a child that waits; it has no ambient capability. @user: whom it runs as; NULL: as this
 * process. */
int launch_prepare(struct launch *launch, const char *path, char *const *argv,
		   const struct launch_user *user, struct pugmark_diag *diag);
/* Lets it exec; returns once it has, or -errno where it could not. This thread may have seized it:
 * what stops it before its exec is let pass. */
int launch_go(struct launch *launch, const char *path, struct pugmark_diag *diag);
/* Kills the command that was let go, but nothing that it has started, and waits for its end. False:
 * it had ended. */
bool launch_end(struct launch *launch);
/* Gives up a child that still waits; nothing where there is none. */
void launch_cancel(struct launch *launch);

#endif
