/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* settle.h: how far a thread came in silence, at a moment that no witness marks. */
#ifndef OFFLINE_RECOVER_SETTLE_H
#define OFFLINE_RECOVER_SETTLE_H

#include "offline/recover/grammar/grammar.h"

/* UNSETTLED: there is no telling, and nothing has changed. SETTLED_AHEAD: the topmost frame has
 * been reported, but its call is still to be made. */
enum settled { UNSETTLED, SETTLED, SETTLED_AHEAD };

/* Where the stack pointer was @sp, the instruction pointer @ip and rbp @bp, as the stack of @event
 * shows: reports the silent calls up to there, and opens those in progress. */
enum settled parser_settle(struct parser *parser, const struct pugmark_witness_event *event,
			   uint64_t sp, uint64_t ip, uint64_t bp);

#endif
