// SPDX-License-Identifier: LGPL-2.1-or-later
/* misses.c: see misses.h. */
#include "offline/misses/misses.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64, WAYS = 8, SETS = 32 * 1024 / LINE / WAYS, COUNTERS = 4096, TAKEN_FROM = 2 };

struct misses {
	miss_fn *fn;
	void *ctx;
	uint64_t lines[SETS][WAYS]; /* 1 + number of the line; the last used first */
	uint8_t counters[COUNTERS];
	uint32_t ways; /* the last twelve, the newest lowest */
	/* The last block, while its conditional jump has not shown where it went; NULL. */
	const struct dep_block *jump;
};

struct misses *misses_new(miss_fn *fn, void *ctx)
{
	struct misses *p = calloc(1, sizeof(*p));
	if (p) {
		p->fn = fn;
		p->ctx = ctx;
	}
	return p;
}

void misses_free(struct misses *p)
{
	free(p);
}

static bool line_misses(struct misses *p, uint64_t number)
{
	uint64_t line = number + 1, *set = p->lines[number % SETS];
	unsigned way = 0;
	while (way < WAYS && set[way] != line)
		way++;
	bool miss = way == WAYS;
	memmove(set + 1, set, (miss ? WAYS - 1 : way) * sizeof(*set));
	set[0] = line;
	return miss;
}

static bool access_misses(struct misses *p, uint64_t address, uint32_t len)
{
	bool miss = line_misses(p, address / LINE);
	for (uint64_t line = address / LINE + 1; line <= (address + (len ? len - 1 : 0)) / LINE;
	     line++)
		miss |= line_misses(p, line);
	return miss;
}

static bool end_jump(struct misses *p, uint64_t ip)
{
	const struct dep_block *b = p->jump;
	if (!b)
		return true;
	const struct value_insn *last = &b->block->insns[b->n_insns - 1];
	bool taken = ip == last->target;
	uint8_t *counter = &p->counters[((last->ip >> 1) ^ p->ways) % COUNTERS];
	bool wrong = (*counter >= TAKEN_FROM) != taken;
	*counter += taken ? *counter < 3 : -(*counter > 0);
	p->ways = (p->ways << 1 | taken) % COUNTERS;
	p->jump = NULL;
	return p->fn(p->ctx, &(struct miss_event){.block = b,
						  .insn = b->n_insns - 1,
						  .what = MISS_JUMP,
						  .miss = wrong,
						  .taken = taken});
}

void misses_break(struct misses *p)
{
	p->jump = NULL;
}

bool misses_block(struct misses *p, const struct dep_block *b, const uint64_t *addresses,
		  const uint64_t *results)
{
	struct miss_event e = {.block = b};
	bool fine = end_jump(p, b->ip);
	for (unsigned i = 0; fine && i < b->n_insns; i++) {
		const struct dep_insn *d = &b->insns[i];
		e.insn = i;
		e.results = results;
		for (unsigned k = 0; fine && k < d->n_loads + d->n_stores; k++) {
			bool load = k < d->n_loads;
			const struct dep_operand *o =
				load ? &d->loads[k] : &d->stores[k - d->n_loads];
			e.operand++;
			e.what = load ? MISS_LOAD : MISS_STORE;
			e.address = addresses[o->address];
			e.miss = access_misses(p, e.address, o->len);
			fine = p->fn(p->ctx, &e);
		}
		addresses += d->n_addresses;
		results += d->n_results;
	}
	if (fine && b->last_kind == VALUE_INSN_JCC)
		p->jump = b;
	return fine;
}
