// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_snapshot.c: what the collector puts together from the stacks that the probes send is what
 * lay on the stack. bpf/snapshot.h runs here, on a stack in an array that changes at random between
 * two hits, and user/stack/task_stacks.c takes what it sends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/stack_here.h"

/* What a stack does between two hits: words near its end change, now and then one far up. */
static void live_on(uint64_t sp)
{
	uint64_t at = (sp - BASE) / 8;
	for (uint32_t n = next_random() % 12; n; n--)
		memory[at - 32 + next_random() % 64] = next_random() % 3;
	if (next_random() % 4 == 0)
		memory[at + next_random() % 700] = next_random();
}

/* The next hit is near, as a rule, and never so high that no whole snapshot is above it. */
static uint64_t move(uint64_t sp)
{
	uint64_t by = next_random() % 8 ? 8 * (next_random() % 64) : 8 * (next_random() % 1200);
	uint64_t to = next_random() & 1 ? sp - by : sp + by;
	return to < BASE + 8192 || to > BASE + 60000 ? BASE + 30000 : to;
}

static void check_words(const struct pugmark_witness_event *e, uint64_t sp)
{
	assert_int_equal(e->stack_addr, sp);
	for (uint32_t i = 0; i < e->stack_words; i++) {
		uint64_t is = word_at(sp + 8 * (uint64_t)i);
		assert_int_equal(e->stack[i], is == PUGMARK_EVENT_STACK_UNKNOWN ? 0 : is);
	}
}

static void what_is_told_is_what_was_there(void **context)
{
	(void)context;
	uint64_t sp = BASE + 30000, lost = 0, short_ones = 0;
	begin(1);
	for (uint32_t i = 0; i < 20000; i++) {
		struct pugmark_witness_event e = {0};
		uint64_t *words = NULL;
		uint32_t serial = state.snapshots;
		sp = move(sp);
		live_on(sp);
		ring_full = next_random() % 16 == 0;
		assert_int_equal(snapshot_send(sp), !ring_full);
		lost += ring_full;
		assert_int_equal(counters.snapshots_lost, lost);
		assert_int_equal(state.snapshots, serial + !ring_full);
		if (ring_full)
			continue;
		assert_int_equal(task_stacks_tell(&received, serial, &words, &e), 0);
		assert_true(e.stack_words >= SNAPSHOT_WORDS / 2);
		short_ones += e.stack_words < SNAPSHOT_WORDS;
		check_words(&e, sp);
	}
	assert_in_range(short_ones, 1000, 19000);
}

/* Of what may be on a stack at @addr, one thing; *@stays: that it is to be kept. */
static uint64_t any_word(uint64_t addr, bool *stays)
{
	*stays = true;
	switch (next_random() % 8) {
	case 0:
		return TEXT + next_random() % TEXT_BYTES;
	case 1: /* code of another module, or of none that is known */
		return 0x7f0000000000 + next_random() % 0x100000000;
	case 2: /* a frame pointer */
		return addr + 8 + 8 * (next_random() % 64);
	case 3:
		*stays = false;
		return BASE + 8192 + next_random() % (addr - BASE - 8191); /* below */
	case 4:
		*stays = false;
		return mm.start_brk + next_random() % (mm.brk - mm.start_brk);
	case 5:
		*stays = false;
		return mm.start_stack + next_random() % (mm.env_end - mm.start_stack);
	case 6:
		*stays = false;
		return next_random() % 4096;
	default:
		*stays = false;
		return next_random() | 1ull << 56;
	}
}

/* What is no address that a reader looks for is told as 0, all else as it was, and so is what the
 * kernel saved for a handler. Where the stack itself is in the heap, what points there stays. */
