/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* redaction.h: which descriptors and files must not be in a recording (record --redact), and what
 * is taken away from records so that they are not. */
#ifndef USER_REDACTION_H
#define USER_REDACTION_H

#include "offline/capture/capture_ring.h"
#include "offline/capture/captures.h"

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
/* Of a system call whose descriptor may be shown only if @shown: whether the file that it has
 * mapped may be looked at. */
bool redaction_shows_mapped(const struct redaction *redaction, bool shown);
/* Takes away from the record @c, whose ranges are @ranges, what must not be kept and what may have
 * been made of it. Where nothing is hidden, it stays as it is.
 *   - a system call: the bytes of a descriptor that is not @shown, those from where none leads, and
 *     what lies beside what the kernel has written; of rt_sigreturn() what registers it gives back;
 *   - control that comes in from outside, a call out that is over, the end: registers and memory;
 *   - a signal, a switch: registers but rip and rsp. */
void redaction_apply(const struct redaction *redaction, bool shown, struct capture_range *ranges,
		     struct capture *c);

#endif
