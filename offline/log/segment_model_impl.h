/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* segment_model_impl.h: what a segment's model knows of the events so far. segment_model.c moves it
 * along, segment_symbols.h guesses symbols with it, segment_steps.h CFAs and times. The functions
 * of these are inlined into an encoder and a decoder each, so that what is only for one of them
 * costs the other nothing. Private to them. */
#ifndef OFFLINE_SEGMENT_MODEL_IMPL_H
#define OFFLINE_SEGMENT_MODEL_IMPL_H

#include "offline/base/range_coder.h"
#include "offline/log/segment_format.h"
#include "offline/log/segment_model.h"

enum {
	MATCH_MISSES = 16, /* then it is given up */
	MATCH_HASHED = 8,  /* symbols that the index of places is by */
	MATCH_SURE = 24,   /* then the other guesses are neither used nor taught */
	MATCH_LENGTHS = 16,
	ORDERS = 3,
	SEEN_CLASSES = 8,
	MISSED_CLASSES = 4,
	NUMBER_NODES = 1 << 14,
	BITS_LEAST = 8,
	BITS_MOST = 14,
	SPREADS = 32,
	MEAN_MAX = 1 << 24, /* ns */
};

#define OFF_MAX ((int64_t)1 << 62) /* ns */

/* Where a run of symbols was last. */
struct run_place {
	uint32_t next; /* the event that followed; 0: none */
	uint32_t check;
};

/* What followed a context last, and what else did before. */
struct follower {
	uint32_t symbol, second;
	uint16_t check;
	uint8_t seen, missed;
};

/* From one symbol to another: by how much the CFA moves and how long it takes. */
struct pace {
	uint64_t move;
	int32_t mean_ns, spread_ns;
	uint8_t moves_seen, times_seen;
};

struct segment_model {
	struct range_coder coder;
	uint16_t rates[BIT_SEEN_MAX + 1];
	uint32_t bits;	 /* of the sizes of the tables below */
	uint32_t *past;	 /* symbols */
	uint64_t *moves; /* of the CFA, with each */
	uint8_t *kinds;	 /* of the symbols */
	uint32_t n, cap; /* of the past */
	void *tables;	 /* where all of them lie */
	struct run_place *places;
	struct follower *followers[ORDERS];
	struct pace *paces, *arrivals; /* by two symbols, by one */
	uint64_t *cfas;		       /* by symbol: the last */
	uint32_t cap_bits;

	uint32_t n_symbols;
	uint32_t match, match_len; /* the event that is expected to come again */
	uint32_t missed;	   /* how often it did not, of late */
	uint64_t context;	   /* a hash of the last MATCH_HASHED symbols */
	uint64_t contexts[ORDERS]; /* of fewer, and fewer */
	bool behind;		   /* the hashes do not know of the last events */
	uint32_t last;		   /* symbol, plus one */
	uint32_t unit_ns;
	uint32_t last_site; /* of the last description */
	uint64_t last_ret;
	uint64_t cfa, time_ns;
	uint64_t last_move; /* that was not 0 */

	struct bit_odds is_match[MATCH_LENGTHS * MISSED_CLASSES], is_its_symbol[MATCH_LENGTHS];
	struct bit_odds is_follower[ORDERS * ORDERS * SEEN_CLASSES * MISSED_CLASSES];
	struct bit_odds is_second[ORDERS * MISSED_CLASSES], is_new[2 * ORDERS + 1];
	struct bit_odds number[NUMBER_NODES];
	struct bit_odds kind[256], form[256], module[64], ret_run[NUMBER_ODDS];
	struct bit_odds site[NUMBER_ODDS], ret[NUMBER_ODDS];
	struct bit_odds is_move[SEEN_CLASSES], is_old_cfa[SEEN_CLASSES], is_back[1], is_aligned[1];
	struct bit_odds words[NUMBER_ODDS], odd_bytes[NUMBER_ODDS];
	struct bit_odds is_on_time[SPREADS], is_late[SPREADS], off[SPREADS / 4][NUMBER_ODDS];
};

static inline uint32_t mix(uint32_t h, uint32_t v)
{
	h = (h + v) * 0x9e3779b1u;
	return h ^ h >> 15;
}

static inline uint32_t slot_of(const struct segment_model *m, uint32_t h)
{
	return h * 0x85ebca6bu >> (32 - m->bits);
}

/* How often something held, in classes. */
static inline uint32_t seen_class(uint32_t seen)
{
	return seen < 4 ? seen : seen < 8 ? 4 : seen < 16 ? 5 : seen < 64 ? 6 : 7;
}

static inline uint32_t missed_class(uint32_t missed)
{
	return missed < MISSED_CLASSES - 1 ? missed : MISSED_CLASSES - 1;
}

#endif
