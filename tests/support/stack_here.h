/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stack_here.h: one thread whose stack is an array, for bpf/snapshot.h as a part of a test: what
 * its helpers read, look up and send. What is sent goes to user/stack/task_stacks.c at once. To be
 * included once. */
#ifndef TESTS_SUPPORT_STACK_HERE_H
#define TESTS_SUPPORT_STACK_HERE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/bpf_here.h"

#include "bpf/snapshot.h"
#include "user/stack/task_stacks.h"

#define BASE 0x7ffd00000000ull
#define TEXT 0x555555554000ull
#define TEXT_BYTES 0x10000ull
#define MMAP_BASE 0x7f7f00000000ull
#define PROGRAM 0x555555800000ull
enum { PAGES = 40, WORDS = PAGES * 512 };

static uint64_t memory[WORDS];
static bool absent[PAGES];
static struct task_state state;
static struct stack_state stacks;
static uint64_t return_bits[2 * (TEXT_BYTES / 64 + 1)];
static struct task_stacks received;
static bool ring_full;
static uint32_t sent_words, sent_deeps;

static struct mm_struct mm;

static struct task_struct *here_task(void)
{
	static struct task_struct task = {.mm = &mm};
	return &task;
}

static void *here_storage(const void *map)
{
	return map == &tasks ? (void *)&state : (void *)&stacks;
}

static long here_read_user(void *to, __u32 bytes, __u64 from)
{
	if (from < BASE || from + bytes > BASE + sizeof(memory))
		return -14;
	for (uint64_t page = (from - BASE) / 4096; page <= (from + bytes - 1 - BASE) / 4096; page++)
		if (absent[page])
			return -14;
	memcpy(to, (const char *)memory + (from - BASE), bytes);
	return 0;
}

static long here_output(const void *map, const void *data, __u64 bytes)
{
	assert_ptr_equal(map, &events);
	if (ring_full)
		return -11;
	if (*(const __u32 *)data == RING_SNAPSHOT) {
		const struct snapshot *s = data;
		sent_words = s->n_sent;
		assert_int_equal(task_stacks_snapshot(&received, s, bytes), 0);
	} else {
		sent_deeps++;
		assert_int_equal(task_stacks_deep(&received, data, bytes), 0);
	}
	return 0;
}

static void *here_lookup(const void *map, const void *key)
{
	assert_ptr_equal(map, &returns);
	return &return_bits[*(const __u32 *)key];
}

static long here_update(const void *map, const void *key, const void *value)
{
	return -1;
}

static uint64_t seed;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static void begin(uint64_t from_seed)
{
	seed = from_seed;
	task_stacks_deinit(&received);
	memset(&received, 0, sizeof(received));
	memset(&state, 0, sizeof(state));
	memset(&stacks, 0, sizeof(stacks));
	memset(absent, 0, sizeof(absent));
	memset(return_bits, 0, sizeof(return_bits));
	memset(&counters, 0, sizeof(counters));
	ring_full = false;
	for (uint32_t i = 0; i < WORDS; i++)
		memory[i] = next_random();
}

static uint64_t word_at(uint64_t addr)
{
	uint64_t at = (addr - BASE) / 8;
	return absent[at / 512] ? 0 : memory[at];
}

#endif
