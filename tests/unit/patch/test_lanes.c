// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_lanes.c: claims about what is read of lanes whose memory a program may write as it likes, on
 * an area made by hand: what it makes up is counted as lost, and what is there is told all the
 * same; what is written late, behind the end of a full chunk, is told; a chunk that never becomes
 * whole takes nobody's room, nor does one of a lane that cannot be. No more is told than
 * a chunk has, whatever a program says of how far it is; and memory grows with the chunks that it
 * fills, not with the numbers that it makes up. A disk that takes nothing keeps nobody waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "user/patch/area.h"
#include "user/patch/lanes.h"

enum { CHUNKS = 4 };

static struct area area;
static struct patch_record record;
static struct lanes *lanes;
static uint8_t *memory;
static struct patch_shared *shared;
static uint32_t told, last_site;

static void on_record(void *ctx, uint64_t pos, uint32_t head, uint64_t frame, uint64_t ret,
		      uint64_t target)
{
	(void)ctx, (void)pos, (void)frame, (void)ret, (void)target;
	told++;
	last_site = head & PATCH_HEAD_SITE;
}
static const struct lanes_sink sink = {.record = on_record};

static uint64_t take(uint64_t from, uint64_t to)
{
	uint64_t lost = 0;

	told = 0;
	assert_int_equal(lanes_take(lanes, 1, 7, from, to, &sink, &lost), 0);
	return lost;
}

static struct patch_chunk *chunk(uint32_t i)
{
	return (struct patch_chunk *)(memory + (size_t)PATCH_CHUNK * (i + 1));
}

static void write_head(struct patch_chunk *c, uint32_t off, uint32_t head)
{
	__atomic_store_n((uint32_t *)((uint8_t *)c + off), head, __ATOMIC_RELEASE);
}

/* Chunk @i is taken as number @serial of lane 7, with events of 12 bytes up to @end. */
static struct patch_chunk *fill(uint32_t i, uint32_t serial, uint32_t end)
{
	struct patch_chunk *c = chunk(i);

	c->lane = 7;
	c->serial = serial;
	for (uint32_t off = PATCH_CHUNK_HEADER; off + 12 <= end; off += 12)
		write_head(c, off, PATCH_HEAD_SET | serial);
	__atomic_store_n(&c->state, PATCH_TAKEN, __ATOMIC_RELEASE);
	return c;
}

