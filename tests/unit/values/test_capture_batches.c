// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_capture_batches.c: what a batch of the ring holds is read back from the file, though the
 * ring's memory is another's by then; and what is missing in it, or has no sound length, is told to
 * be lost. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* The ring hands the batch of @task over, and is written to again. */
static void send_of(uint32_t task)
{
	ring.kind = RING_CAPTURE_BATCH;
	ring.task = task;
	capture_writer_begin(writer, 0);
	assert_int_equal(capture_writer_ring(writer, &ring, HEAD + len), 0);
	capture_writer_end(writer, true);
	memset(&ring, 0xff, sizeof(ring));
	len = 0;
}

static void send(void)
{
	send_of(TASK);
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

static struct capture_note *add_note(uint32_t kind, uint32_t n_words)
{
	struct capture_note *n =
		add(offsetof(struct capture_note, words) + n_words * sizeof(*n->words));

	n->kind = kind;
	n->task = TASK;
	n->place = ~0u;
	n->n_words = n_words;
	n->number = number++;
	n->order = order++;
	n->ip = 0x1000;
	n->sp = 0x2000;
	for (uint32_t i = 0; i < n_words; i++)
		n->words[i] = 0x5ec4e70000000000 + i;
	return n;
}

/* Behind the last of a task none would tell by its number. */
static void test_what_is_lost_last_is_lost(void **state)
{
	(void)state;
	struct captures_iter *iter;
	struct capture c;

	for (int ends = 0; ends < 2; ends++)
		for (int lost = 1; lost < 3; lost++) {
			begin();
			add_call(1);
			send();
			number++;
			add_call(2);
			if (ends)
				add_note(RING_CAPTURE_END, 18);
			send();
			capture_writer_lost(writer, lost);
			struct captures *captures = read_back(&iter);
			assert_call(iter, 1, 0);
			assert_lost(iter, 1);
			assert_call(iter, 2, 0);
			if (ends) {
				assert_int_equal(captures_next(iter, &c), 1);
				assert_int_equal(c.kind, CAPTURE_END);
			} else if (lost > 1) {
				assert_lost(iter, 1);
			}
			end(captures, iter);
		}
}

/* Where descriptor @fd leads: a socket. */
static void add_name(uint32_t fd)
{
	struct capture_bytes *r = add(offsetof(struct capture_bytes, data));

	*r = (struct capture_bytes){.kind = RING_CAPTURE_NAME, .task = TASK};
	r->number = number++;
	r->addr = (uint64_t)S_IFSOCK << 32 | fd;
}

/* Where more is read than the kernel has written, what lies beside it is the program's own. What no
 * descriptor leads to may be of anything. */
static void test_what_lies_beside_or_comes_from_elsewhere_is_redacted(void **state)
{
	(void)state;
	static const char *const words[] = {"7"};
	const struct redaction redaction = {words, 1};
	static const struct {
		long nr;
		uint32_t hidden; /* a bit each of two ranges */
	} calls[] = {{SYS_fstat, 0},	     {SYS_select, 3},	 {SYS_getpeername, 3},
		     {SYS_shmctl, 3},	     {SYS_ioctl, 3},	 {SYS_accept4, 3},
		     {SYS_get_mempolicy, 3}, {SYS_recvfrom, 2},	 {SYS_msgrcv, 3},
		     {SYS_getxattr, 3},	     {SYS_lgetxattr, 3}, {SYS_listxattr, 3},
		     {SYS_llistxattr, 3},    {SYS_syslog, 3},	 {SYS_process_vm_readv, 3}};
	struct captures_iter *iter;
	struct capture c;

	begin();
	capture_writer_redact(writer, &redaction);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		add_name(3);
		add_range(0x1000, 'a', 8);
		add_range(0x2000, 'b', 8);
		struct capture_note *n = add_note(RING_CAPTURE_KERNEL, 8);
		memset(n->words, 0, 8 * sizeof(*n->words));
		n->words[0] = (uint64_t)calls[i].nr;
		n->words[6] = 0x2000;
	}
	send();
	struct captures *captures = read_back(&iter);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		assert_int_equal(captures_next(iter, &c), 1);
		assert_int_equal(c.nr, calls[i].nr);
		assert_int_equal(c.n_ranges, 2);
		for (int k = 0; k < 2; k++)
			assert_int_equal(c.ranges[k].unread, calls[i].hidden >> k & 1);
	}
	end(captures, iter);
}

