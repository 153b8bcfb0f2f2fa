/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* probe_limits.h: what the kernel takes, asked or said before any probe is placed. */
#ifndef USER_PROBE_LIMITS_H
#define USER_PROBE_LIMITS_H

#include "user/kernel/record_options.h"

#include <stdbool.h>

/* Whether /sys/kernel/btf/vmlinux is there, can be read, and is BTF. */
bool probe_limits_have_btf(void);
/* Whether this kernel attaches many probes by one link (6.6): 1, 0, or -EPERM: this user may not
 * find out. With PUGMARK_PERF_EVENTS in the environment it is 0, so that tests can try the other
 * way. */
int probe_limits_have_multi(void);
/* Whether we may place a probe by a perf event: 0, -EACCES (it takes CAP_SYS_ADMIN here) or -ENOENT
 * (this kernel has none). */
int probe_limits_try_perf(void);
/* How many probes can be placed with @files file descriptors, without uprobe_multi. */
uint64_t probe_limits_perf_probes(uint64_t files);
/* Whether there are not too many modules and sites. Returns 0 or -errno with @diag filled. */
int probe_limits_check(const struct recorder_options *options, struct pugmark_diag *diag);
/* Without uprobe_multi each site costs two file descriptors: raises the limit as far as it goes.
 * Returns 0, or with @diag filled -E2BIG or what probe_limits_try_perf() says. */
int probe_limits_without_multi(uint32_t n_sites, struct pugmark_diag *diag);

#endif
