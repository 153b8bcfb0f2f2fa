/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* settle.h: how far a thread came in silence, at a moment that no witness marks. */
#ifndef OFFLINE_RECOVER_SETTLE_H
#define OFFLINE_RECOVER_SETTLE_H

#include "offline/recover/grammar/grammar.h"

/* How the thread came there. */
struct settling;

/* Where the stack pointer was @sp, the instruction pointer @ip and rbp @bp, as the stack of @event
 * shows: how the thread came there, or UNSETTLED: there is no telling. In *@how what
 * settle_commit() makes so, until the next question; NULL: nothing is to be done. */
enum settled settle_ask(const struct parser *parser, const struct pugmark_witness_event *event,
			uint64_t sp, uint64_t ip, uint64_t bp, const struct settling **how);
/* Whether all that was open has ended by then; else a frame of ours still is. */
bool settle_all_ended(const struct settling *how);
/* Reports the silent calls up to there, and opens those in progress; where the answer was
 * UNSETTLED, no more than the innermost frame's place, if that was told, is known afterwards. @how
 * may be NULL. */
void settle_commit(struct parser *parser, const struct settling *how);

#endif
