// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_lane_pack.c: claims about chunks that are packed: each comes back as it was, with its
 * reference and without, in any order; what repeats takes little room; what is not written yet,
 * what no patched instruction writes and what is random is told apart; nothing that is cut or
 * changed is read as if it were a chunk of more than there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "user/patch/lane_pack.h"

static struct lane_history packer, unpacker;
static uint8_t packed[LANE_PACKED_MOST], other[LANE_PACKED_MOST], back[PATCH_CHUNK];

/* A program: which head follows which, and what it writes there. */
struct program {
	uint64_t seed, frame;
	uint32_t n_heads, state;
	uint32_t random_of; /* one record in so many is anything; 0: none */
};

static uint32_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

/* How the record at @at[28] looks that the program writes next. */
static uint32_t write_record(struct program *p, uint8_t *at)
{
	static const uint32_t kinds[] = {0,
					 PATCH_HEAD_RET,
					 PATCH_HEAD_TARGET,
					 PATCH_HEAD_TAKEN,
					 PATCH_HEAD_RET | PATCH_HEAD_TARGET,
					 PATCH_HEAD_RET,
					 PATCH_HEAD_STAMP,
					 PATCH_HEAD_STAMP | PATCH_HEAD_RET};
	bool random = p->random_of && next(&p->seed) % p->random_of == 0;
	uint32_t state = random ? next(&p->seed) % 4000 : p->state;
	uint32_t head = PATCH_HEAD_SET | kinds[state * 7 % (random ? 8 : 6)] | state;
	uint64_t ret = 0x555555554000 + 5 * state, target = random ? next(&p->seed) : ret * 3;
	uint32_t len = lane_record_bytes(head);

	p->frame += 8 * (int64_t)((int)(state % 9) - 4);
	if (random)
		p->frame = (uint64_t)next(&p->seed) << 20;
	memset(at, 0, LANE_RECORD_BYTES_MOST);
	memcpy(at, &head, 4);
	memcpy(at + 4, &p->frame, 8);
	if (head & PATCH_HEAD_STAMP)
		; /* what lies behind its time says nothing */
	else if (head & PATCH_HEAD_RET)
		memcpy(at + 12, &ret, 8);
	if (head & PATCH_HEAD_TARGET)
		memcpy(at + len - 8, &target, 8);
	p->state = (p->state + 1) % p->n_heads;
	return len;
}

static struct patch_chunk *header_of(uint8_t *chunk)
{
	return (struct patch_chunk *)chunk;
}

/* A full chunk of the program. Returns where its last record ends. */
static uint32_t fill(struct program *p, uint8_t *chunk)
{
	uint32_t off = PATCH_CHUNK_HEADER;

	memset(chunk, 0, PATCH_CHUNK);
	*header_of(chunk) = (struct patch_chunk){
		.state = PATCH_FULL, .lane = 3, .serial = next(&p->seed), .closed = PATCH_FILLED};
	while (off < PATCH_FILLED)
		off += write_record(p, chunk + off);
	header_of(chunk)->closed = off;
	return off;
}

static void comes_back(const uint8_t *chunk, bool refers)
{
	int bytes = lane_pack(&packer, chunk, refers, false, packed);

	assert_true(bytes > 0);
	assert_true(lane_unpack(&unpacker, packed, bytes, back));
	assert_memory_equal(chunk, back, PATCH_CHUNK);
}

static void each_comes_back(void **state)
{
	static uint8_t chunk[PATCH_CHUNK];
	static const uint32_t random_of[] = {0, 2, 5, 50, 1000};

	(void)state;
	for (uint32_t i = 0; i < 60; i++) {
		struct program p = {.seed = i, .n_heads = 1 + i * i, .random_of = random_of[i % 5]};

		fill(&p, chunk);
		comes_back(chunk, i % 7);
	}
}

static void in_any_order(void **state)
{
	static uint8_t chunks[5][PATCH_CHUNK];
	static uint8_t all[5][PATCH_CHUNK];
	struct program p = {.seed = 1, .n_heads = 3000, .random_of = 30};
	int bytes[5];

	(void)state;
	for (int i = 0; i < 5; i++) {
		fill(&p, chunks[i]);
		bytes[i] = lane_pack(&packer, chunks[i], i, false, packed);
		assert_true(bytes[i] > 0 && bytes[i] < (int)PATCH_CHUNK);
		memcpy(all[i], packed, bytes[i]);
	}
	static const int order[] = {0, 4, 2, 2, 1, 3, 0, 1};
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		assert_true(lane_unpack(&unpacker, all[order[i]], bytes[order[i]], back));
		assert_memory_equal(chunks[order[i]], back, PATCH_CHUNK);
	}
}