static void data_is_left_out(void **context)
{
	(void)context;
	const uint64_t sp = BASE + 8192;
	enum { FRAME = 100, FRAME_WORDS = 25, ARGS = 400 };
	uint64_t left_out = 0, *words = NULL, *now = &memory[(sp - BASE) / 8];
	struct pugmark_witness_event e = {0};
	bool stays[SNAPSHOT_WORDS];

	begin(7);
	mm = (struct mm_struct){.start_brk = 0x555556000000,
				.brk = 0x555556021000,
				.start_stack = sp + 8 * ARGS,
				.env_end = sp + 8 * ARGS + 5000};
	for (uint32_t i = 0; i < SNAPSHOT_WORDS; i++) {
		now[i] = any_word(sp + 8 * i, &stays[i]);
		bool points_to_args = now[i] - mm.start_stack < 5000;
		stays[i] = i - FRAME < FRAME_WORDS || (stays[i] && i < ARGS && !points_to_args);
	}
	now[FRAME + FRAME_WORDS - 1] = 0x002b000000000033;
	assert_true(snapshot_send(sp));
	assert_int_equal(task_stacks_tell(&received, 0, &words, &e), 0);
	assert_int_equal(task_stacks_slim(&received, 0, NULL, &words, &e), 0);
	assert_int_equal(e.stack_words, SNAPSHOT_WORDS);
	for (uint32_t i = 0; i < SNAPSHOT_WORDS; i++) {
		assert_int_equal(e.stack[i],
				 stays[i] && now[i] != PUGMARK_EVENT_STACK_UNKNOWN ? now[i] : 0);
		left_out += !stays[i];
	}
	assert_in_range(left_out, SNAPSHOT_WORDS / 2, SNAPSHOT_WORDS - 100);

	mm = (struct mm_struct){.start_brk = BASE, .brk = BASE + sizeof(memory)};
	for (uint32_t i = 0; i < SNAPSHOT_WORDS; i++)
		now[i] = sp + 8 * i + 16;
	e = (struct pugmark_witness_event){0};
	assert_true(snapshot_send(sp));
	assert_int_equal(task_stacks_tell(&received, 1, &words, &e), 0);
	assert_int_equal(task_stacks_slim(&received, 1, NULL, &words, &e), 0);
	assert_memory_equal(e.stack, now, sizeof(stays) / sizeof(*stays) * sizeof(*now));
	mm = (struct mm_struct){0};
	free(words);
}

static bool is_text(const struct task_code *code, uint64_t addr)
{
	(void)code;
	return addr >= TEXT && addr < TEXT + TEXT_BYTES;
}

/* Where words may be secrets nothing stays but addresses in code that is known, of the stack above,
 * and of a handler's frame the stack pointer, the address and what shows that it is one. */
static void no_secret_stays(void **context)
{
	(void)context;
	const uint64_t sp = BASE + 8192;
	enum { FRAME = 100, FRAME_WORDS = 25 };
	const struct task_code only = {is_text};
	uint64_t *words = NULL, *now = &memory[(sp - BASE) / 8], secrets = 0;
	struct pugmark_witness_event e = {0};

	begin(9);
	for (uint32_t i = 0; i < SNAPSHOT_WORDS; i++)
		now[i] = i % 3 == 0   ? TEXT + next_random() % TEXT_BYTES
			 : i % 3 == 1 ? sp + 8 * i + 8 + next_random() % 512
				      : 0x7372756f7920ull >> 8 * (next_random() % 3);
	for (uint32_t i = FRAME + 3; i < FRAME + 21; i++)
		now[i] = 0x64726f777373;
	now[FRAME + 21] = sp - 8;
	now[FRAME + 22] = 0x7f0000001234;
	now[FRAME + 23] = 0x246;
	now[FRAME + FRAME_WORDS - 1] = 0x002b000000000033;
	assert_true(snapshot_send(sp));
	assert_int_equal(task_stacks_tell(&received, 0, &words, &e), 0);
	assert_int_equal(task_stacks_slim(&received, 0, &only, &words, &e), 0);
	for (uint32_t i = 0; i < SNAPSHOT_WORDS; i++) {
		bool secret = i >= FRAME && i < FRAME + FRAME_WORDS
				      ? i > FRAME + 2 && i < FRAME + 21
				      : i % 3 == 2;
		assert_int_equal(e.stack[i], secret ? 0 : now[i]);
		secrets += secret;
	}
	assert_in_range(secrets, 150, SNAPSHOT_WORDS / 2);
	free(words);
}

