// SPDX-License-Identifier: LGPL-2.1-or-later
/* machine.c: see machine.h. */
#include "offline/wet/machine.h"

#include "offline/base/vec.h"
#include "offline/wet/stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, WAYS = 8, SETS = 32 * 1024 / LINE / WAYS, COUNTERS = 4096, TAKEN_FROM = 2 };

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
	uint64_t lines[SETS][WAYS];	    /* 1 + number of the line; the last used first */
	uint8_t counters[COUNTERS];
	uint32_t ways; /* the last twelve, the newest lowest */
	/* The last block's conditional jump, until it shows where it went. */
	struct history *jump;
	uint64_t jump_ip, target;
};

struct wet_machine *wet_machine_new(void)
{
	return calloc(1, sizeof(struct wet_machine));
}

void wet_machine_free(struct wet_machine *m)
{
	for (uint32_t b = 0; m && b < m->blocks.n; b++) {
		for (uint32_t i = 0; i < m->blocks.at[b].n; i++)
			VEC_FREE(&m->blocks.at[b].at[i].words);
		free(m->blocks.at[b].at);
		free(m->blocks.at[b].kinds);
	}
	if (m)
		VEC_FREE(&m->blocks);
	free(m);
}

static bool note(struct history *h, bool miss)
{
	if (h->n % 64 == 0 && !VEC_PUSH(&h->words, 0))
		return false;
	h->words.at[h->n / 64] |= (uint64_t)miss << h->n % 64;
	h->n++;
	h->misses += miss;
	return true;
}

static bool misses(struct wet_machine *m, uint64_t address)
{
	uint64_t line = address / LINE + 1, *set = m->lines[line % SETS];
	unsigned way = 0;
	while (way < WAYS && set[way] != line)
		way++;
	bool miss = way == WAYS;
	memmove(set + 1, set, (miss ? WAYS - 1 : way) * sizeof(*set));
	set[0] = line;
	return miss;
}

static bool end_jump(struct wet_machine *m, uint64_t ip)
{
	struct history *h = m->jump;
	if (!h)
		return true;
	bool taken = ip == m->target;
	uint8_t *counter = &m->counters[((m->jump_ip >> 1) ^ m->ways) % COUNTERS];
	bool wrong = (*counter >= TAKEN_FROM) != taken;
	*counter += taken ? *counter < 3 : -(*counter > 0);
	m->ways = (m->ways << 1 | taken) % COUNTERS;
	m->jump = NULL;
	return note(h, wrong);
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

bool wet_machine_block(struct wet_machine *m, const struct dep_block *b, const uint64_t *addresses)
{
	if (!end_jump(m, b->ip))
		return false;
	struct block_histories *of = histories_of(m, b);
	bool fine = of;
	for (unsigned i = 0, k = 1; fine && i < b->n_insns; i++) {
		const struct dep_insn *d = &b->insns[i];
		for (unsigned l = 0; l < d->n_loads && fine; l++, k++) {
			of->kinds[k] = WET_LOADS;
			fine = note(&of->at[k], misses(m, addresses[d->loads[l].address]));
		}
		for (unsigned s = 0; s < d->n_stores && fine; s++, k++) {
			of->kinds[k] = WET_STORES_MADE;
			fine = note(&of->at[k], misses(m, addresses[d->stores[s].address]));
		}
		addresses += d->n_addresses;
	}
	if (fine && b->last_kind == VALUE_INSN_JCC) {
		const struct value_insn *last = &b->block->insns[b->n_insns - 1];
		m->jump = &of->at[0];
		m->jump_ip = last->ip;
		m->target = last->target;
	}
	return fine;
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
