// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_passages.c: which write brought what a read got, where that follows from the notes, and that
 * it is not told where it does not; notes survive their code, and damaged ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "offline/capture/passages.h"

enum { PIPE = 7, MOST = 16 };

static struct channel_note notes[MOST];
static size_t n;
static struct passages *made;

/* In the order of @order. */
static struct channel_note *add(uint8_t what, uint8_t kind, uint32_t task, uint64_t entered,
				uint64_t order, uint64_t bytes)
{
	notes[n] = (struct channel_note){.what = what,
					 .kind = kind,
					 .task = task,
					 .entered = entered,
					 .order = order,
					 .bytes = bytes,
					 .end = PIPE,
					 .peer = PIPE};
	return &notes[n++];
}

static struct passage back(uint32_t task, uint64_t order, uint64_t offset, uint64_t bytes)
{
	struct families families = {0};
	struct channel_note *copy = calloc(MOST, sizeof(*copy));
	assert_non_null(copy);
	memcpy(copy, notes, sizeof(notes));
	passages_free(made);
	made = NULL;
	assert_int_equal(passages_of(copy, n, &families, &made), 0);
	return passages_back(made, task, order, offset, bytes);
}

static int begin(void **state)
{
	(void)state;
	n = 0;
	return 0;
}

static int end(void **state)
{
	(void)state;
	passages_free(made);
	made = NULL;
	return 0;
}

static void is_from(struct passage p, uint32_t task, uint64_t order, uint64_t offset,
		    uint64_t bytes)
{
	assert_int_equal(p.kind, PASSAGE_FROM);
	assert_int_equal(p.task, task);
	assert_int_equal(p.order, order);
	assert_int_equal(p.offset, offset);
	assert_int_equal(p.bytes, bytes);
}

/* Bytes of a pipe are counted; a read may begin before the write that it waits for. */
static void test_pipe(void **state)
{
	(void)state;
	add(CHANNEL_MADE, CHANNEL_PIPE, 1, 1, 2, 0);
	add(CHANNEL_WRITE, CHANNEL_PIPE, 1, 3, 4, 10);
	add(CHANNEL_READ, CHANNEL_PIPE, 2, 3, 5, 4);
	add(CHANNEL_WRITE, CHANNEL_PIPE, 1, 6, 7, 10);
	add(CHANNEL_READ, CHANNEL_PIPE, 2, 8, 9, 16);
	is_from(back(2, 5, 1, 3), 1, 4, 1, 3);
	is_from(back(2, 9, 0, 16), 1, 4, 4, 6);
	is_from(back(2, 9, 6, 10), 1, 7, 0, 10);
	assert_int_equal(back(2, 9, 16, 1).kind, PASSAGE_NONE);
}

static void test_pipe_beside(void **state)
{
	(void)state;
	add(CHANNEL_MADE, CHANNEL_PIPE, 1, 1, 2, 0);
	add(CHANNEL_WRITE, CHANNEL_PIPE, 1, 3, 5, 10);
	add(CHANNEL_WRITE, CHANNEL_PIPE, 2, 4, 6, 10);
	add(CHANNEL_WRITE, CHANNEL_PIPE, 2, 7, 8, 5);
	add(CHANNEL_READ, CHANNEL_PIPE, 3, 9, 10, 20);
	add(CHANNEL_READ, CHANNEL_PIPE, 3, 11, 12, 5);
	assert_int_equal(back(3, 10, 0, 20).kind, PASSAGE_WRITERS);
	/* Behind both it is certain again. */
	is_from(back(3, 12, 0, 5), 2, 8, 0, 5);
	add(CHANNEL_READ, CHANNEL_PIPE, 4, 11, 13, 1);
	assert_int_equal(back(3, 12, 0, 5).kind, PASSAGE_READERS);
}

