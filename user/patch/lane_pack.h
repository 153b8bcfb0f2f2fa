/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lane_pack.h: a chunk of a lane (offline/patch/layout.h) in a few percent of its bytes, and back.
 * This is done for each event while the program runs, so it is one pass over the chunk.
 *
 * A program does much the same again and again, so records are foretold: where a record was met
 * before behind the same one, the records that followed it then are expected again, with frames as
 * far from one another. How many came as expected is all that is kept of them. A record that did
 * not is kept whole.
 *
 * What was met before is looked for in the chunk itself and in a *reference*, an earlier chunk that
 * many refer to. So each can be read again with that one other chunk, in any order. */
#ifndef USER_PATCH_LANE_PACK_H
#define USER_PATCH_LANE_PACK_H

#include "offline/patch/layout.h"

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#define LANE_RECORD_BYTES_LEAST 12
#define LANE_RECORD_BYTES_MOST 28
#define LANE_RECORDS_MOST (PATCH_CHUNK / LANE_RECORD_BYTES_LEAST)
#define LANE_PACKED_MOST (2 * PATCH_CHUNK)
#define LANE_PACKED_HEADER 16 /* where, in a packed chunk, the header of the chunk stands */
#define LANE_MET_SLOTS (1u << 14)

/* What was met: of whoever packs, or of whoever unpacks. Of zeros: nothing. */
struct lane_history {
	/* The records of the reference, then those of the chunk at hand: as they are there, but
	 * without stamps, which are never the same; and behind them zeros. */
	uint8_t records[2 * PATCH_CHUNK + LANE_RECORD_BYTES_MOST];
	/* By hash of a record's head and the one before: where in `records` it was met first; 0:
	 * nowhere. What the reference has, and that with the chunk at hand. */
	uint32_t met_in_reference[LANE_MET_SLOTS], met[LANE_MET_SLOTS];
	uint16_t runs[LANE_RECORDS_MOST + 1];
};

/* Of a record with this head. */
static inline uint32_t lane_record_bytes(uint32_t head)
{
	return LANE_RECORD_BYTES_LEAST + (head & PATCH_HEAD_RET ? 8 : 0) +
	       (head & PATCH_HEAD_TARGET ? 8 : 0);
}

/* Packs the full @chunk, in a program's memory, which it may write to at any time, into
 * @packed[LANE_PACKED_MOST]. @refers: by the reference; else it becomes the next one. @ended:
 * nobody will write what is not written yet. Returns the bytes of it, 0: a record is begun and not
 * yet written, or -1: it is not what patched instructions write, or would become no smaller. After
 * either, the reference is as it was. */
int lane_pack(struct lane_history *history, const uint8_t *chunk, bool refers, bool ended,
	      uint8_t *packed);
/* The @chunk[PATCH_CHUNK] of which @packed was made, by the same reference; if it refers to none,
 * it becomes the next one. Behind its last record there are zeros. False: it was made of none. */
bool lane_unpack(struct lane_history *history, const uint8_t *packed, uint32_t bytes,
		 uint8_t *chunk);

#endif
