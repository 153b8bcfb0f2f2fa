/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* where.h: where a thread of a patched process would be if nothing were patched. */
#ifndef USER_PATCH_WHERE_H
#define USER_PATCH_WHERE_H

#include "user/patch/area.h"

/* A thread that something has interrupted, and what is known of its stack. */
struct patch_thread {
	uint64_t ip, sp;
	const uint64_t *words; /* from `addr` upwards; or NULL */
	uint64_t addr;
	uint32_t n_words;
};

/* Whether @ip is in a trampoline of @area. */
bool patch_is_code(const struct area *area, uint64_t ip);
/* Changes @thread's ip and sp from where it is, in a trampoline or between a witness's instruction
 * and the one that carries it, to a place of the program that is before the witness as long as its
 * event is not written, and behind it from then on. Returns whether it did. */
bool patch_where(const struct area *area, const struct patch_module *modules,
		 struct patch_thread *thread);

#endif
