/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_notes.h: what the kernel's program has noted (capture_ring.h), as records. Nothing is
 * kept from one note to the next, and nothing is hidden here (redaction.h). */
#ifndef USER_CAPTURE_NOTES_H
#define USER_CAPTURE_NOTES_H

#include "offline/capture/capture_ring.h"
#include "offline/capture/captures.h"
#include "offline/capture/channels.h"
#include "user/values/clock/clock_calls.h"
#include "user/values/write/opened_files.h"

#include <stdbool.h>
#include <stddef.h>

/* The note in the @len bytes of the ring, of which all that is looked at is there: @record, or, if
 * some is missing, @cut, with what is there and zeros. */
const struct capture_note *capture_note_whole(const void *record, size_t len,
					      struct capture_note *cut);
/* Whether the range or name is whole. */
bool capture_bytes_whole(const struct capture_bytes *r, size_t len);
/* What the note tells, but for ranges, the file that is mapped, and whether a hash is kept. Of @out
 * the registers and arguments are set that its kind has: to clear a whole struct capture would take
 * as long as the rest. @asked: a call of a clock waits for its result. */
void capture_note_decode(const struct capture_note *n, const struct clock_calls *calls, bool asked,
			 struct capture *out);
/* Notes of channels from the system call @c of the note: how many of @out there are. */
uint32_t capture_note_channels(const struct capture_note *n, const struct capture *c,
			       struct channel_note out[2]);
/* The file that the system call @c of the note has mapped, but for its name. False: it maps none.
 */
bool capture_note_mapped(const struct capture_note *n, const struct capture *c,
			 struct mapped_file *out);

#endif
