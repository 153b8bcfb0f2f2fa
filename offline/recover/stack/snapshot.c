// SPDX-License-Identifier: LGPL-2.1-or-later
/* snapshot.c: reads stack snapshots. A snapshot holds the words from the event's frame upwards:
 * return addresses of calls in progress, and whatever earlier calls have left there. What tells
 * them apart is that calls in progress form a chain: each call's frame has a known height, and
 * ends at the return address of its caller, up to a frame that is open. */
#include "offline/recover/stack/snapshot.h"

#include <string.h>

bool stack_word(const struct pugmark_witness_event *e, uint64_t addr, uint64_t *word)
{
	uint64_t i = (addr - e->stack_addr) / 8;
	if (!e->stack || addr < e->stack_addr || i >= e->stack_words ||
	    e->stack[i] == PUGMARK_EVENT_STACK_UNKNOWN)
		return false;
	*word = e->stack[i];
	return true;
}

bool stack_word_below(const struct pugmark_witness_event *e, uint64_t addr)
{
	return e->stack && addr >= e->stack_addr && (addr - e->stack_addr) / 8 < e->stack_words;
}

/* struct rt_sigframe of the kernel's arch/x86: the return address (to the trampoline), then a
 * struct ucontext: flags, link, stack (24 bytes), 18 registers, cs and ss. */
bool stack_signal(const struct pugmark_witness_event *e, uint64_t *sp, uint64_t *ip, uint64_t *bp)
{
	uint64_t at = e->cfa - 8, flags, link, eflags, segments, found[3];
	if (!stack_word(e, at + 8, &flags) || !stack_word(e, at + 16, &link) ||
	    !stack_word(e, at + 128, &found[0]) || !stack_word(e, at + 168, &found[1]) ||
	    !stack_word(e, at + 176, &found[2]) || !stack_word(e, at + 184, &eflags) ||
	    !stack_word(e, at + 192, &segments))
		return false;
	uint16_t cs = segments, ss = segments >> 48;
	if (flags >> 3 || link || cs != 0x33 || ss != 0x2b || !(eflags & 2) || eflags >> 22)
		return false;
	*bp = found[0];
	*sp = found[1];
	*ip = found[2];
	return true;
}

bool stack_handler_runs(const struct pugmark_witness_event *e, uint64_t sp, uint64_t ip)
{
	for (uint32_t i = 0; e->stack && i + 25 <= e->stack_words; i++) {
		const uint64_t *frame = e->stack + i; /* its return address */
		if (frame[21] != sp || e->stack_addr + 8 * i + 8 < e->cfa)
			continue;
		/* What only looks like it has lost its ip, where call frame information leads on.
		 */
		uint16_t cs = frame[24], ss = frame[24] >> 48;
		if (frame[2] == PUGMARK_EVENT_STACK_HANDLER ||
		    (!frame[2] && frame[22] == ip && cs == 0x33 && ss == 0x2b))
			return true;
	}
	return false;
}
