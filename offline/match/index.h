/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* index.h: which instructions of a run have done a given thing among the first that they did. It
 * may name more of them than there are, never fewer: whoever asks compares the histories. */
#ifndef OFFLINE_MATCH_INDEX_H
#define OFFLINE_MATCH_INDEX_H

#include "offline/match/insns.h"

struct match_index {
	uint32_t *at;	 /* numbers of instructions by bucket, in ascending order, each once */
	uint32_t *start; /* bucket i: at[start[i]] to at[start[i + 1]] */
	unsigned bits;	 /* 1 << bits buckets */
};

/* Of the first @depth executions of each of the @n instructions. false: memory is out. What is
 * there then is freed by match_index_deinit() as well. */
bool match_index_init(struct match_index *x, const struct match_insn *insns, uint32_t n,
		      uint32_t depth);
void match_index_deinit(struct match_index *x);

/* The bucket of instructions of @kind that have done @what; of a jump whether it was taken does not
 * count. */
static inline uint32_t match_index_bucket(const struct match_index *x, uint8_t kind, uint32_t what)
{
	uint64_t key = kind == MATCH_JUMP ? what | 1 : what;
	return (uint32_t)((key << 3 | kind) * 0x9e3779b97f4a7c15 >> (64 - x->bits));
}

#endif
