/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_columns.h: what encoder and decoder of captures agree on: the columns, and what each
 * value is told as the difference to. */
#ifndef OFFLINE_CAPTURE_CAPTURE_COLUMNS_H
#define OFFLINE_CAPTURE_CAPTURE_COLUMNS_H

#include <stdint.h>

enum capture_column {
	COLUMN_HEAD,  /* a byte a record: kind, and what follows */
	COLUMN_PLACE, /* of those with one */
	COLUMN_CLOCK, /* order and time */
	COLUMN_SP,
	COLUMN_VALUES, /* registers, numbers */
	COLUMN_RANGES, /* how many, addresses, lengths */
	COLUMN_HASHES, /* two bytes each */
	COLUMN_BYTES,  /* of ranges and the XSAVE area */
	COLUMN_AROUND, /* surroundings of SWITCH, */
	COLUMN_FOUND,  /* and of SIGNAL; older recordings have neither column, or the first alone */
	N_COLUMNS
};

/* HEAD_HAS_RDX: of RESULT that there is rdx, of END that there are registers,
 * of KERNEL that there is how long before its order it began. HEAD_HIDDEN: of RESULT, ENTER, SIGNAL
 * and SWITCH that there are no registers. */
enum {
	HEAD_KIND = 15,
	HEAD_HAS_HASH = 16,
	HEAD_HAS_RDX = 32,
	HEAD_HAS_RANGES = 64,
	HEAD_HIDDEN = 128
};

/* What was told last by a hash of kind and place: the values, the stack pointer, where a range lay.
 */
enum { SLOT_BITS = 10, SLOT_VALUES = 17 };
struct capture_slot {
	uint64_t values[SLOT_VALUES];
	uint64_t sp, range;
};

static inline uint32_t capture_slot_of(uint8_t kind, uint32_t place)
{
	return (place * 16 + kind) * 0x9e3779b1u >> (32 - SLOT_BITS);
}

/* What a server reads is often what it has read before. A range with RANGE_AGAIN in its length has
 * the bytes of the last one that was told in full with the same hash of slot and length. Shorter or
 * longer ranges are always told in full. */
enum { TOLD_BITS = 8, TOLD_LEAST = 32, TOLD_MOST = 64 << 10 };
#define RANGE_AGAIN ((uint64_t)1 << 33)

static inline uint32_t capture_told_of(uint32_t slot, uint32_t len)
{
	return (len << SLOT_BITS ^ slot) * 0x9e3779b1u >> (32 - TOLD_BITS);
}

#endif
