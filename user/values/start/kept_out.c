// SPDX-License-Identifier: LGPL-2.1-or-later
/* kept_out.c: see kept_out.h. */
#include "user/values/start/kept_out.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The kernel's own names, such as [heap], are in brackets, which a glob has another meaning for. */
static bool is_named(const char *pattern, const char *path)
{
	return pattern && (!strcmp(pattern, path) || !fnmatch(pattern, path, 0));
}

bool kept_out_has(struct kept_out *out, const char *path)
{
	static const char removed[] = " (deleted)";
	size_t len = path ? strlen(path) : 0, tail = sizeof(removed) - 1;
	char had[PATH_MAX];

	if (len > tail && len - tail < sizeof(had) && !strcmp(path + len - tail, removed)) {
		memcpy(had, path, len - tail);
		had[len - tail] = 0;
		if (kept_out_has(out, had))
			return true;
	}
	if (path && is_named(out->no_memory, path)) {
		out->matched = true;
		return true;
	}
	return path && redaction_hides_path(out->redaction, path);
}

bool kept_out_leads_to(struct kept_out *out, int fd)
{
	char link[32], path[4096];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	return n <= 0 || kept_out_has(out, path);
}
