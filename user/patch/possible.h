/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* possible.h: whether a process may be patched, as far as can be seen before anything is done to
 * it: a system call that a filter forbids may end the process that is made to do it. */
#ifndef USER_PATCH_POSSIBLE_H
#define USER_PATCH_POSSIBLE_H

#include <stdint.h>
#include <sys/types.h>

/* One condition. @against: what stands against it, a sentence; NULL: nothing, and process @pid is
 * only looked at. */
struct patch_condition {
	const char *name;
	const char *(*against)(pid_t pid);
};
extern const struct patch_condition patch_conditions[];
extern const uint32_t n_patch_conditions;

/* What of a filter, a tracer or a shadow stack stands against it: a sentence; NULL: nothing. */
const char *patch_forbidden(pid_t pid);

#endif
