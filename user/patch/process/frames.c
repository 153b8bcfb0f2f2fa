// SPDX-License-Identifier: LGPL-2.1-or-later
/* frames.c: see frames.h. */
#include "user/patch/process/frames.h"

#include "offline/base/sigframe.h"

enum {
	AT_ONCE = 1024,				    /* words */
	SEGMENTS = SIGFRAME_SEGMENTS - SIGFRAME_SP, /* words from a frame's stack pointer to them */
	IP = SIGFRAME_IP - SIGFRAME_SP,
	STACK_MOST = 8 << 20,
	STACK_UNKNOWN = 64 << 10, /* the stack pointer leads to nothing that is mapped */
	STACKS_MOST = 8,
};

struct search {
	const struct tracee *t;
	const struct tracee_map *maps;
	int n_maps;
	void (*frame)(void *ctx, uint64_t ip);
	void *ctx;
	/* Stacks that are looked through, or are to be. */
	struct {
		uint64_t sp, end;
	} stacks[STACKS_MOST];
	uint32_t n;
};

static uint64_t end_of(const struct tracee_map *maps, int n_maps, uint64_t sp)
{
	for (int i = 0; i < n_maps; i++)
		if (sp >= maps[i].start && sp < maps[i].end)
			return maps[i].end - sp < STACK_MOST ? maps[i].end : sp + STACK_MOST;
	return sp + STACK_UNKNOWN;
}

/* The stack from @sp on, unless it is part of one that is known. */
static void add_stack(struct search *s, uint64_t sp)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (sp >= s->stacks[i].sp && sp < s->stacks[i].end)
			return;
	if (s->n == STACKS_MOST)
		return;
	s->stacks[s->n].sp = sp;
	s->stacks[s->n++].end = end_of(s->maps, s->n_maps, sp);
}

static void look_through(struct search *s, uint64_t sp, uint64_t end)
{
	uint64_t words[AT_ONCE];
	uint32_t n;

	for (uint64_t at = sp & ~7ull; at + 8 * SEGMENTS < end;
	     at += 8 * (uint64_t)(n - SEGMENTS)) {
		n = (end - at) / 8 < AT_ONCE ? (end - at) / 8 : AT_ONCE;
		while (n > SEGMENTS && tracee_read(s->t, at, words, n * sizeof(*words)))
			n /= 2;
		if (n <= SEGMENTS)
			return;
		for (uint32_t i = 0; i + SEGMENTS < n; i++)
			if (sigframe_is_user(words[i + SEGMENTS])) {
				s->frame(s->ctx, words[i + IP]);
				add_stack(s, words[i]);
			}
	}
}

void frames_each(const struct tracee *t, const struct tracee_map *maps, int n_maps, uint64_t sp,
		 void (*frame)(void *ctx, uint64_t ip), void *ctx)
{
	struct search s = {.t = t, .maps = maps, .n_maps = n_maps, .frame = frame, .ctx = ctx};

	add_stack(&s, sp);
	for (uint32_t i = 0; i < s.n; i++)
		look_through(&s, s.stacks[i].sp, s.stacks[i].end);
}
