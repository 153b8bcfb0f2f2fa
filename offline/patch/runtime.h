/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtime.h: the code that all trampolines of an area share: what gives a thread its ring and its
 * next chunk, and the one instruction that is probed for events that need the kernel's eyes; and
 * what unwinders ask.
 *
 * It is position-independent, and lies PATCH_CODE_START behind the header of layout.h. */
#ifndef OFFLINE_PATCH_RUNTIME_H
#define OFFLINE_PATCH_RUNTIME_H

#include <stdint.h>

extern const uint8_t pugmark_patch_runtime[];
extern const uint32_t pugmark_patch_runtime_bytes;
/* Offsets in it. `slow` is called below the red zone where a record found no room. It leaves every
 * register as it was, and says by flags what to do: CF: the event is lost (and counted); ZF: try
 * again; neither: it is the thread's first and is to run into `rare`. */
extern const uint32_t pugmark_patch_slow;
/* Called with PATCH_RARE_* and a site pushed; the instruction there is probed. */
extern const uint32_t pugmark_patch_rare;
/* What _dl_find_object() of glibc is to do: it finds the call frame information of this code, and
 * leaves other addresses to the header's `find_next`. */
extern const uint32_t pugmark_patch_find;

#endif
