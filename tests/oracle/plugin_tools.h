/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plugin_tools.h: what a plugin does not go on without: memory, and its file written. */
#ifndef ORACLE_PLUGIN_TOOLS_H
#define ORACLE_PLUGIN_TOOLS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void __attribute__((noreturn)) die(const char *what)
{
	dprintf(2, "blocktrace: %s: %s\n", what, strerror(errno));
	_exit(125);
}

static inline void *grow(void *old, size_t bytes)
{
	void *p = realloc(old, bytes);

	if (!p)
		die("memory");
	return p;
}

static inline void write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("write");
		p += n;
		len -= n;
	}
}

#endif