static void only_what_changed_is_sent(void **context)
{
	(void)context;
	uint64_t sp = BASE + 32768;
	begin(2);
	assert_true(snapshot_send(sp));
	assert_int_equal(sent_words, SNAPSHOT_WORDS);
	assert_true(snapshot_send(sp));
	assert_int_equal(sent_words, 0);
	for (uint32_t word = 0; word < SNAPSHOT_WORDS; word++) {
		memory[(sp - BASE) / 8 + word]++;
		assert_true(snapshot_send(sp));
		assert_int_equal(sent_words, word / 8 * 8 + 8);
	}
	/* Deeper by three lines: these are sent. */
	assert_true(snapshot_send(sp - 3 * 64));
	assert_int_equal(sent_words, 24);
	/* On another stack nothing is known. */
	assert_true(snapshot_send(sp + 80000));
	assert_int_equal(sent_words, SNAPSHOT_WORDS);
}

static void after_a_full_ring_all_is_sent(void **context)
{
	(void)context;
	uint64_t sp = BASE + 32768;
	begin(3);
	assert_true(snapshot_send(sp));
	ring_full = true;
	assert_false(snapshot_send(sp));
	ring_full = false;
	assert_true(snapshot_send(sp));
	assert_int_equal(sent_words, SNAPSHOT_WORDS);
}

/* A large array that was never touched: the stack ends before it, at a line, or holds nothing. */
static void pages_that_are_not_there(void **context)
{
	(void)context;
	begin(4);
	for (uint32_t i = 0; i < 5000; i++) {
		struct pugmark_witness_event e = {0};
		uint64_t *words = NULL, sp = BASE + 8192 + 8 * (next_random() % 4096);
		uint32_t page = (sp - BASE) / 4096, serial = state.snapshots;
		memset(absent, 0, sizeof(absent));
		absent[page + next_random() % 2] = true;
		live_on(sp);
		assert_true(snapshot_send(sp));
		assert_int_equal(task_stacks_tell(&received, serial, &words, &e), 0);
		uint64_t in_page = 4096 - (sp & 4095), bytes = in_page < 64 ? 64 : in_page & ~63ull;
		uint64_t least =
			bytes < 2048 ? bytes : 2048; /* it may end where the last one did */
		if (sp % 4096 || absent[page])
			assert_in_range(e.stack_words, least / 8, bytes / 8);
		for (uint32_t k = 0; k < e.stack_words; k++) {
			uint64_t addr = sp + 8 * (uint64_t)k;
			uint64_t is = addr - sp < in_page ? word_at(addr) : 0;
			assert_int_equal(e.stack[k], is == PUGMARK_EVENT_STACK_UNKNOWN ? 0 : is);
		}
	}
}

static bool is_ours(uint64_t word)
{
	return word >= TEXT && word - TEXT < TEXT_BYTES;
}

static bool leads_there(uint64_t word, uint64_t sp, uint64_t end)
{
	return word - (MMAP_BASE - LIBRARIES_BYTES) < LIBRARIES_BYTES ||
	       word - PROGRAM < TEXT_BYTES || word - sp < end - sp;
}

/* Above the snapshot, exactly the words are told that are addresses in the module, where libraries
 * are, or in that stack; where these are too many, in the module. */
