/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* scope.h: parts of a system that recording can be limited to: a cgroup, a pid namespace. */
#ifndef USER_SCOPE_H
#define USER_SCOPE_H

#include <pugmark/diag.h>

#include <stdint.h>

/* Opens the cgroup at @path: absolute, or below where cgroups (version 2) are mounted. Returns 0
 * and in *@fd a descriptor that the caller closes, or -errno with @diag filled. */
int scope_cgroup_open(const char *path, int *fd, struct pugmark_diag *diag);
/* The number of the pid namespace that process @text is in, or that the path @text leads to.
 * Returns 0, or -errno with @diag filled. */
int scope_pid_namespace(const char *text, uint32_t *number, struct pugmark_diag *diag);

#endif
