// SPDX-License-Identifier: LGPL-2.1-or-later
/* frames.c: see frames.h. */
#include "user/patch/process/frames.h"

#include "offline/base/sigframe.h"

enum {
	AT_ONCE = 1024, /* words */
	OVERLAP = SIGFRAME_SEGMENTS - SIGFRAME_IP,
	STACK_MOST = 8 << 20,
	STACK_UNKNOWN = 64 << 10, /* the stack pointer leads to nothing that is mapped */
};

static uint64_t end_of(const struct tracee_map *maps, int n_maps, uint64_t sp)
{
	for (int i = 0; i < n_maps; i++)
		if (sp >= maps[i].start && sp < maps[i].end)
			return maps[i].end - sp < STACK_MOST ? maps[i].end : sp + STACK_MOST;
	return sp + STACK_UNKNOWN;
}

void frames_each(const struct tracee *t, const struct tracee_map *maps, int n_maps, uint64_t sp,
		 void (*frame)(void *ctx, uint64_t ip), void *ctx)
{
	uint64_t words[AT_ONCE], end = end_of(maps, n_maps, sp);
	uint32_t n;

	for (uint64_t at = sp & ~7ull; at + 8 * OVERLAP < end; at += 8 * (uint64_t)(n - OVERLAP)) {
		n = (end - at) / 8 < AT_ONCE ? (end - at) / 8 : AT_ONCE;
		while (n > OVERLAP && tracee_read(t, at, words, n * sizeof(*words)))
			n /= 2;
		if (n <= OVERLAP)
			return;
		for (uint32_t i = 0; i + OVERLAP < n; i++)
			if (sigframe_is_user(words[i + OVERLAP]))
				frame(ctx, words[i]);
	}
}
