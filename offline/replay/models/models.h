/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* models.h: functions of libc and libm that are recomputed, since they only move, compare or look
 * at memory or compute from their arguments. What is looked at is handed to this machine's function
 * of the same name, at the same place in a page: so a result that the standard leaves open, such as
 * memcmp()'s size, is that of the recording where its libc and processor are this machine's. What a
 * function of libm rounds as it likes is assumed. */
#ifndef OFFLINE_REPLAY_MODELS_MODELS_H
#define OFFLINE_REPLAY_MODELS_MODELS_H

#include "offline/eval/machine.h"

/* Does what the function @name does, called with the machine's registers as the ABI says: memory,
 * rax or xmm0 with their qualities; what a call may change otherwise is unknown then. The return
 * address stays where it is. Returns 0; -ENOSYS: there is no model of it, or too little is known to
 * say (an argument, the bytes of a string): nothing was changed; or -errno of the memory. */
int import_model(const char *name, struct value_machine *m);
/* The name of that model if what it does follows from the C standard and from what all of glibc's
 * variants do (the difference that a comparison returns), not from the rounding of one libm; else
 * NULL. */
const char *import_model_by_standard(const char *name);
/* What a call may change by the ABI becomes unknown: rax, rcx, rdx, rsi, rdi, r8 to r11, flags, the
 * vector registers. */
void import_clobber(struct value_machine *m);

#endif
