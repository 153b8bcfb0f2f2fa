// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_capture_batches.c: what a batch of the ring holds is read back from the file, though the
 * ring's memory is another's by then; and what is missing in it, or has no sound length, is told to
 * be lost. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "offline/capture/capture_ring.h"
#include "offline/capture/captures.h"
#include "user/values/write/capture_writer.h"

enum { TASK = 1, HEAD = offsetof(struct capture_batch, data) };

static const char table[] =
	"{\"version\":1,\"whole\":1,\"modules\":[],\"places\":[],\"mappings\":[],\"files\":[]}";

static char dir[] = "/tmp/pugmark-batches-XXXXXX";
static struct capture_writer *writer;
static struct capture_batch ring;
static size_t len;
static uint64_t number, order;

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	unlink("captures");
	return chdir("/") || rmdir(dir);
}

static void begin(void)
{
	struct pugmark_diag diag;
	int fd = open("captures", O_RDWR | O_CREAT | O_TRUNC, 0600);

	number = 0;
	order = 1;
	len = 0;
	assert_int_equal(capture_writer_open(fd, 1, &writer, &diag), 0);
}

/* Room for a record of @bytes in the batch. */
static void *add(uint64_t bytes)
{
	void *record = ring.data + len + sizeof(bytes);

	memcpy(ring.data + len, &bytes, sizeof(bytes));
	len += sizeof(bytes) + ((bytes + 7) & ~7ull);
	assert_true(len <= sizeof(ring.data));
	memset(record, 0, bytes);
	return record;
}

static void add_range(uint64_t addr, uint8_t value, uint32_t bytes)
{
	struct capture_bytes *r = add(offsetof(struct capture_bytes, data) + bytes);

	*r = (struct capture_bytes){.kind = RING_CAPTURE_RANGE, .task = TASK};
	r->len = bytes;
	r->number = number++;
	r->addr = addr;
	memset(r->data, value, bytes);
}

static void add_call(int64_t result)
{
	struct capture_note *n = add(offsetof(struct capture_note, words) + 11 * sizeof(*n->words));

	n->kind = RING_CAPTURE_KERNEL;
	n->task = TASK;
	n->place = ~0u;
	n->n_words = 11;
	n->number = number++;
	n->order = order++;
	n->words[0] = SYS_getrandom;
	n->words[1] = (uint64_t)result;
}

/* The ring hands the batch over, and is written to again. */
static void send(void)
{
	ring.kind = RING_CAPTURE_BATCH;
	ring.task = TASK;
	capture_writer_begin(writer);
	assert_int_equal(capture_writer_ring(writer, &ring, HEAD + len), 0);
	capture_writer_end(writer);
	memset(&ring, 0xff, sizeof(ring));
	len = 0;
}

static struct captures *read_back(struct captures_iter **iter)
{
	struct pugmark_diag diag;
	struct captures *captures;

	capture_writer_table(writer, table, strlen(table));
	assert_int_equal(capture_writer_close(writer, NULL, NULL), 0);
	assert_int_equal(captures_open(".", &captures, &diag), 0);
	assert_int_equal(captures_iter_new(captures, TASK, iter), 0);
	return captures;
}

static void assert_call(struct captures_iter *iter, int64_t result, uint32_t n_ranges)
{
	struct capture c;

	assert_int_equal(captures_next(iter, &c), 1);
	assert_int_equal(c.kind, CAPTURE_KERNEL);
	assert_int_equal(c.result, result);
	assert_int_equal(c.n_ranges, n_ranges);
}

static void assert_bytes(const struct capture_range *r, uint64_t addr, uint8_t value,
			 uint32_t bytes)
{
	assert_int_equal(r->addr, addr);
	assert_int_equal(r->len, bytes);
	assert_false(r->unread);
	for (uint32_t i = 0; i < bytes; i++)
		assert_int_equal(r->bytes[i], value);
}

static void assert_lost(struct captures_iter *iter, uint64_t n)
{
	struct capture c;

	assert_int_equal(captures_next(iter, &c), 1);
	assert_int_equal(c.kind, CAPTURE_LOST);
	assert_int_equal(c.lost, n);
}

static void end(struct captures *captures, struct captures_iter *iter)
{
	struct capture c;

	assert_int_equal(captures_next(iter, &c), 0);
	captures_iter_free(iter);
	captures_free(captures);
}

/* The second range's record comes with the next batch. */
static void test_ranges_outlive_their_batch(void **state)
{
	(void)state;
	struct captures_iter *iter;
	struct capture c;

	begin();
	add_range(0x1000, 'a', 13);
	add_call(13);
	add_range(0x2000, 'b', CAPTURE_CHUNK_BYTES);
	send();
	add_range(0x3000, 'c', 7);
	add_call(4103);
	send();
	struct captures *captures = read_back(&iter);
	assert_int_equal(captures_next(iter, &c), 1);
	assert_int_equal(c.n_ranges, 1);
	assert_bytes(&c.ranges[0], 0x1000, 'a', 13);
	assert_int_equal(captures_next(iter, &c), 1);
	assert_int_equal(c.result, 4103);
	assert_int_equal(c.n_ranges, 2);
	assert_bytes(&c.ranges[0], 0x2000, 'b', CAPTURE_CHUNK_BYTES);
	assert_bytes(&c.ranges[1], 0x3000, 'c', 7);
	end(captures, iter);
}

/* A batch that found the ring full; its range does not become another call's. */
static void test_what_is_missing_is_lost(void **state)
{
	(void)state;
	struct captures_iter *iter;

	begin();
	add_call(1);
	add_range(0x1000, 'a', 8);
	send();
	add_call(2);
	add_range(0x2000, 'b', 8);
	add_call(3);
	len = 0;
	add_call(4);
	send();
	struct captures *captures = read_back(&iter);
	assert_call(iter, 1, 0);
	assert_lost(iter, 3);
	assert_call(iter, 4, 0);
	end(captures, iter);
}

static void test_lengths_are_not_trusted(void **state)
{
	(void)state;
	static const uint64_t bad[] = {0, 7, sizeof(ring), UINT64_MAX, UINT64_MAX - 7};
	struct captures_iter *iter;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		begin();
		add_call(1);
		size_t at = len;
		add_call(2);
		memcpy(ring.data + at, &bad[i], sizeof(*bad));
		send();
		add_range(0x1000, 'a', 64);
		((struct capture_bytes *)(ring.data + sizeof(*bad)))->len = 65;
		send();
		add_call(3);
		send();
		struct captures *captures = read_back(&iter);
		assert_call(iter, 1, 0);
		assert_lost(iter, 2);
		assert_call(iter, 3, 0);
		end(captures, iter);
	}
}

/* It is none that is missing, and the next one is as far behind it as it says. */
static void test_a_number_that_comes_twice(void **state)
{
	(void)state;
	struct captures_iter *iter;

	begin();
	add_call(1);
	number--;
	add_call(2);
	number++;
	add_call(3);
	send();
	struct captures *captures = read_back(&iter);
	assert_call(iter, 1, 0);
	assert_call(iter, 2, 0);
	assert_lost(iter, 1);
	assert_call(iter, 3, 0);
	end(captures, iter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges_outlive_their_batch),
		cmocka_unit_test(test_what_is_missing_is_lost),
		cmocka_unit_test(test_lengths_are_not_trusted),
		cmocka_unit_test(test_a_number_that_comes_twice),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
