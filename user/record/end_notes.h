/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* end_notes.h: what a recording lacks that no gap of a thread tells of, said once it has ended. */
#ifndef USER_END_NOTES_H
#define USER_END_NOTES_H

#include "user/record/probed/callers.h"
#include "user/record/write/voice.h"

struct carrier;

/* After probes_stop(). @callers and @carrier may be NULL. */
void end_notes(const struct voice *voice, const struct probes *probes, struct callers *callers,
	       const struct carrier *carrier);

#endif
