/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lane_pack.h: a chunk of a lane (offline/patch/layout.h) in a few percent of its bytes, and back.
 * This is done for each event while the program runs, so it is one pass over the chunk.
 *
 * A program does much the same again and again, so records are predicted. After a record that was
 * not predicted, the place is looked up where a record of the same head followed a record of the
 * same head before. The records that followed that place are the prediction: the same heads, return
 * addresses and targets, and the same distances between frames. Of records that came as predicted
 * only their number is kept. Every other record is kept whole, as distances where these are small.
 *
 * Places are looked up in the chunk itself and in a *reference*, an earlier chunk that many refer
 * to. So each chunk can be read again with its reference alone, in any order. */
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
	/* By hash of a record's head and the one before: where in `records` such a record was last
	 * not predicted; 0: nowhere. `met_in_reference`: in the reference alone; `met`: in both. */
	uint32_t met_in_reference[LANE_MET_SLOTS], met[LANE_MET_SLOTS];
	uint16_t runs[LANE_RECORDS_MOST + 1];
};

/* Of a record with this head. */
static inline uint32_t lane_record_bytes(uint32_t head)
{
	return LANE_RECORD_BYTES_LEAST + (head & PATCH_HEAD_RET ? 8 : 0) +
	       (head & PATCH_HEAD_TARGET ? 8 : 0);
}

/* Packs the full @chunk into @packed[LANE_PACKED_MOST]. The program may write to @chunk meanwhile:
 * then what is packed is of some moment of each word, and can be unpacked all the same. @refers: to
 * the reference; else the chunk becomes the next reference. @ended: its lane has no writer any
 * more. Returns how many bytes of @packed are used; 0: a record is begun and not yet written; -1:
 * the chunk has what patched instructions do not write, or becomes no smaller. After 0 and -1 the
 * reference is as it was. */
int lane_pack(struct lane_history *history, const uint8_t *chunk, bool refers, bool ended,
	      uint8_t *packed);
/* Writes the chunk of which @packed was made to @chunk[PATCH_CHUNK]; @history holds the reference
 * that it was packed by. If it refers to none, it becomes the reference. Zeros stand behind the
 * last record, and behind the time of a stamp. Returns false if @packed is damaged: then the
 * reference may be lost. */
bool lane_unpack(struct lane_history *history, const uint8_t *packed, uint32_t bytes,
		 uint8_t *chunk);

#endif
