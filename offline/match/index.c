// SPDX-License-Identifier: LGPL-2.1-or-later
/* index.c: see index.h. A counting sort by bucket: what one instruction did twice comes one behind
 * the other in its bucket, so the last instruction of each bucket tells what was seen already. */
#include "offline/match/index.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BITS = 22 };

static uint32_t looked_at(const struct match_insn *insn, uint32_t depth)
{
	return insn->n < depth ? insn->n : depth;
}

static unsigned bits_for(const struct match_insn *insns, uint32_t n, uint32_t depth)
{
	uint64_t total = 0;
	unsigned bits = 1;
	for (uint32_t i = 0; i < n; i++)
		total += looked_at(&insns[i], depth);
	while (bits < MOST_BITS && total >> bits)
		bits++;
	return bits;
}

/* Each pair of a bucket and an instruction once; @last has 1 + the instruction that came last into
 * each bucket. Without @x->at they are only counted. */
static void each(struct match_index *x, const struct match_insn *insns, uint32_t n, uint32_t depth,
		 uint32_t *last, uint32_t *next)
{
	memset(last, 0, sizeof(*last) << x->bits);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < looked_at(&insns[i], depth); k++) {
			uint32_t b = match_index_bucket(x, insns[i].kind, insns[i].what[k]);
			if (last[b] == i + 1)
				continue;
			last[b] = i + 1;
			if (x->at)
				x->at[next[b]] = i;
			next[b]++;
		}
}

bool match_index_init(struct match_index *x, const struct match_insn *insns, uint32_t n,
		      uint32_t depth)
{
	*x = (struct match_index){.bits = bits_for(insns, n, depth)};
	uint32_t buckets = 1u << x->bits;
	uint32_t *last = malloc(buckets * sizeof(*last));
	uint32_t *next = calloc(buckets, sizeof(*next));
	x->start = calloc((size_t)buckets + 1, sizeof(*x->start));
	bool fine = last && next && x->start;
	if (fine) {
		each(x, insns, n, depth, last, next);
		for (uint32_t b = 0; b < buckets; b++) {
			x->start[b + 1] = x->start[b] + next[b];
			next[b] = x->start[b];
		}
		x->at = malloc(((size_t)x->start[buckets] + 1) * sizeof(*x->at));
		fine = x->at;
	}
	if (fine)
		each(x, insns, n, depth, last, next);
	free(last);
	free(next);
	return fine;
}

void match_index_deinit(struct match_index *x)
{
	free(x->at);
	free(x->start);
}
