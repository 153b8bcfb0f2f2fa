// SPDX-License-Identifier: LGPL-2.1-or-later
/* machine.c: see machine.h. */
#include "offline/wet/file/machine.h"

#include "offline/base/vec.h"
#include "offline/misses/misses.h"
#include "offline/wet/streams/stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The bits of one instruction, 64 to a word. */
struct history {
	VEC(uint64_t) words;
	uint64_t n, misses;
};

/* Of a block: its last jump, then each load and each store, in the order of its instructions. */
struct block_histories {
	struct history *at;
	uint32_t n;
	uint8_t *kinds; /* enum wet_history */
};

struct wet_machine {
	VEC(struct block_histories) blocks; /* by number */
	struct misses *misses;
};

static bool note(struct history *h, bool miss)
{
	if (h->n % 64 == 0 && !VEC_PUSH(&h->words, 0))
		return false;
	h->words.at[h->n / 64] |= (uint64_t)miss << h->n % 64;
	h->n++;
	h->misses += miss;
	return true;
}

void wet_machine_free(struct wet_machine *m)
{
	for (uint32_t b = 0; m && b < m->blocks.n; b++) {
		for (uint32_t i = 0; i < m->blocks.at[b].n; i++)
			VEC_FREE(&m->blocks.at[b].at[i].words);
		free(m->blocks.at[b].at);
		free(m->blocks.at[b].kinds);
	}
	if (m) {
		VEC_FREE(&m->blocks);
		misses_free(m->misses);
	}
	free(m);
}

static struct block_histories *histories_of(struct wet_machine *m, const struct dep_block *b)
{
	uint32_t number = b->block->number, n = 1;
	while (m->blocks.n <= number)
		if (!VEC_PUSH(&m->blocks, (struct block_histories){0}))
			return NULL;
	struct block_histories *of = &m->blocks.at[number];
	if (of->at)
		return of;
	for (unsigned i = 0; i < b->n_insns; i++)
		n += b->insns[i].n_loads + b->insns[i].n_stores;
	of->at = calloc(n, sizeof(*of->at));
	of->kinds = calloc(n, sizeof(*of->kinds));
	of->n = of->at ? n : 0;
	return of->at && of->kinds ? of : NULL;
}

static bool take_event(void *ctx, const struct miss_event *e)
{
	static const uint8_t kinds[] = {[MISS_JUMP] = WET_BRANCHES,
					[MISS_LOAD] = WET_LOADS,
					[MISS_STORE] = WET_STORES_MADE};
	struct block_histories *of = histories_of(ctx, e->block);
	if (!of)
		return false;
	of->kinds[e->operand] = kinds[e->what];
	return note(&of->at[e->operand], e->miss);
}

struct wet_machine *wet_machine_new(void)
{
	struct wet_machine *m = calloc(1, sizeof(*m));
	if (m && !(m->misses = misses_new(take_event, m))) {
		free(m);
		return NULL;
	}
	return m;
}

bool wet_machine_block(struct wet_machine *m, const struct dep_block *b, const uint64_t *addresses,
		       const uint64_t *results)
{
	return misses_block(m->misses, b, addresses, results);
}

int wet_machine_sizes(const struct wet_machine *m, struct wet_machine_size out[WET_HISTORIES])
{
	struct wet_packer *p = wet_packer_new();
	struct bytes to = {0};
	bool fine = p;
	memset(out, 0, WET_HISTORIES * sizeof(*out));
	for (uint32_t b = 0; fine && b < m->blocks.n; b++)
		for (uint32_t i = 0; fine && i < m->blocks.at[b].n; i++) {
			const struct history *h = &m->blocks.at[b].at[i];
			struct wet_machine_size *o = &out[m->blocks.at[b].kinds[i]];
			enum wet_store store;
			if (!h->n)
				continue;
			to.len = 0;
			fine = wet_packer_put(p, h->words.at, h->words.n, &to, &store);
			o->executions += h->n;
			o->misses += h->misses;
			o->bytes += (h->n + 7) / 8;
			o->packed += to.len;
		}
	wet_packer_free(p);
	bytes_deinit(&to);
	return fine ? 0 : -ENOMEM;
}
