/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clock_record.h: what a process has noted of a call, as a record of the system call that the
 * function does without. */
#ifndef USER_CLOCK_RECORD_H
#define USER_CLOCK_RECORD_H

#include "offline/capture/captures.h"
#include "offline/capture/clock_area.h"

/* A system call that the copy of the image has made: it has a record, and is noted as well. */
struct clock_asked {
	bool waits; /* for being noted */
	uint32_t nr;
	uint64_t args[2];
};

/* Entry number @index, from 0: its function and arguments, result, stack pointer, and in @ranges,
 * which @out borrows as well as @entry, what was written. False: it is none of which a record is to
 * be made; *@broken: something else has written there, or it is not of the call that waits in
 * @asked, which is over. */
bool clock_record(const struct clock_entry *entry, uint64_t index, struct clock_asked *asked,
		  struct capture *out, struct capture_range ranges[2], bool *broken);

#endif
