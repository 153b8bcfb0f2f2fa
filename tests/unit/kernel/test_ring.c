// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_ring.c: claims about reading a ring of records, of which a file in memory takes the kernel's
 * place: whole records are handed over, also one that goes on at the ring's beginning; one that is
 * still being written, or was given up, is not; and where a length cannot be one, that is an error
 * that says so once, and nothing of it is handed over. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "user/kernel/ring.h"

enum { PAGE = 4096, SIZE = 4 * PAGE, HEADER = BPF_RINGBUF_HDR_SZ };

int __wrap_bpf_map_get_info_by_fd(int fd, struct bpf_map_info *info, uint32_t *len);
int __wrap_bpf_map_get_info_by_fd(int fd, struct bpf_map_info *info, uint32_t *len)
{
	(void)fd;
	(void)len;
	info->max_entries = SIZE;
	return 0;
}

/* The kernel's side. */
struct fake {
	int fd;
	char *map; /* a page of what was read, one of what was written, the ring */
	struct ring_reader *reader;
	uint32_t n, sum, stop_after;
};

static int take(void *context, void *data, size_t bytes)
{
	struct fake *f = context;
	for (size_t i = 0; i < bytes; i++)
		f->sum += ((unsigned char *)data)[i];
	return ++f->n == f->stop_after ? 7 : 0;
}

static unsigned long *written(const struct fake *f)
{
	return (unsigned long *)(f->map + PAGE);
}

static void begin(struct fake *f, unsigned long at)
{
	*f = (struct fake){.fd = memfd_create("ring", 0)};
	assert_true(f->fd >= 0);
	assert_int_equal(ftruncate(f->fd, 2 * PAGE + SIZE), 0);
	f->map = mmap(NULL, 2 * PAGE + SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	assert_true(f->map != MAP_FAILED);
	*(unsigned long *)f->map = *written(f) = at;
	f->reader = ring_open(f->fd, take, f);
	assert_non_null(f->reader);
}

static void end(struct fake *f)
{
	ring_close(f->reader);
	munmap(f->map, 2 * PAGE + SIZE);
	close(f->fd);
}

static void put_byte(struct fake *f, unsigned long at, char value)
{
	f->map[2 * PAGE + at % SIZE] = value;
}

/* A record of @bytes bytes, each of them 1, whose header says @len. */
static void put(struct fake *f, uint32_t bytes, uint32_t len)
{
	unsigned long at = *written(f);
	for (uint32_t i = 0; i < bytes; i++)
		put_byte(f, at + HEADER + i, 1);
	memcpy(f->map + 2 * PAGE + at % SIZE, &len, sizeof(len)); /* at a multiple of 8 */
	*written(f) = at + ((bytes + HEADER + 7) & ~7ul);
}

static void whole_records_are_handed_over(void **state)
{
	struct fake f;
	(void)state;
	begin(&f, SIZE - 64);
	put(&f, 100, 100); /* goes on at the beginning */
	put(&f, 30, 30 | BPF_RINGBUF_DISCARD_BIT);
	put(&f, 1, 1);
	put(&f, 50, 50 | BPF_RINGBUF_BUSY_BIT);
	put(&f, 9, 9);
	assert_int_equal(ring_consume(f.reader), 0);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.sum, 101);
	assert_false(ring_is_empty(f.reader));
	end(&f);
}

static void who_takes_records_may_end_it(void **state)
{
	struct fake f;
	(void)state;
	begin(&f, 0);
	f.stop_after = 2;
	for (int i = 0; i < 3; i++)
		put(&f, 8, 8);
	assert_int_equal(ring_consume(f.reader), 7);
	assert_int_equal(f.n, 2);
	assert_int_equal(ring_consume(f.reader), 0);
	assert_int_equal(f.n, 3);
	end(&f);
}

/* Of a ring whose second record is damaged, the first is handed over; the rest is given up. */
static void damaged(uint32_t bytes, uint32_t len)
{
	struct fake f;
	begin(&f, 3 * SIZE);
	put(&f, 20, 20);
	put(&f, bytes, len);
	put(&f, 5, 5);
	assert_int_equal(ring_consume(f.reader), -EBADMSG);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.sum, 20);
	assert_true(ring_is_empty(f.reader));
	assert_int_equal(ring_consume(f.reader), 0);
	put(&f, 4, 4); /* and what comes later is read again */
	assert_int_equal(ring_consume(f.reader), 0);
	assert_int_equal(f.sum, 24);
	end(&f);
}

static void a_length_that_cannot_be_is_an_error(void **state)
{
	(void)state;
	damaged(40, (1u << 20) + 1);			      /* longer than any record */
	damaged(40, 40 + SIZE / 2);			      /* past what was written */
	damaged(40, 40 + 8 + HEADER + 5 + HEADER);	      /* by a little */
	damaged(40, (60 + HEADER) | BPF_RINGBUF_DISCARD_BIT); /* the same, given up */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_records_are_handed_over),
		cmocka_unit_test(who_takes_records_may_end_it),
		cmocka_unit_test(a_length_that_cannot_be_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