static int set_up(void **state)
{
	int dir = open("/tmp", O_PATH | O_DIRECTORY);
	struct patch_shared as = {.n_chunks = CHUNKS, .waits = 1, .stamp_bytes = PATCH_CHUNK};
	struct lanes_image image = {.area = &area};

	(void)state;
	area.record = &record;
	record.recorder = getpid();
	area.fd = area.chunks_fd = memfd_create("lanes", 0);
	assert_int_equal(ftruncate(area.fd, patch_chunks_bytes(CHUNKS)), 0);
	memory = mmap(NULL, patch_chunks_bytes(CHUNKS), PROT_READ | PROT_WRITE, MAP_SHARED, area.fd,
		      0);
	assert_true(memory != MAP_FAILED);
	shared = (struct patch_shared *)memory;
	*shared = as;
	assert_int_equal(lanes_new(dir, false, &lanes), 0);
	assert_int_equal(lanes_add(lanes, area.fd, &as, &image), 1);
	close(dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	lanes_free(lanes);
	munmap(memory, patch_chunks_bytes(CHUNKS));
	close(area.fd);
	return 0;
}

static void what_is_made_up_is_lost_and_no_more(void **state)
{
	const uint32_t end = PATCH_CHUNK_HEADER + 12 * 10;

	(void)state;
	fill(0, 1, end);
	assert_int_equal(take(0, PATCH_POSITION(1, end)), 0);
	assert_int_equal(told, 10);
	/* A number that never was; the highest there is; one behind it that is there. */
	assert_true(take(PATCH_POSITION(1, end), PATCH_POSITION(5, 400)) > 0);
	assert_true(take(PATCH_POSITION(5, 400), PATCH_POSITION(UINT32_MAX, PATCH_CHUNK)) > 0);
	assert_true(take(PATCH_POSITION(UINT32_MAX, 400), PATCH_POSITION(UINT32_MAX, 800)) > 0);
	fill(1, 9, end);
	assert_true(take(PATCH_POSITION(2, 400), PATCH_POSITION(9, end)) > 0);
	assert_int_equal(told, 10);
	assert_int_equal(last_site, 9);
	/* Nothing lies between two positions that are one, in the last chunk of all either. */
	fill(2, UINT32_MAX, end);
	assert_int_equal(take(PATCH_POSITION(UINT32_MAX, end), PATCH_POSITION(UINT32_MAX, end)), 0);
	assert_int_equal(told, 0);
	take(PATCH_POSITION(UINT32_MAX, PATCH_CHUNK_HEADER),
	     PATCH_POSITION(UINT32_MAX, PATCH_CHUNK_HEADER));
	assert_int_equal(told, 0);
}

/* A handler takes the next chunk between reserving and writing; then what it interrupted is
 * written. */
static void *write_late(void *arg)
{
	struct patch_chunk *c = arg;
	uint32_t off = PATCH_CHUNK_HEADER;

	while (off < PATCH_FILLED)
		off += 12;
	usleep(5000);
	c->closed = off + 12;
	__atomic_store_n(&c->state, PATCH_FULL, __ATOMIC_RELEASE);
	usleep(5000);
	write_head(c, off, PATCH_HEAD_SET | 77);
	return NULL;
}

static void what_is_written_late_is_told(void **state)
{
	struct patch_chunk *c = fill(0, 1, PATCH_FILLED + 11);
	uint32_t n = (PATCH_FILLED - PATCH_CHUNK_HEADER + 11) / 12;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, write_late, c), 0);
	uint64_t lost = take(0, PATCH_POSITION(1, PATCH_CHUNK));
	pthread_join(thread, NULL);
	assert_int_equal(lost, 0);
	assert_int_equal(told, n + 1);
	assert_int_equal(last_site, 77);
}

/* Handlers that leave by siglongjmp leave records unwritten in every chunk there is. */
static void what_never_is_whole_takes_no_room(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CHUNKS; i++) {
		struct patch_chunk *c = fill(i, i + 1, 3000);

		c->closed = PATCH_FILLED;
		__atomic_store_n(&c->state, PATCH_FULL, __ATOMIC_RELEASE);
	}
	for (int i = 0;
	     i < 5000 && __atomic_load_n(&shared->n_chunks, __ATOMIC_ACQUIRE) < 2 * CHUNKS; i++)
		usleep(1000);
	assert_int_equal(__atomic_load_n(&shared->n_chunks, __ATOMIC_ACQUIRE), 2 * CHUNKS);
}

static void what_is_of_no_lane_is_given_back(void **state)
{
	static const uint32_t made_up[CHUNKS] = {0, UINT32_MAX, 1u << 22, UINT32_MAX - 64};

	(void)state;
	for (uint32_t i = 0; i < CHUNKS; i++) {
		struct patch_chunk *c = fill(i, i + 1, PATCH_FILLED + 11);

		c->lane = made_up[i];
		c->closed = PATCH_FILLED;
		__atomic_store_n(&c->state, PATCH_FULL, __ATOMIC_RELEASE);
	}
	for (uint32_t i = 0; i < CHUNKS; i++) {
		for (int k = 0; k < 5000 && __atomic_load_n(&chunk(i)->state, __ATOMIC_ACQUIRE);
		     k++)
			usleep(1000);
		assert_int_equal(__atomic_load_n(&chunk(i)->state, __ATOMIC_ACQUIRE), PATCH_FREE);
	}
}

