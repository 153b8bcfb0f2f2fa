/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_jumps.h: writes the jumps to the stubs into the code of a stopped process, and the bytes
 * that stood there before. Where its threads stand is call_threads.h's to see to. */
#ifndef USER_CALL_JUMPS_H
#define USER_CALL_JUMPS_H

#include "user/patch/process/tracee.h"
#include "user/values/calls/call_layout.h"

#include <stdbool.h>

/* Whether all sites still have the bytes that were found there. */
bool call_jumps_may_be_written(const struct call_patches *p, const struct tracee *t);
/* Whether site number @i has a jump to its stub. */
bool call_jumps_lead(const struct call_patches *p, const struct tracee *t, uint32_t i);
/* Writes the jumps of all sites. 0 or -errno: then some may be written, and one in part. */
int call_jumps_write(const struct call_patches *p, const struct tracee *t);
/* After call_jumps_write() has failed: gives all sites their bytes back. 0 or -errno, the last one
 * of those that were met. */
int call_jumps_undo(const struct call_patches *p, const struct tracee *t);
/* Gives those sites their bytes back that have a jump to their stub: the library of a site may be
 * gone by then, and something else in its place. 0 or -errno. */
int call_jumps_remove(const struct call_patches *p, const struct tracee *t);

#endif
