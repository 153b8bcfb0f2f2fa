// SPDX-License-Identifier: LGPL-2.1-or-later
/* A cache and a predictor that are as simple as can be (a list of lines by the time of their last
 * use, a table of counters written out) find the same misses on random blocks as misses.c. */
#include "offline/misses/misses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_BLOCKS = 40, N_INSNS = 6, RUNS = 60000 };

struct naive_line {
	uint64_t number, used; /* used 0: empty */
};

struct naive {
	struct naive_line lines[64][8];
	uint64_t now;
	unsigned counters[4096], ways;
};

static bool naive_touch(struct naive *n, uint64_t number)
{
	struct naive_line *set = n->lines[number % 64], *oldest = set;
	n->now++;
	for (int i = 0; i < 8; i++) {
		if (set[i].used && set[i].number == number) {
			set[i].used = n->now;
			return false;
		}
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	*oldest = (struct naive_line){number, n->now};
	return true;
}

static bool naive_access(struct naive *n, uint64_t addr, unsigned len)
{
	bool miss = false;
	uint64_t last = UINT64_MAX;
	for (unsigned i = 0; i < len; i++) /* byte by byte */
		if ((addr + i) / 64 != last) {
			last = (addr + i) / 64;
			miss |= naive_touch(n, last);
		}
	return miss;
}

static bool naive_jump(struct naive *n, uint64_t ip, bool taken)
{
	unsigned *c = &n->counters[((ip >> 1) ^ n->ways) & 4095];
	bool wrong = (*c >= 2) != taken;
	if (taken && *c < 3)
		++*c;
	if (!taken && *c > 0)
		--*c;
	n->ways = (n->ways * 2 + taken) & 4095;
	return wrong;
}

struct told {
	struct miss_event at[4 * N_INSNS + 1];
	unsigned n;
};

static bool take(void *ctx, const struct miss_event *e)
{
	struct told *t = ctx;
	assert_in_range(t->n, 0, 4 * N_INSNS);
	t->at[t->n++] = *e;
	return true;
}

static unsigned pick(unsigned n)
{
	return (unsigned)rand() % n;
}

/* Instructions with up to two loads and two stores; the last one jumps, at times, to any block. */
static struct dep_block *random_block(struct value_block *block, struct value_insn *insns,
				      unsigned number)
{
	struct dep_block *b = calloc(1, sizeof(*b) + N_INSNS * sizeof(b->insns[0]));
	assert_non_null(b);
	*block = (struct value_block){.ip = 0x1000 + number * 64, .n_insns = 1 + pick(N_INSNS)};
	block->insns = insns;
	block->number = number;
	b->ip = block->ip;
	b->n_insns = block->n_insns;
	b->block = block;
	for (unsigned i = 0; i < b->n_insns; i++) {
		struct dep_insn *d = &b->insns[i];
		insns[i].ip = block->ip + 4 * i;
		d->n_loads = pick(3);
		d->n_stores = pick(3);
		d->n_addresses = 3;
		d->n_results = pick(3);
		for (unsigned k = 0; k < 2; k++) {
			d->loads[k] = (struct dep_operand){pick(3), 1u << pick(6)};
			d->stores[k] = (struct dep_operand){pick(3), 1u << pick(6)};
		}
	}
	b->last_kind = pick(2) ? VALUE_INSN_JCC : VALUE_INSN_JUMP;
	insns[b->n_insns - 1].target = 0x1000 + pick(N_BLOCKS) * 64;
	return b;
}

/* Near ones, some far, some over the end of a line. */
static uint64_t random_address(void)
{
	static const uint64_t spread[] = {1 << 12, 1 << 15, 1 << 17, 1u << 30};
	return 0x7f0000000000 + (uint64_t)rand() % spread[pick(4)];
}

static void test_naive(void **state)
{
	static struct value_block blocks[N_BLOCKS];
	static struct value_insn insns[N_BLOCKS][N_INSNS];
	struct dep_block *deps[N_BLOCKS], *jumped = NULL;
	struct naive *naive = calloc(1, sizeof(*naive));
	struct told told = {0};
	struct misses *p = misses_new(take, &told);
	uint64_t addresses[3 * N_INSNS], results[3 * N_INSNS], missed[3] = {0}, met[3] = {0};
	(void)state;
	srand(7);
	assert_non_null(naive);
	assert_non_null(p);
	for (unsigned i = 0; i < N_BLOCKS; i++)
		deps[i] = random_block(&blocks[i], insns[i], i);
	for (unsigned run = 0; run < RUNS; run++) {
		/* Often where the last jump leads. */
		uint64_t target =
			jumped ? jumped->block->insns[jumped->n_insns - 1].target : 0x1000;
		const struct dep_block *b = deps[pick(3) ? (target - 0x1000) / 64 : pick(N_BLOCKS)];
		unsigned k = 0, operand = 0;
		for (unsigned i = 0; i < 3 * N_INSNS; i++)
			addresses[i] = random_address();
		if (pick(50) == 0) {
			misses_break(p);
			jumped = NULL;
		}
		told.n = 0;
		assert_true(misses_block(p, b, addresses, results));
		if (jumped) {
			const struct miss_event *e = &told.at[k++];
			uint64_t ip = jumped->block->insns[jumped->n_insns - 1].ip;
			assert_int_equal(e->what, MISS_JUMP);
			assert_ptr_equal(e->block, jumped);
			assert_int_equal(e->operand, 0);
			assert_int_equal(e->taken, b->ip == target);
			assert_int_equal(e->miss, naive_jump(naive, ip, b->ip == target));
			missed[e->what] += e->miss;
			met[e->what]++;
		}
		const uint64_t *result = results;
		for (unsigned i = 0; i < b->n_insns; i++) {
			const struct dep_insn *d = &b->insns[i];
			for (unsigned o = 0; o < d->n_loads + d->n_stores; o++) {
				const struct miss_event *e = &told.at[k++];
				bool load = o < d->n_loads;
				const struct dep_operand *at =
					load ? &d->loads[o] : &d->stores[o - d->n_loads];
				assert_int_equal(e->what, load ? MISS_LOAD : MISS_STORE);
				assert_int_equal(e->insn, i);
				assert_int_equal(e->operand, ++operand);
				assert_int_equal(e->address, addresses[3 * i + at->address]);
				assert_ptr_equal(e->results, result);
				assert_int_equal(e->miss, naive_access(naive, e->address, at->len));
				missed[e->what] += e->miss;
				met[e->what]++;
			}
			result += d->n_results;
		}
		assert_int_equal(told.n, k);
		jumped = b->last_kind == VALUE_INSN_JCC ? (struct dep_block *)b : NULL;
	}
	for (unsigned i = 0; i < 3; i++) { /* of each there are many, and many of both kinds */
		assert_true(missed[i] > met[i] / 20);
		assert_true(missed[i] < met[i] - met[i] / 20);
	}
	misses_free(p);
	for (unsigned i = 0; i < N_BLOCKS; i++)
		free(deps[i]);
	free(naive);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_naive)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
