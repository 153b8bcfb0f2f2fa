/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* settle.h: how far a thread came in silence, at a moment that no witness marks. */
#ifndef OFFLINE_RECOVER_SETTLE_H
#define OFFLINE_RECOVER_SETTLE_H

#include "offline/recover/grammar/grammar.h"

/* UNSETTLED: there is no telling, and nothing has changed. SETTLED_AHEAD: the topmost frame has
 * been reported, but its call is still to be made. */
enum settled { UNSETTLED, SETTLED, SETTLED_AHEAD };

/* How the thread came there. */
struct settling;

/* Where the stack pointer was @sp, the instruction pointer @ip and rbp @bp, as the stack of @event
 * shows: how the thread came there. For other answers than UNSETTLED *@out is what settle_commit()
 * makes so; NULL: nothing is to be done. Nothing is reported. */
enum settled settle_ask(struct parser *parser, const struct pugmark_witness_event *event,
			uint64_t sp, uint64_t ip, uint64_t bp, struct settling **out);
/* Reports the silent calls up to there, opens those in progress, and frees @settling, which may be
 * NULL. */
void settle_commit(struct settling *settling);
void settle_free(struct settling *settling);

#endif
