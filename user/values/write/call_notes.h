/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_notes.h: system calls that a process has noted itself (offline/capture/call_area.h), as
 * records. The process may write anything there: all of it is checked. */
#ifndef USER_CALL_NOTES_H
#define USER_CALL_NOTES_H

#include "offline/capture/captures.h"
#include "user/values/calls/call_patches.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct call_notes;

/* Maps the lanes of @patches, which is borrowed. NULL: that cannot be. */
struct call_notes *call_notes_open(const struct call_patches *patches);
void call_notes_close(struct call_notes *notes);
/* What is noted from here on in the lane is of this task. */
void call_notes_bind(struct call_notes *notes, uint32_t lane, uint32_t task, pid_t pid);
/* False: the lane is nobody's. */
bool call_notes_task(const struct call_notes *notes, uint32_t lane, uint32_t *task, pid_t *pid);
/* The lane, which was nobody's, is the thread's that has this pointer. */
void call_notes_claim(struct call_notes *notes, uint32_t lane, uint64_t owner);

/* Has no stub find the lane any more: what its thread calls from then on is seen by probes. Notes
 * from number @sure on are lost: others may have written them, or their call is told already. */
void call_notes_close_lane(struct call_notes *notes, uint32_t lane, uint64_t sure);
/* Whether there are such notes from number @from on, before number @until. */
bool call_notes_doubts(const struct call_notes *notes, uint32_t lane, uint64_t from,
		       uint64_t until);
/* How many lanes are closed. */
uint32_t call_notes_closed(const struct call_notes *notes);

enum call_notes_next { CALL_NOTES_NONE, CALL_NOTES_RECORD, CALL_NOTES_LOST };
/* How many calls have found no room in the lane since this was last asked, as its process says. */
uint64_t call_notes_lost(struct call_notes *notes, uint32_t lane);
/* The next note before number @until of those that are whole, as @out, of which what a
 * CAPTURE_KERNEL has is set; its range is borrowed until call_notes_look(); *@clocks: how much
 * clocks had told its thread by then, 0: nothing. With @told, one that is not whole is not waited
 * for, as its thread does something else: it is lost, or, where it is the last one and @told is 2,
 * told elsewhere. What is lost at one place is one answer, with how many in @out->lost. */
enum call_notes_next call_notes_next(struct call_notes *notes, uint32_t lane, uint64_t until,
				     int told, struct capture *out, struct capture_range *range,
				     uint64_t *clocks);
/* Notes how far all lanes are; what was taken before is given back, and the time is told. */
void call_notes_look(struct call_notes *notes, uint64_t now_ns);
/* Whether more of a lane, or of its bytes, than one in @share waits or was taken since the last
 * look. Any thread may ask. */
bool call_notes_much(const struct call_notes *notes, uint32_t share);
/* Whether more than that has come to one since this was asked last, by the thread that takes it. */
bool call_notes_came(struct call_notes *notes, uint32_t share);
/* How far the lane was then. */
uint64_t call_notes_seen(const struct call_notes *notes, uint32_t lane);
/* The pointer of the thread whose lane it is. */
uint64_t call_notes_owner(const struct call_notes *notes, uint32_t lane);
/* Where in the order the call began that its thread is in; 0: that is not known. */
uint64_t call_notes_entered(const struct call_notes *notes, uint32_t lane);
/* Nothing that comes later is taken, but what something else tells of. */
void call_notes_stop(struct call_notes *notes);

#endif