static void test_pipe_of_others(void **state)
{
	(void)state;
	add(CHANNEL_WRITE, CHANNEL_PIPE, 1, 3, 4, 10);
	add(CHANNEL_READ, CHANNEL_PIPE, 2, 5, 6, 4);
	assert_int_equal(back(2, 6, 0, 4).kind, PASSAGE_EARLIER);
	n = 0;
	add(CHANNEL_MADE, CHANNEL_PIPE, 1, 1, 2, 0);
	add(CHANNEL_WRITE, CHANNEL_PIPE, 1, 3, 4, 10);
	add(CHANNEL_READ, CHANNEL_PIPE, 2, 5, 6, 4);
	add(CHANNEL_UNTOLD, 0, 1, 7, 8, 0);
	add(CHANNEL_READ, CHANNEL_PIPE, 2, 9, 10, 4);
	is_from(back(2, 6, 0, 4), 1, 4, 0, 4);
	assert_int_equal(back(2, 10, 0, 4).kind, PASSAGE_OTHERS);
	n = 0;
	add(CHANNEL_READ, CHANNEL_PIPE, 2, 5, 6, 4);
	assert_int_equal(back(2, 6, 0, 4).kind, PASSAGE_NONE);
	n = 0; /* more was read than was written */
	add(CHANNEL_MADE, CHANNEL_PIPE, 1, 1, 2, 0);
	add(CHANNEL_WRITE, CHANNEL_PIPE, 1, 3, 4, 2);
	add(CHANNEL_READ, CHANNEL_PIPE, 2, 5, 6, 4);
	is_from(back(2, 6, 0, 4), 1, 4, 0, 2);
	assert_int_equal(back(2, 6, 2, 2).kind, PASSAGE_OTHERS);
}

static void test_peek(void **state)
{
	(void)state;
	struct channel_note *note = add(CHANNEL_MADE, CHANNEL_UNIX, 1, 1, 2, 0);
	note->peer = PIPE + 1;
	note = add(CHANNEL_MADE, CHANNEL_UNIX, 1, 1, 2, 0);
	note->end = PIPE + 1;
	note = add(CHANNEL_WRITE, CHANNEL_UNIX, 1, 3, 4, 10);
	note->peer = PIPE + 1;
	note = add(CHANNEL_READ, CHANNEL_UNIX, 2, 5, 6, 4);
	note->end = PIPE + 1;
	note->peer = PIPE;
	note->flags = CHANNEL_STAYS;
	note = add(CHANNEL_READ, CHANNEL_UNIX, 2, 7, 8, 10);
	note->end = PIPE + 1;
	note->peer = 0; /* the other end is closed: the note before told it */
	is_from(back(2, 6, 0, 4), 1, 4, 0, 4);
	is_from(back(2, 8, 0, 10), 1, 4, 0, 10);
}

/* Sequence numbers go round. */
static void test_tcp(void **state)
{
	(void)state;
	struct channel_note *note = add(CHANNEL_WRITE, CHANNEL_TCP, 1, 3, 4, 10);
	note->peer = PIPE + 1;
	note->position = UINT32_MAX - 3;
	note = add(CHANNEL_READ, CHANNEL_TCP, 2, 5, 6, 10);
	note->end = PIPE + 1;
	note->peer = PIPE;
	note->position = 1;
	is_from(back(2, 6, 0, 5), 1, 4, 5, 5);
	assert_int_equal(back(2, 6, 5, 5).kind, PASSAGE_EARLIER);
}

static struct channel_note *at(struct channel_note *note, uint64_t position, uint64_t before,
			       uint64_t after)
{
	note->position = position;
	note->before = before;
	note->after = after;
	return note;
}

/* The last write of a byte counts, and only if nobody else has changed the file since. */
static void test_file(void **state)
{
	(void)state;
	at(add(CHANNEL_WRITE, CHANNEL_FILE, 1, 1, 2, 10), 0, 50, 60);
	at(add(CHANNEL_WRITE, CHANNEL_FILE, 2, 3, 4, 4), 3, 60, 70);
	at(add(CHANNEL_READ, CHANNEL_FILE, 1, 5, 6, 12), 0, 70, 70);
	is_from(back(1, 6, 0, 12), 1, 2, 0, 3);
	is_from(back(1, 6, 3, 9), 2, 4, 0, 4);
	is_from(back(1, 6, 7, 5), 1, 2, 7, 3);
	assert_int_equal(back(1, 6, 10, 2).kind, PASSAGE_NONE);
	notes[2].before = notes[2].after = 75;
	assert_int_equal(back(1, 6, 0, 12).kind, PASSAGE_OTHERS);
	notes[2].before = notes[2].after = 70;
	notes[1].before = 65; /* before the second write, which alone is certain then */
	assert_int_equal(back(1, 6, 0, 3).kind, PASSAGE_OTHERS);
	is_from(back(1, 6, 3, 4), 2, 4, 0, 4);
	notes[1].before = 60;
	notes[1].entered = 1; /* at the same time as the first */
	assert_int_equal(back(1, 6, 3, 4).kind, PASSAGE_WRITERS);
	is_from(back(1, 6, 0, 3), 1, 2, 0, 3);
	notes[1].entered = 3;
	notes[2].entered = 3; /* the read, as the second write */
	assert_int_equal(back(1, 6, 3, 4).kind, PASSAGE_READERS);
}

