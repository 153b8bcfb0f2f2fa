// SPDX-License-Identifier: LGPL-2.1-or-later
/* held_words.c: what the memory of a stack held when code that is not traced called back last: by
 * that a stack is known again whose memory has held other frames meanwhile. */
#include "offline/recover/stack/snapshot.h"

#include <stdlib.h>
#include <string.h>

#define SAME_MIN 4 /* words that have to be told, and the same, for a stack to be known again */

void held_words_note(struct parser *p, const struct pugmark_witness_event *e, uint64_t cfa)
{
	if (!cfa || !stack_reaches(e, cfa))
		return;
	if (!p->seen)
		p->seen = malloc(sizeof(*p->seen) + HELD_WORDS_MAX * sizeof(*p->seen->at));
	if (!p->seen) {
		p->notes->failed = true;
		return;
	}
	uint32_t first = (cfa - e->stack_addr) / 8, left = e->stack_words - first;
	p->seen->addr = cfa;
	p->seen->context = p->context;
	p->seen->n = left < HELD_WORDS_MAX ? left : HELD_WORDS_MAX;
	memcpy(p->seen->at, e->stack + first, p->seen->n * sizeof(*p->seen->at));
}

enum holds held_words_in(const struct held_words *held, const struct pugmark_witness_event *e,
			 uint64_t cfa, uint64_t end)
{
	uint32_t same = 0;
	for (uint32_t i = 0; i < held->n; i++) {
		uint64_t word, addr = held->addr + 8ull * i, was = held->at[i];
		if (addr < cfa || addr >= end || was == PUGMARK_EVENT_STACK_UNKNOWN ||
		    !stack_word(e, addr, &word))
			continue;
		/* The recorder takes out what only looks like a return address. */
		if (!word || !was)
			continue;
		if (word != was)
			return HOLDS_NOT;
		same++;
	}
	return same >= SAME_MIN ? HOLDS : MAY_HOLD;
}