static void addresses_further_up(void **context)
{
	(void)context;
	uint32_t told = 0, others = 0, all_told = 0;
	begin(5);
	mm = (struct mm_struct){
		.mmap_base = MMAP_BASE, .start_code = PROGRAM, .end_code = PROGRAM + TEXT_BYTES};
	for (uint32_t round = 0; round < 300; round++) {
		struct pugmark_witness_event e = {0};
		uint64_t *words = NULL, sp = BASE + 8192 + 8 * (next_random() % 1024);
		uint64_t end = sp + 4104 + 8 * (next_random() % 6000);
		uint32_t serial = state.snapshots;
		memset(absent, 0, sizeof(absent));
		absent[10 + next_random() % 4] = next_random() & 1;
		for (uint32_t i = 0; i < WORDS; i++)
			memory[i] = next_random() >> 20;
		for (uint32_t n = next_random() % 400; n; n--)
			memory[next_random() % WORDS] = TEXT + next_random() % (TEXT_BYTES + 2) - 1;
		bool crowded = round % 4 == 0;
		for (uint32_t n = crowded ? 2 * WORDS : next_random() % 400; n; n--)
			memory[next_random() % WORDS] = mm.mmap_base - LIBRARIES_BYTES +
							next_random() % (LIBRARIES_BYTES + 2) - 1;
		for (uint32_t n = next_random() % 400; n; n--)
			memory[next_random() % WORDS] = sp - 8 + next_random() % (end - sp + 16);
		for (uint32_t n = next_random() % 100; n; n--)
			memory[next_random() % WORDS] =
				PROGRAM + next_random() % (TEXT_BYTES + 2) - 1;
		for (uint32_t n = crowded ? 20 : 0; n; n--)
			memory[next_random() % WORDS] = TEXT + next_random() % TEXT_BYTES;
		stacks.anchor = 0;
		assert_true(snapshot_send(sp));
		sent_deeps = 0;
		deep_send(end, TEXT, TEXT_BYTES);
		assert_int_equal(sent_deeps, 1);
		assert_int_equal(task_stacks_tell(&received, serial, &words, &e), 0);
		const struct snapshot *last = stacks.current & 1 ? &stacks.odd : &stacks.even;
		/* As far as it was asked for, but for the margin around a return address of ours.
		 */
		assert_int_equal(e.stack_words, (end - sp) / 8);
		uint32_t fit = 0;
		for (uint64_t at = (sp + 8 * (uint64_t)last->n_words) & ~(SCAN_BYTES - 1); at < end;
		     at += 8)
			fit += is_ours(word_at(at)) || leads_there(word_at(at), sp, end);
		all_told += fit < DEEP_MAX;
		for (uint32_t i = last->n_words; i < e.stack_words; i++) {
			uint64_t is = word_at(sp + 8 * (uint64_t)i);
			/* It goes by steps, so the last one may make it too many. */
			bool only_ours = fit >= DEEP_MAX - SCAN_WORDS &&
					 e.stack[i] == PUGMARK_EVENT_STACK_UNKNOWN;
			bool tells = is_ours(is) || (leads_there(is, sp, end) && !only_ours);
			assert_int_equal(e.stack[i], tells ? is : PUGMARK_EVENT_STACK_UNKNOWN);
			told += is_ours(is);
			others += tells && !is_ours(is);
		}
		free(words);
	}
	assert_true(told > 1000);
	assert_true(others > 1000);
	assert_in_range(all_told, 100, 299);
}

/* The first return address of ours at or above the event, and not one below it. */
static void the_anchor_is_the_first(void **context)
{
	(void)context;
	uint32_t found = 0;
	begin(6);
	n_modules = 1;
	module_bytes[0] = TEXT_BYTES;
	for (uint32_t half = 0; half < 2; half++) {
		half_returns = half * (TEXT_BYTES / 64 + 1);
		for (uint32_t i = 0; i < 40; i++) {
			uint32_t off = next_random() % TEXT_BYTES;
			return_bits[half_returns + off / 64] |= 1ull << off % 64;
		}
	}
	for (uint32_t round = 0; round < 600; round++) {
		uint64_t sp = BASE + 8192 + 8 * (round % 4 ? next_random() % 1024 : 512), first = 0;
		memset(&stacks, 0, sizeof(stacks));
		state.base[0] = TEXT;
		state.generation = round; /* each with its half of the table */
		for (uint32_t i = 0; i < WORDS; i++)
			memory[i] = next_random() >> 20;
		for (uint32_t n = 200 + next_random() % 3000; n; n--)
			memory[next_random() % WORDS] = TEXT + next_random() % TEXT_BYTES;
		uint64_t end = (sp + 8 * DEEP_WORDS + SCAN_BYTES - 1) & ~(SCAN_BYTES - 1);
		for (uint64_t at = sp; !first && at < end; at += 8) {
			uint64_t off = word_at(at) - TEXT;
			const uint64_t *bits = return_bits + (round & 1 ? half_returns : 0);
			if (off < TEXT_BYTES && bits[off / 64] >> off % 64 & 1)
				first = at;
		}
		anchor_find(sp, TEXT, TEXT_BYTES);
		assert_int_equal(stacks.anchor, first);
		found += first != 0;
	}
	assert_in_range(found, 50, 599);
}