/* Whoever waits for the end hears of a full disk before it; and of a file that could not be made.
 */
static void test_what_keeps_from_writing_is_told(void **state)
{
	(void)state;
	struct capture_writer *none = NULL;
	struct pugmark_diag diag;

	assert_int_equal(capture_writer_open(-ENOSPC, 1, &none, &diag), -ENOSPC);
	capture_writer_lost(none, 1);
	assert_int_equal(capture_writer_close(none, NULL, NULL), 0);

	int fd = open("/dev/full", O_RDWR);
	assert_int_equal(capture_writer_open(fd, 1, &writer, &diag), 0);
	assert_int_equal(capture_writer_error(writer), 0);
	capture_writer_table(writer, table, strlen(table));
	assert_int_equal(capture_writer_error(writer), -ENOSPC);
	assert_int_equal(capture_writer_close(writer, NULL, NULL), -ENOSPC);
}

/* A record of the ring that is in no batch; the ring's memory is another's then. */
static void test_a_range_alone_is_kept(void **state)
{
	(void)state;
	struct captures_iter *iter;
	struct capture c;

	begin();
	add_range(0x1000, 'a', 13);
	capture_writer_begin(writer, 0);
	assert_int_equal(capture_writer_ring(writer, ring.data + sizeof(uint64_t),
					     offsetof(struct capture_bytes, data) + 13),
			 0);
	capture_writer_end(writer, true);
	memset(&ring, 0xff, sizeof(ring));
	len = 0;
	add_call(13);
	send();
	struct captures *captures = read_back(&iter);
	assert_int_equal(captures_next(iter, &c), 1);
	assert_int_equal(c.n_ranges, 1);
	assert_bytes(&c.ranges[0], 0x1000, 'a', 13);
	end(captures, iter);
}

/* Of where a signal finds a task, and where it loses the processor, ip and sp are left; and nothing
 * that was read before becomes the loss's, if the record is missing that it is over. */
static void test_registers_are_redacted(void **state)
{
	(void)state;
	static const char *const words[] = {"0"};
	const struct redaction redaction = {words, 1};
	struct captures_iter *iter;
	struct capture c;

	for (int hides = 0; hides < 2; hides++) {
		begin();
		if (hides)
			capture_writer_redact(writer, &redaction);
		add_note(RING_CAPTURE_SIGNAL, 19);
		add_note(RING_CAPTURE_SWITCH, 18);
		add_note(RING_CAPTURE_ON, 0);
		add_note(RING_CAPTURE_SWITCH, 18);
		number++;
		add_range(0x1000, 's', 8);
		add_note(RING_CAPTURE_KERNEL, 8)->words[0] = SYS_read;
		add_note(RING_CAPTURE_KERNEL, 8)->words[0] = SYS_rt_sigreturn;
		send();
		struct captures *captures = read_back(&iter);
		assert_int_equal(captures_next(iter, &c), 1);
		assert_int_equal(c.kind, CAPTURE_SIGNAL);
		assert_int_equal(c.known, hides ? 0 : CAPTURE_ALL_KNOWN);
		assert_true(c.ip == 0x1000 && c.sp == 0x2000);
		assert_int_equal(c.signal, 17);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(captures_next(iter, &c), 1);
			if (c.kind == CAPTURE_LOST)
				assert_int_equal(captures_next(iter, &c), 1);
			assert_int_equal(c.kind, CAPTURE_SWITCH);
			assert_int_equal(c.known, hides ? 0 : CAPTURE_ALL_KNOWN);
			assert_true(c.ip == 0x1000 && c.sp == 0x2000 && c.trapped);
			assert_int_equal(c.n_ranges, 0);
			for (int r = 0; r < 16; r++)
				assert_int_equal(c.regs[r], hides ? 0 : 0x5ec4e70000000000 + r);
		}
		assert_int_equal(captures_next(iter, &c), 1);
		assert_int_equal(c.kind, CAPTURE_KERNEL);
		assert_int_equal(c.n_ranges, 1);
		assert_int_equal(c.ranges[0].unread, hides);
		assert_int_equal(captures_next(iter, &c), 1);
		assert_true(hides ? !c.result : c.result == 0x5ec4e70000000001);
		assert_true(hides ? !c.args[0] : c.args[0] == 0x5ec4e70000000002);
		end(captures, iter);
	}
}