/* Fills chunks of @n lanes, the highest numbers that there may be, and waits until they are taken
 * out. */
static void fill_high_lanes(uint32_t n)
{
	for (uint32_t k = 0; k < n;) {
		for (uint32_t i = 0; i < CHUNKS && k < n; i++) {
			struct patch_chunk *c = chunk(i);

			if (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) != PATCH_FREE)
				continue;
			c->lane = (1u << 22) - 1 - k;
			c->serial = 1;
			__atomic_store_n(&c->state, PATCH_ENDED, __ATOMIC_RELEASE);
			k++;
		}
		usleep(50);
	}
	for (uint32_t i = 0; i < CHUNKS; i++)
		while (__atomic_load_n(&chunk(i)->state, __ATOMIC_ACQUIRE) != PATCH_FREE)
			usleep(50);
}

static uint64_t own_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long long kb = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "RssAnon: %llu", &kb) != 1)
		;
	if (f)
		fclose(f);
	return kb * 1024;
}

static void numbers_of_lanes_take_no_memory(void **state)
{
	uint64_t before = own_bytes();

	(void)state;
	fill_high_lanes(8);
	uint64_t after = own_bytes();
	assert_true(after < before + (8 << 20));
}

/* A ring that says now that it is at the begin of its lane, now at the end: no more is told than a
 * chunk has. What follows may be told before what it follows, by another thread. */
static void what_was_told_is_not_told_again(void **state)
{
	const uint32_t half = PATCH_CHUNK_HEADER + 12 * 10000,
		       n = (PATCH_FILLED - PATCH_CHUNK_HEADER) / 12;
	const uint32_t end = PATCH_CHUNK_HEADER + 12 * n;
	uint32_t all = 0;

	(void)state;
	struct patch_chunk *c = fill(0, 1, PATCH_FILLED + 11);
	assert_int_equal(take(PATCH_POSITION(1, half), PATCH_POSITION(1, end)), 0);
	assert_int_equal(told, n - 10000);
	assert_int_equal(take(0, PATCH_POSITION(1, half)), 0);
	assert_int_equal(told, 10000);
	for (int i = 0; i < 100; i++) {
		take(0, PATCH_POSITION(1, half));
		all += told;
	}
	c->closed = PATCH_FILLED;
	__atomic_store_n(&c->state, PATCH_FULL, __ATOMIC_RELEASE);
	while (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) != PATCH_FREE)
		usleep(1000);
	for (int i = 0; i < 100; i++) { /* nor once it is stored */
		take(0, PATCH_POSITION(1, PATCH_CHUNK));
		all += told;
	}
	assert_int_equal(all, 0);
}

/* What cannot be put aside stays where it is, and is read from there; nobody waits for it for long,
 * and why is told. */
static void what_is_not_written_is_waited_for_shortly(void **state)
{
	const struct rlimit none = {0, RLIM_INFINITY}, any = {RLIM_INFINITY, RLIM_INFINITY};
	const uint32_t end = PATCH_CHUNK_HEADER + 12 * 20000;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	struct patch_chunk *c = fill(0, 1, end);
	c->closed = end;
	__atomic_store_n(&c->state, PATCH_ENDED, __ATOMIC_RELEASE);
	for (int i = 0; i < 5000 && __atomic_load_n(&shared->waits, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	bool waits = __atomic_load_n(&shared->waits, __ATOMIC_ACQUIRE);
	uint64_t lost = take(0, PATCH_POSITION(1, end));
	setrlimit(RLIMIT_FSIZE, &any);
	assert_false(waits);
	assert_int_equal(lost, 0);
	assert_int_equal(told, 20000);
	assert_int_equal(lanes_totals(lanes).write_err, -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_not_written_is_waited_for_shortly, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_made_up_is_lost_and_no_more, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_written_late_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_never_is_whole_takes_no_room, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_of_no_lane_is_given_back, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(numbers_of_lanes_take_no_memory, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_was_told_is_not_told_again, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
