/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* targets.h: the files that a recording is about: programs and libraries, each held open, so that
 * what is planned, what is probed and what runs is the same file, whatever becomes of its name. */
#ifndef USER_TARGETS_H
#define USER_TARGETS_H

#include "user/file/file_guard.h"

#include <pugmark/diag.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct target {
	char *path; /* /proc/self/fd/N; stays where it is when others are added */
	char *name; /* where it is, or was */
	int fd;
	dev_t dev;
	ino_t ino;
	struct file_guard guard; /* where targets.guarded */
};

struct targets {
	struct target *at; /* heap; each file once */
	uint32_t n;
	uint32_t max; /* how many there may be; 0: any */
	bool cut;     /* running_add_modules(): there were more */
	bool guarded; /* each file is guarded from when it is added, before anybody reads it */
};

/* All of these return 0, or -errno with @diag filled. */

/* Adds the file at @path, which is called @name (NULL: @path), unless it is there. *@index: where
 * it is in the list; may be NULL. */
int targets_add(struct targets *targets, const char *path, const char *name, uint32_t *index,
		struct pugmark_diag *diag);
/* Adds the program that process @pid runs. */
int targets_add_process(struct targets *targets, pid_t pid, uint32_t *index,
			struct pugmark_diag *diag);
/* Adds the libraries that @pattern names, of the program @program of the list and of the running
 * processes @pids. A pattern without a slash is compared with file names: of the files that the
 * processes have mapped, or that the program needs; if none of these matches, of the files in the
 * folders that the dynamic linker searches. *@later: nothing matches yet. A pattern with a slash is
 * a path; -ENOENT: there is no such file. */
int targets_add_modules(struct targets *targets, const char *pattern, uint32_t program,
			const pid_t *pids, uint32_t n_pids, bool *later, struct pugmark_diag *diag);
/* Adds the files that process @pid has mapped and @pattern names; adds their number to *@found. */
int targets_add_mapped(struct targets *targets, const char *pattern, pid_t pid, uint32_t *found,
		       struct pugmark_diag *diag);
/* Whether @pattern names the file that is mapped by the path @name. */
bool targets_is_named(const char *name, const char *pattern);
/* The name of a guarded file that was written to, or that somebody waits to write to; NULL: of
 * none. Borrowed. @at_end: for the last time. */
const char *targets_changed(struct targets *targets, bool at_end);
/* Lets those who wait go on. */
void targets_release(struct targets *targets);
/* Leaves only the first @n. */
void targets_drop(struct targets *targets, uint32_t n);
/* Has @diag name the file as its users know it. */
void targets_name(const struct targets *targets, struct pugmark_diag *diag);
void targets_deinit(struct targets *targets);

#endif
