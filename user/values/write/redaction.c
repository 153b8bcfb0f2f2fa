// SPDX-License-Identifier: LGPL-2.1-or-later
/* redaction.c: see redaction.h. */
#include "user/values/write/redaction.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_number(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

/* The names of the ring go up from the file: /folder/file of "file\0folder\0". False: too long. */
static bool path_of(const struct capture_bytes *name, char *out, size_t room)
{
	mode_t mode = name->addr >> 32;
	const char *names = (const char *)name->data;
	size_t at = 0, len = name->len;

	if (S_ISSOCK(mode) || (S_ISFIFO(mode) && len <= 1))
		return (size_t)snprintf(out, room, "%s:%.*s", S_ISSOCK(mode) ? "socket" : "pipe",
					(int)len, names) < room;
	if (len + 1 > room || (len && names[len - 1]))
		return false;
	for (size_t end = len; end > 0;) {
		size_t from = end - 1;

		while (from > 0 && names[from - 1])
			from--;
		out[at++] = '/';
		memcpy(out + at, names + from, end - 1 - from);
		at += end - 1 - from;
		end = from;
	}
	out[at] = 0;
	return true;
}

bool redaction_hides_path(const struct redaction *redaction, const char *path)
{
	for (uint32_t i = 0; path && i < redaction->n; i++)
		if (!is_number(redaction->words[i]) && !fnmatch(redaction->words[i], path, 0))
			return true;
	return false;
}

bool redaction_hides(const struct redaction *redaction, const struct capture_bytes *name)
{
	char path[CAPTURE_CHUNK_BYTES + 16];

	if (!name || name->unread || !path_of(name, path, sizeof(path)))
		return true;
	for (uint32_t i = 0; i < redaction->n; i++)
		if (is_number(redaction->words[i]) &&
		    strtoul(redaction->words[i], NULL, 10) == (uint32_t)name->addr)
			return true;
	return redaction_hides_path(redaction, path);
}
