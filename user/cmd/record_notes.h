/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* record_notes.h: what `pugmark record` says of its plans before anything runs: what they leave
 * out, and what no probe can tell. */
#ifndef USER_CMD_RECORD_NOTES_H
#define USER_CMD_RECORD_NOTES_H

#include "user/record/ask/record_args.h"

enum { RECORD_NOTES = 5 };

/* Says what the plans leave out, and what else is to be known before the run. What the recording is
 * to say as well is put into @notes, the caller's to free, and so into @args. */
void record_notes_tell(struct record_args *args, const struct record_modules *modules,
		       char *notes[RECORD_NOTES]);
/* Says which patterns have no match yet: such a pattern may be wrong, or its module may be loaded
 * later, or never (@last). */
void record_notes_awaited(const struct record_modules_options *options,
			  const struct record_modules *modules, bool last);

#endif
