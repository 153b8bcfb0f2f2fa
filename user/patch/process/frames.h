/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* frames.h: where signals have interrupted a stopped thread, by the frames that the kernel made for
 * their handlers (offline/base/sigframe.h): from the stack pointer up to the end of that stack, or
 * 8 MiB of it; and of each stack that a frame there leads back to, as the frame of a handler on a
 * stack of its own (sigaltstack()) does. */
#ifndef USER_PATCH_PROCESS_FRAMES_H
#define USER_PATCH_PROCESS_FRAMES_H

#include "user/patch/process/tracee.h"

/* Calls @frame for each instruction pointer that such a frame may lead back to. @maps: what the
 * stopped process has mapped. */
void frames_each(const struct tracee *t, const struct tracee_map *maps, int n_maps, uint64_t sp,
		 void (*frame)(void *ctx, uint64_t ip), void *ctx);

#endif
