/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mappings.h: notices when a process maps a file whose code it may run, as dlopen() does. The
 * kernel tells it through perf events that count nothing: it costs nothing else. */
#ifndef USER_MAPPINGS_H
#define USER_MAPPINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mappings;

struct mapping {
	pid_t pid;	     /* in our pid namespace */
	uint64_t addr, len;  /* in bytes: [addr, addr + len) */
	uint64_t ino;	     /* of the file */
	char file[PATH_MAX]; /* as the process sees it; empty: some mappings were missed */
};

/* Begins to listen, to all processes. Returns 0 or -errno (-EACCES: CAP_PERFMON is needed). */
int mappings_open(struct mappings **out);
void mappings_free(struct mappings *m);
/* Becomes readable when there is something. */
int mappings_fd(const struct mappings *m);
/* The next one, in *@out; false: there is none for now. */
bool mappings_next(struct mappings *m, struct mapping *out);

#endif