/* One return address of ours, @at words up the stack, and a stack without any beside it. */
static void put_anchor(uint64_t sp, uint64_t at)
{
	memset(memory, 0, sizeof(memory));
	memory[(sp - BASE) / 8 + at] = TEXT + 64;
}

static void the_anchor_is_looked_for_again_when_it_is_gone(void **context)
{
	(void)context;
	uint64_t sp = BASE + 8192;
	begin(7);
	n_modules = 1;
	module_bytes[0] = TEXT_BYTES;
	half_returns = 0;
	return_bits[1] = 1;
	state.base[0] = TEXT;
	put_anchor(sp, 1000);
	anchor_find(sp, TEXT, TEXT_BYTES);
	assert_int_equal(stacks.anchor, sp + 8000);
	memory[(sp - BASE) / 8 + 10] = TEXT + 64; /* nearer, but the other is still there */
	anchor_find(sp, TEXT, TEXT_BYTES);
	assert_int_equal(stacks.anchor, sp + 8000);
	anchor_find(sp + 8008, TEXT, TEXT_BYTES); /* below the event there is none */
	assert_int_equal(stacks.anchor, 0);
	assert_true(stacks.bare && stacks.bare <= sp + 8008);
	put_anchor(sp, 1500); /* one has come since, which no hit further up has shown */
	state.last_cfa = sp + 8008;
	anchor_find(sp + 8008, TEXT, TEXT_BYTES);
	assert_int_equal(stacks.anchor, 0);
	anchor_find(sp + 8, TEXT, TEXT_BYTES); /* elsewhere */
	assert_int_equal(stacks.anchor, sp + 12000);
	assert_int_equal(stacks.bare, 0);
	put_anchor(sp, 400);
	anchor_find(sp + 8008, TEXT, TEXT_BYTES);
	assert_int_equal(stacks.anchor, 0);
	put_anchor(sp, 1500);
	state.last_cfa = sp + 30000; /* a hit further up has */
	anchor_find(sp + 8008, TEXT, TEXT_BYTES);
	assert_int_equal(stacks.anchor, sp + 12000);
}

/* How far deep_send() looks: as asked, or to a return address of ours, and never too far. */
static void it_goes_as_far_as_it_may(void **context)
{
	(void)context;
	static const struct {
		uint64_t end, anchor, words; /* bytes from sp on; 0 words: nothing is sent */
	} rows[] = {
		{8192, 0, 1024},
		{8192, 16384, (16384 + ANCHOR_MARGIN) / 8},
		{8 * DEEP_WORDS - 8, 0, DEEP_WORDS - 1},
		{8 * DEEP_WORDS, 0, 0},
		{8192, 8 * DEEP_WORDS - 8, DEEP_WORDS},
		{-4096ull, 0, 0},
		{4096, 0, 0},
	};
	uint64_t sp = BASE + 8192;
	begin(8);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct pugmark_witness_event e = {0};
		uint64_t *words = NULL;
		uint32_t serial = state.snapshots;
		memory[(sp - BASE) / 8]++;
		assert_true(snapshot_send(sp));
		sent_deeps = 0;
		stacks.anchor = rows[i].anchor ? sp + rows[i].anchor : 0;
		deep_send(sp + rows[i].end, TEXT, TEXT_BYTES);
		assert_int_equal(sent_deeps, rows[i].words != 0);
		assert_int_equal(task_stacks_tell(&received, serial, &words, &e), 0);
		assert_int_equal(e.stack_words, rows[i].words ? rows[i].words : SNAPSHOT_WORDS);
		free(words);
	}
}

