// SPDX-License-Identifier: LGPL-2.1-or-later
/* memory_file.c: see memory_file.h. */
#include "offline/capture/memory_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

/* Whether the last part of the path is "mem"; @len with its zero byte. Older recordings tell no
 * more. */
static bool is_named_memory(const char *path, size_t len)
{
	static const char name[] = "mem";

	return len >= sizeof(name) && !memcmp(path + len - sizeof(name), name, sizeof(name)) &&
	       (len == sizeof(name) || path[len - sizeof(name) - 1] == '/');
}

bool memory_file_opened(const struct capture *c)
{
	bool at = c->nr == SYS_openat;

	if (c->kind != CAPTURE_KERNEL || c->result < 0 ||
	    (c->nr != SYS_open && c->nr != SYS_creat && !at && c->nr != SYS_openat2))
		return false;
	if (c->map_file == CAPTURE_UNKNOWN)
		return true;
	if ((c->nr == SYS_open || at) && (c->args[at ? 2 : 1] & O_ACCMODE) == O_RDONLY)
		return false;
	const struct capture_range *path = c->ranges;
	return c->n_ranges && !path->unread &&
	       is_named_memory((const char *)path->bytes, path->len);
}

bool memory_file_written(const struct capture *c)
{
	static const uint16_t calls[] = {SYS_write,   SYS_pwrite64,	  SYS_writev,
					 SYS_pwritev, SYS_pwritev2,	  SYS_sendfile,
					 SYS_splice,  SYS_copy_file_range};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (c->kind == CAPTURE_KERNEL && c->result > 0 && calls[i] == c->nr)
			return true;
	return false;
}
