// SPDX-License-Identifier: LGPL-2.1-or-later
/* snapshot.c: the frame that the kernel makes for a signal's handler, in a stack snapshot: whether
 * one lies right outside of the event's frame, and whether a handler that is known still runs. */
#include "offline/recover/stack/snapshot.h"

#include "offline/base/sigframe.h"

bool stack_signal(const struct pugmark_witness_event *e, uint64_t *sp, uint64_t *ip, uint64_t *bp)
{
	uint64_t frame[SIGFRAME_WORDS] = {0};
	static const uint8_t needed[] = {SIGFRAME_FLAGS,   SIGFRAME_LINK, SIGFRAME_BP,
					 SIGFRAME_SP,	   SIGFRAME_IP,	  SIGFRAME_EFLAGS,
					 SIGFRAME_SEGMENTS};
	for (uint32_t i = 0; i < sizeof(needed); i++)
		if (!stack_word(e, pugmark_event_cfa(e) - 8 + 8 * needed[i], &frame[needed[i]]))
			return false;
	uint64_t eflags = frame[SIGFRAME_EFLAGS];
	if (frame[SIGFRAME_FLAGS] >> 3 || frame[SIGFRAME_LINK] ||
	    !sigframe_is_user(frame[SIGFRAME_SEGMENTS]) || !(eflags & 2) || eflags >> 22)
		return false;
	*bp = frame[SIGFRAME_BP];
	*sp = frame[SIGFRAME_SP];
	*ip = frame[SIGFRAME_IP];
	return true;
}

bool stack_handler_runs(const struct pugmark_witness_event *e, uint64_t sp, uint64_t ip)
{
	for (uint32_t i = 0; e->stack && i + SIGFRAME_WORDS <= e->stack_words; i++) {
		const uint64_t *frame = e->stack + i;
		if (frame[SIGFRAME_SP] != sp || e->stack_addr + 8 * i + 8 < pugmark_event_cfa(e))
			continue;
		/* What only looks like it has lost its ip, where call frame information leads on.
		 */
		if (frame[SIGFRAME_LINK] == PUGMARK_EVENT_STACK_HANDLER ||
		    (!frame[SIGFRAME_LINK] && frame[SIGFRAME_IP] == ip &&
		     sigframe_is_user(frame[SIGFRAME_SEGMENTS])))
			return true;
	}
	return false;
}