static void test_file_cut(void **state)
{
	(void)state;
	at(add(CHANNEL_CUT, CHANNEL_FILE, 1, 1, 2, 0), 0, 50, 60);
	at(add(CHANNEL_WRITE, CHANNEL_FILE, 1, 3, 4, 10), 0, 60, 70);
	at(add(CHANNEL_READ, CHANNEL_FILE, 1, 5, 6, 10), 0, 70, 70);
	is_from(back(1, 6, 0, 10), 1, 4, 0, 10);
	n = 2;
	at(add(CHANNEL_CUT, CHANNEL_FILE, 1, 5, 6, 0), 0, 70, 80);
	at(add(CHANNEL_READ, CHANNEL_FILE, 1, 7, 8, 10), 0, 80, 80);
	assert_int_equal(back(1, 8, 0, 10).kind, PASSAGE_OTHERS);
}

static void count(void *ctx, uint32_t task, uint64_t order, uint64_t offset,
		  const struct passage *p)
{
	uint64_t *bytes = ctx;
	assert_int_equal(p->kind, PASSAGE_FROM);
	assert_true((task == 2 && order == 5 && !offset) || (task == 2 && order == 9 && !offset));
	*bytes += p->bytes;
}

static void test_on(void **state)
{
	uint64_t bytes = 0;
	test_pipe(state);
	passages_on(made, 1, 4, count, &bytes);
	assert_int_equal(bytes, 10);
}

static uint64_t seed = 88172645463325252u;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed >> (seed & 63);
}

static void test_code(void **state)
{
	(void)state;
	enum { TIMES = 300, MOVED = 0x7ffff001 };
	const uint64_t ORDERS = UINT64_MAX / TIMES;
	static struct channel_note told[TIMES];
	struct bytes payload = {0};
	struct channel_note none = {0}, got;
	for (int i = 0; i < TIMES; i++) {
		told[i] =
			(struct channel_note){.what = 1 + any() % CHANNEL_MISSED,
					      .kind = any() % CHANNEL_TCP,
					      .flags = any(),
					      .order = (i ? told[i - 1].order : 0) + any() % ORDERS,
					      .bytes = any() % MOVED,
					      .device = any(),
					      .end = any(),
					      .peer = any(),
					      .position = any(),
					      .before = any()};
		told[i].entered = told[i].order - any() % (told[i].order + 1);
		told[i].after = told[i].before + any();
		channel_note_put(&payload, i ? &told[i - 1] : &none, &told[i]);
	}
	struct cursor at = {payload.data, payload.data + payload.len};
	for (int i = 0; i < TIMES; i++) {
		assert_true(channel_note_get(&at, i ? &told[i - 1] : &none, &got));
		assert_memory_equal(&got, &told[i], sizeof(got));
	}
	assert_ptr_equal(at.at, at.end);
	for (size_t cut = 0; cut < 12; cut++) {
		at = (struct cursor){payload.data, payload.data + cut};
		assert_false(channel_note_get(&at, &none, &got));
	}
	bytes_deinit(&payload);
}

/* What no call does is damage: notes behind it would be told of others. */
static void test_damaged(void **state)
{
	(void)state;
	const struct channel_note none = {0}, sound = {.what = CHANNEL_READ,
						       .kind = CHANNEL_TCP,
						       .order = 5,
						       .entered = 4,
						       .bytes = 0x7ffff000,
						       .position = UINT32_MAX};
	struct channel_note all[8], got;
	for (int i = 0; i < 8; i++)
		all[i] = sound;
	all[1].what = 0;
	all[2].what = CHANNEL_MISSED + 1;
	all[3].kind = CHANNEL_TCP + 1;
	all[4].entered = 6;
	all[5].bytes++;
	all[6].position++;
	all[7].order = all[7].entered = UINT64_MAX;
	for (int i = 0; i < 8; i++) {
		const struct channel_note *last = i == 7 ? &sound : &none;
		struct bytes payload = {0};
		channel_note_put(&payload, i == 7 ? &none : last, &all[i]);
		struct cursor at = {payload.data, payload.data + payload.len};
		assert_int_equal(channel_note_get(&at, last, &got), !i);
		bytes_deinit(&payload);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pipe, begin, end),
		cmocka_unit_test_setup_teardown(test_pipe_beside, begin, end),
		cmocka_unit_test_setup_teardown(test_pipe_of_others, begin, end),
		cmocka_unit_test_setup_teardown(test_peek, begin, end),
		cmocka_unit_test_setup_teardown(test_tcp, begin, end),
		cmocka_unit_test_setup_teardown(test_file, begin, end),
		cmocka_unit_test_setup_teardown(test_file_cut, begin, end),
		cmocka_unit_test_setup_teardown(test_on, begin, end),
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_damaged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
