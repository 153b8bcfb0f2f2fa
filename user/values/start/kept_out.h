/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* kept_out.h: of what nothing may be kept: mappings by their names, and files that a redaction
 * hides. */
#ifndef USER_KEPT_OUT_H
#define USER_KEPT_OUT_H

#include "user/values/write/redaction.h"

#include <stdatomic.h>
#include <stdbool.h>

struct kept_out {
	const char *no_memory; /* a glob; or NULL */
	const struct redaction *redaction;
	atomic_bool matched; /* no_memory has, by now */
};

/* Whether nothing may be kept of what is mapped under the name @path; of a file that was removed,
 * the name that it had counts. May be called by several threads. */
bool kept_out_has(struct kept_out *out, const char *path);
/* The same of the open file @fd, by the name that the kernel has for it; true where it has none. */
bool kept_out_leads_to(struct kept_out *out, int fd);

#endif
