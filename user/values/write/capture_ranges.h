/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_ranges.h: the ranges of memory of one task that have come from the ring before the record
 * that they belong to. The caller owns the struct, which is all zeros at first. */
#ifndef USER_CAPTURE_RANGES_H
#define USER_CAPTURE_RANGES_H

#include "offline/base/varint.h"
#include "offline/capture/capture_ring.h"
#include "offline/capture/captures.h"

#include <stddef.h>
#include <stdint.h>

struct capture_ranges {
	struct capture_range *ranges; /* n of them wait */
	size_t *offs;		      /* of each: its bytes in `bytes`, or still in the ring */
	uint32_t n, cap;
	struct bytes bytes;
};

/* One more waits; its bytes stay in the ring. 0 or -ENOMEM. */
int capture_ranges_take(struct capture_ranges *q, const struct capture_bytes *r);
/* The ring's memory goes and the record has not come: the bytes are copied. 0, or -ENOMEM, and
 * those that could not be copied are unread. */
int capture_ranges_keep(struct capture_ranges *q);
/* What waits is of the record @c, which borrows it until the next call of another function here. */
void capture_ranges_give(struct capture_ranges *q, struct capture *c);
/* Nothing waits any more. */
void capture_ranges_forget(struct capture_ranges *q);
void capture_ranges_deinit(struct capture_ranges *q);

#endif