/* What was sent for one event is not told of another whose number falls in the same place. */
static void stacks_of_others_are_not_told(void **context)
{
	(void)context;
	uint64_t sp = BASE + 8192;
	struct pugmark_witness_event e = {0};
	uint64_t *words = NULL;
	begin(9);
	assert_true(snapshot_send(sp));
	deep_send(sp + 8192, TEXT, TEXT_BYTES);
	assert_int_equal(task_stacks_tell(&received, BATCH_SNAPSHOTS, &words, &e), 0);
	assert_null(e.stack);
	for (uint32_t i = 0; i < BATCH_SNAPSHOTS; i++)
		assert_true(snapshot_send(sp));
	assert_int_equal(task_stacks_tell(&received, BATCH_SNAPSHOTS, &words, &e), 0);
	assert_int_equal(e.stack_words, SNAPSHOT_WORDS);
	assert_int_equal(task_stacks_tell(&received, 0, &words, &e), 0);
	free(words);
}

/* Whatever was given back: each stack that is told is what was there, and the last is. */
static void what_is_given_back_is_not_told(void **context)
{
	(void)context;
	uint64_t sp = BASE + 30000;
	begin(11);
	for (uint32_t i = 0; i < 5000; i++) {
		struct pugmark_witness_event e = {0};
		uint64_t *words = NULL;
		uint32_t serial = state.snapshots;
		sp = move(sp);
		live_on(sp);
		ring_full = false;
		assert_true(snapshot_send(sp));
		if (next_random() % 4 == 0) {
			task_stacks_give_back(&received);
			assert_int_equal(task_stacks_tell(&received, serial - 1, &words, &e), 0);
			assert_null(e.stack);
		}
		assert_int_equal(task_stacks_tell(&received, serial, &words, &e), 0);
		assert_non_null(e.stack);
		check_words(&e, sp);
		free(words);
	}
}

static void what_does_not_hold_together_is_left_out(void **context)
{
	(void)context;
	static const uint32_t counts[][2] = {{SNAPSHOT_WORDS + 8, 8}, {8, 16}};
	struct snapshot *s = calloc(1, 2 * sizeof(*s));
	begin(10);
	for (uint32_t i = 0; i < 2; i++) {
		struct pugmark_witness_event e = {0};
		uint64_t *words = NULL;
		s->n_words = counts[i][0];
		s->n_sent = counts[i][1];
		uint32_t bytes = offsetof(struct snapshot, words) + 8 * s->n_sent;
		assert_int_equal(task_stacks_snapshot(&received, s, bytes), 0);
		assert_int_equal(task_stacks_tell(&received, 0, &words, &e), 0);
		assert_null(e.stack);
	}
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_told_is_what_was_there),
		cmocka_unit_test(data_is_left_out),
		cmocka_unit_test(no_secret_stays),
		cmocka_unit_test(only_what_changed_is_sent),
		cmocka_unit_test(after_a_full_ring_all_is_sent),
		cmocka_unit_test(pages_that_are_not_there),
		cmocka_unit_test(addresses_further_up),
		cmocka_unit_test(the_anchor_is_the_first),
		cmocka_unit_test(the_anchor_is_looked_for_again_when_it_is_gone),
		cmocka_unit_test(it_goes_as_far_as_it_may),
		cmocka_unit_test(stacks_of_others_are_not_told),
		cmocka_unit_test(what_is_given_back_is_not_told),
		cmocka_unit_test(what_does_not_hold_together_is_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