static void what_repeats_takes_little(void **state)
{
	static uint8_t chunk[PATCH_CHUNK];
	struct program p = {.seed = 5, .n_heads = 2000};

	(void)state;
	fill(&p, chunk);
	int first = lane_pack(&packer, chunk, false, false, packed);
	fill(&p, chunk);
	int second = lane_pack(&packer, chunk, true, false, packed);
	assert_in_range(first, 100, PATCH_CHUNK / 8);
	assert_in_range(second, 80, 400);
}

/* A record in the middle of a chunk. */
static uint32_t middle_of(const uint8_t *chunk)
{
	uint32_t at = PATCH_CHUNK_HEADER, head;

	while (at < PATCH_CHUNK / 2) {
		memcpy(&head, chunk + at, 4);
		at += lane_record_bytes(head);
	}
	return at;
}

static void what_cannot_be_is_told(void **state)
{
	static uint8_t chunk[PATCH_CHUNK];
	struct program p = {.seed = 9, .n_heads = 50};
	uint32_t end = fill(&p, chunk), at = middle_of(chunk);

	(void)state;
	/* Not written yet; then nobody will. */
	memset(chunk + at, 0, 4);
	assert_int_equal(lane_pack(&packer, chunk, false, false, packed), 0);
	assert_int_equal(lane_pack(&packer, chunk, false, true, packed), -1);
	memset(chunk + at, 0, PATCH_CHUNK - at);
	int bytes = lane_pack(&packer, chunk, false, true, packed);
	assert_true(bytes > 0 && lane_unpack(&unpacker, packed, bytes, back));
	assert_memory_equal(chunk, back, PATCH_CHUNK);
	/* Heads that nobody writes. */
	for (uint32_t bit = 26; bit < 32; bit++) {
		fill(&p, chunk);
		chunk[middle_of(chunk) + bit / 8] ^= 1 << bit % 8;
		assert_true(lane_pack(&packer, chunk, false, false, packed) <= 0);
	}
	/* One behind the end of what is filled belongs to it where the header says so. */
	end = fill(&p, chunk);
	header_of(chunk)->closed = end + 12;
	assert_int_equal(lane_pack(&packer, chunk, false, false, packed), 0);
	write_record(&p, chunk + end);
	header_of(chunk)->closed = end + lane_record_bytes(*(uint32_t *)(chunk + end));
	comes_back(chunk, false);
}

static void what_is_cut_or_changed_is_no_more_than_a_chunk(void **state)
{
	static uint8_t chunk[PATCH_CHUNK];
	struct program p = {.seed = 3, .n_heads = 900, .random_of = 40};
	uint64_t seed = 7;

	(void)state;
	fill(&p, chunk);
	int bytes = lane_pack(&packer, chunk, false, false, packed);
	assert_true(bytes > 0);
	for (int i = 0; i < 200; i++) {
		uint32_t cut = next(&seed) % bytes;
		uint8_t *exact = malloc(cut + 1); /* sanitizers see what is read behind it */

		memcpy(exact, packed, cut);
		assert_false(lane_unpack(&unpacker, exact, cut, back));
		free(exact);
		memcpy(other, packed, bytes);
		for (int k = 0; k < 1 + i % 9; k++)
			other[next(&seed) % (i % 2 ? bytes : 16 + 64)] ^= 1 << next(&seed) % 8;
		lane_unpack(&unpacker, other, bytes, back);
	}
	assert_true(lane_unpack(&unpacker, packed, bytes, back));
	assert_memory_equal(chunk, back, PATCH_CHUNK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_comes_back),
		cmocka_unit_test(in_any_order),
		cmocka_unit_test(what_repeats_takes_little),
		cmocka_unit_test(what_cannot_be_is_told),
		cmocka_unit_test(what_is_cut_or_changed_is_no_more_than_a_chunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
