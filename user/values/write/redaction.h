/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* redaction.h: which descriptors and files must not be in a recording (record --redact). */
#ifndef USER_REDACTION_H
#define USER_REDACTION_H

#include "offline/capture/capture_ring.h"

#include <stdbool.h>
#include <stdint.h>

/* Borrowed. @words: a number is a descriptor, all else a glob of paths, of "socket:PROTOCOL" or of
 * "pipe:". */
struct redaction {
	const char *const *words;
	uint32_t n;
};

/* Whether the content of the descriptor that the ring tells of must not be kept, as must none of
 * what is not known (NULL, or @name->unread). */
bool redaction_hides(const struct redaction *redaction, const struct capture_bytes *name);
/* The same of a file that is mapped by that name (NULL: none). */
bool redaction_hides_path(const struct redaction *redaction, const char *path);

#endif
