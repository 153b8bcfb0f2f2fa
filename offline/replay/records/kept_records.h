/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* kept_records.h: all records of a task, by number. Most of a record is zeros: of its words of
 * eight bytes a mask says which are not, and only these are kept. */
#ifndef OFFLINE_REPLAY_RECORDS_KEPT_RECORDS_H
#define OFFLINE_REPLAY_RECORDS_KEPT_RECORDS_H

#include "offline/capture/captures.h"

enum { KEPT_AT_HAND = 16, KEPT_EVERY = 8 };

struct kept_records {
	uint64_t n;
	uint64_t *words; /* of each record its mask, then its words */
	uint64_t n_words, room_words;
	uint64_t *begins; /* of every KEPT_EVERY-th record: its mask's index in @words */
	uint64_t room_begins;
	struct capture at_hand[KEPT_AT_HAND]; /* record i is in i % KEPT_AT_HAND, */
	uint64_t number[KEPT_AT_HAND];	      /* where this is i + 1 */
};

/* Keeps a copy of @c; what its pointers lead to is the caller's. False: out of memory. */
bool kept_records_add(struct kept_records *k, const struct capture *c);
/* Record @i < n; borrowed until KEPT_AT_HAND - 1 others were asked for. */
const struct capture *kept_records_at(struct kept_records *k, uint64_t i);
/* Frees the ranges of all records as well. */
void kept_records_deinit(struct kept_records *k);

#endif
