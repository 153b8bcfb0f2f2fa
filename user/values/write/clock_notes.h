/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clock_notes.h: what clocks have told a thread, read from the memory of its process
 * (offline/capture/clock_area.h). */
#ifndef USER_CLOCK_NOTES_H
#define USER_CLOCK_NOTES_H

#include "offline/capture/clock_area.h"

#include <stdint.h>
#include <sys/types.h>

struct clock_notes;

/* NULL: no memory. */
struct clock_notes *clock_notes_new(void);
void clock_notes_free(struct clock_notes *notes);
/* From here on they are those of the thread of process @pid with pointer @owner, whose slot is one
 * of those at address @slots. */
void clock_notes_of(struct clock_notes *notes, pid_t pid, uint64_t slots, uint64_t owner);
/* Entry number @index, which is borrowed until the next call; NULL: it cannot be read any more. */
const struct clock_entry *clock_notes_at(struct clock_notes *notes, uint64_t index);

#endif
