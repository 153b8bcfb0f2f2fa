/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_frames.h: call frame information of the memory that a process makes its system calls by.
 * Whoever unwinds a thread that a signal has found there comes to the `syscall` instruction whose
 * place the stub has taken, with all registers that the frame there needs: so threads may be
 * cancelled, and handlers throw, as without stubs. */
#ifndef USER_CALL_FRAMES_H
#define USER_CALL_FRAMES_H

#include "user/patch/process/tracee.h"
#include "user/values/calls/call_layout.h"

#include <stdbool.h>

/* Finds the pointer by which the process' C library asks for frames. False: it has none, or has an
 * unwinder that does not ask by it. */
bool call_frames_find(struct call_patches *p, const struct tracee *t);
/* The index and what it leads to, at offset @at of @code. False: they take more bytes than that. */
enum { CALL_FRAMES_BYTES = 768 };
bool call_frames_put(uint8_t *code, uint32_t at);
/* That pointer leads to the frames, or as it did. All threads are stopped. 0 or -errno; -EBUSY:
 * another one stands between. */
int call_frames_lead(const struct call_patches *p, const struct tracee *t);
int call_frames_unlead(const struct call_patches *p, const struct tracee *t);

#endif
