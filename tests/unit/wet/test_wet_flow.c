// SPDX-License-Identifier: LGPL-2.1-or-later
/* Nodes that were executed one behind the other come back as they were: of loops, at random, of the
 * bytes of this program; block by block, in any order. Bytes that are changed or cut, and another
 * number of nodes than there were, are refused or are other nodes that there are, never more. */
#include "offline/wet/streams/flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

enum { N = 100000, NODES = 70000 };

static uint32_t nodes[N], back[N + 2];
static struct codec *codec;

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005 + 1442695040888963407;
	return *seed >> 33;
}

static void at_random(uint64_t n, uint32_t n_nodes, uint64_t seed)
{
	for (uint64_t i = 0; i < n; i++)
		nodes[i] = (uint32_t)(next_random(&seed) % n_nodes);
}

/* A loop in a loop, which now and then goes another way. */
static void of_loops(uint64_t n)
{
	uint64_t seed = 7, left = 0;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t turn = left ? left-- : (left = 5 + next_random(&seed) % 3);
		nodes[i] = next_random(&seed) % 50 ? 66000 + (uint32_t)turn : 3;
	}
}

static uint64_t of_this_program(void)
{
	static uint8_t bytes[N];
	FILE *file = fopen("/proc/self/exe", "r");
	assert_non_null(file);
	uint64_t n = fread(bytes, 1, N, file);
	fclose(file);
	for (uint64_t i = 0; i < n; i++)
		nodes[i] = bytes[i];
	return n;
}

static void put(struct wet_flow *flow, uint64_t from, uint64_t n, struct bytes *to)
{
	for (uint64_t i = from; i < from + n; i++)
		wet_flow_add(flow, nodes[i]);
	assert_true(wet_flow_end(flow, to));
}

static int read(const struct bytes *b, uint64_t n)
{
	back[n] = 12345;
	int err = wet_flow_read(codec, b->data, b->len, NODES, n, back);
	assert_int_equal(back[n], 12345);
	return err;
}

/* In @n_blocks of different sizes, read from the last one to the first. Returns their bytes. */
static size_t comes_back(uint64_t n, unsigned n_blocks)
{
	struct wet_flow flow = {0};
	struct bytes blocks[8] = {0};
	uint64_t from[9] = {0};
	size_t bytes = 0;
	for (unsigned i = 0; i < n_blocks; i++) {
		from[i + 1] = i + 1 == n_blocks ? n : n * (i + 1) * (i + 1) / (n_blocks * n_blocks);
		put(&flow, from[i], from[i + 1] - from[i], &blocks[i]);
		bytes += blocks[i].len;
	}
	for (unsigned i = n_blocks; i--;) {
		uint64_t len = from[i + 1] - from[i];
		assert_int_equal(read(&blocks[i], len), 0);
		assert_memory_equal(back, nodes + from[i], len * sizeof(*nodes));
		assert_int_equal(read(&blocks[i], len + 1), -EBADMSG);
		if (len)
			assert_int_equal(read(&blocks[i], len - 1), -EBADMSG);
		bytes_deinit(&blocks[i]);
	}
	wet_flow_deinit(&flow);
	return bytes;
}

static void nodes_come_back(void **state)
{
	(void)state;
	for (unsigned blocks = 1; blocks <= 8; blocks++) {
		at_random(N, NODES, blocks);
		comes_back(N, blocks);
		at_random(N, 3, blocks);
		comes_back(N, blocks);
		of_loops(N);
		comes_back(N, blocks);
		comes_back(of_this_program(), blocks);
	}
	comes_back(0, 1);
	comes_back(1, 1);
	comes_back(2, 2);
}

static void what_is_foreseen_takes_little(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < N; i++)
		nodes[i] = i % 7 < 5 ? 1000 + (uint32_t)(i % 7) : 69999;
	assert_in_range(comes_back(N, 1), 1, 64);
}

static void what_is_damaged_is_other_nodes_or_refused(void **state)
{
	(void)state;
	struct wet_flow flow = {0};
	struct bytes block = {0};
	enum { SOME = 2000 };
	of_loops(SOME);
	put(&flow, 0, SOME, &block);
	for (size_t i = 0; i < 8 * block.len; i++) {
		block.data[i / 8] ^= (uint8_t)(1 << i % 8);
		int err = read(&block, SOME);
		assert_true(err <= 0);
		for (unsigned k = 0; !err && k < SOME; k++)
			assert_true(back[k] < NODES);
		block.data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	for (size_t len = block.len; len; len--) {
		struct bytes cut = {.data = block.data, .len = len - 1};
		assert_true(read(&cut, SOME) < 0);
	}
	assert_int_equal(read(&block, SOME), 0);
	/* Of nodes that there are not. */
	assert_int_equal(wet_flow_read(codec, block.data, block.len, 66000, SOME, back), -EBADMSG);
	bytes_deinit(&block);
	wet_flow_deinit(&flow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_come_back),
		cmocka_unit_test(what_is_foreseen_takes_little),
		cmocka_unit_test(what_is_damaged_is_other_nodes_or_refused),
	};
	codec = codec_new();
	int failed = codec ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
	codec_free(codec);
	return failed;
}