/* Where registers are missing, those of what stands behind it are not taken for them. */
static void test_a_short_note_is_not_read_past(void **state)
{
	(void)state;
	struct captures_iter *iter;
	struct capture c;

	begin();
	add_note(RING_CAPTURE_SWITCH, 4);
	add_note(RING_CAPTURE_ON, 0);
	send();
	add_call(1);
	send();
	struct captures *captures = read_back(&iter);
	assert_int_equal(captures_next(iter, &c), 1);
	assert_int_equal(c.kind, CAPTURE_SWITCH);
	for (int r = 0; r < 16; r++)
		assert_int_equal(c.regs[r], r < 4 ? 0x5ec4e70000000000 + r : 0);
	assert_call(iter, 1, 0);
	end(captures, iter);
}

/* Where the kernel does not tell when a task gets the processor back, that is the number of the
 * last switch, which may be its own loss: it is still told that it began, and where. */
static void test_a_loss_is_told_that_is_over_at_its_own_number(void **state)
{
	(void)state;
	struct captures_iter *iter;
	struct capture c;

	begin();
	add_call(1);
	uint64_t lost = add_note(RING_CAPTURE_SWITCH, 18)->order;
	add_note(RING_CAPTURE_ON, 0)->order = lost;
	send();
	struct captures *captures = read_back(&iter);
	assert_call(iter, 1, 0);
	assert_int_equal(captures_next(iter, &c), 1);
	assert_int_equal(c.kind, CAPTURE_SWITCH);
	assert_int_equal(c.entered, lost);
	assert_int_equal(c.order, lost + 1);
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

static void add_end(void)
{
	struct capture_note *n = add(offsetof(struct capture_note, words) + 18 * sizeof(*n->words));

	n->kind = RING_CAPTURE_END;
	n->place = ~0u;
	n->n_words = 18;
	n->number = number++;
	n->order = order++;
}

/* As many processes as a shell starts in a day; and what comes of one behind its end is kept. */
static void test_tasks_that_have_ended_take_no_memory(void **state)
{
	(void)state;
	enum { TASKS = 1000, BYTES_EACH = 2048 };
	struct captures_iter *iter;
	struct capture c;

	begin();
	size_t before = mallinfo2().uordblks;
	for (uint32_t task = TASK; task <= TASKS; task++) {
		number = 0;
		add_call(task);
		add_end();
		send_of(task);
	}
	assert_true(mallinfo2().uordblks < before + TASKS * BYTES_EACH);
	number = 2;
	add_call(7);
	send();
	struct captures *captures = read_back(&iter);
	assert_call(iter, TASK, 0);
	assert_int_equal(captures_next(iter, &c), 1);
	assert_int_equal(c.kind, CAPTURE_END);
	assert_call(iter, 7, 0);
	end(captures, iter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges_outlive_their_batch),
		cmocka_unit_test(test_what_is_missing_is_lost),
		cmocka_unit_test(test_what_is_lost_last_is_lost),
		cmocka_unit_test(test_a_range_alone_is_kept),
		cmocka_unit_test(test_what_keeps_from_writing_is_told),
		cmocka_unit_test(test_registers_are_redacted),
		cmocka_unit_test(test_what_lies_beside_or_comes_from_elsewhere_is_redacted),
		cmocka_unit_test(test_a_short_note_is_not_read_past),
		cmocka_unit_test(test_a_loss_is_told_that_is_over_at_its_own_number),
		cmocka_unit_test(test_lengths_are_not_trusted),
		cmocka_unit_test(test_a_number_that_comes_twice),
		cmocka_unit_test(test_tasks_that_have_ended_take_no_memory),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
