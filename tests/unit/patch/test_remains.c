// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_remains.c: what a process was given stands in memory that its children can write to.
 * Whatever a child makes of it, no byte of the process is changed that its files have otherwise,
 * and no word that does not lead to our code; and what was given by half is taken back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/patch/given.h"

static volatile uint64_t word = 0x1122334455667788;
static uint64_t other_word;

/* Its bytes are to stay. */
static __attribute__((noinline)) int function(int x)
{
	return x * 7 + 3;
}

/* A record with one entry. */
union written {
	struct patch_record record;
	struct {
		uint8_t before[sizeof(struct patch_record)];
		struct patch_entry entry;
	};
};

/* A child that was given memory, of which the recorder has ended. */
static struct giving abandoned(void)
{
	uint64_t code = given_room();
	pid_t recorder = given_child(), child = given_child();
	struct giving g = given_what(child, recorder, code);
	given_to(&g);
	given_end(recorder);
	return g;
}

static void write_record(const struct giving *g, const union written *w)
{
	int fd = given_open(g);
	assert_int_equal(pwrite(fd, w, sizeof(*w), g->off_record), sizeof(*w));
	close(fd);
}

static uint64_t read_word(pid_t pid, const volatile void *at)
{
	struct tracee t = {.mem_fd = -1};
	uint64_t value = 0;
	assert_int_equal(tracee_open(&t, pid), 0);
	assert_int_equal(tracee_read(&t, (uintptr_t)at, &value, sizeof(value)), 0);
	tracee_close(&t);
	return value;
}

static void test_no_other_bytes_are_restored(void **state)
{
	(void)state;
	struct giving g = abandoned();
	union written w = {.record = g.record};
	w.entry = (struct patch_entry){.addr = (uintptr_t)function, .len = 8};
	uint64_t was = read_word(g.pid, function);
	w.record.n_entries = 1;
	w.record.regions[0].text_from = (uintptr_t)function;
	w.record.regions[0].text_to = (uintptr_t)function + 8;
	w.record.regions[0].n = 1;
	w.entry.probe_at = PATCH_NO_PROBE;
	w.entry.written = 1;
	memcpy(w.entry.now, &was, sizeof(was));
	memset(w.entry.was, 0xc3, sizeof(w.entry.was));
	write_record(&g, &w);
	assert_int_equal(remains_remove(g.pid), -EBADMSG);
	assert_int_equal(read_word(g.pid, function), was);

	/* As it is in the file it is restored. */
	memset(w.entry.now, 0xc3, sizeof(w.entry.now));
	memcpy(w.entry.was, &was, sizeof(was));
	write_record(&g, &w);
	uint64_t ino = given_at(g.pid, g.code[0].addr);
	assert_int_equal(remains_remove(g.pid), 1);
	assert_int_equal(read_word(g.pid, function), was);
	assert_int_equal(given_left(g.pid, ino, &g), 0);
	given_end(g.pid);
}

static void test_no_other_words_are_restored(void **state)
{
	(void)state;
	struct giving g = abandoned();
	union written w = {.record = g.record};
	w.record.n_words = 1;
	w.record.words[0] = (struct patch_word){
		.addr = (uintptr_t)&word, .was = 0x4141414141414141, .now = word, .written = 1};
	write_record(&g, &w);
	assert_int_equal(remains_remove(g.pid), -EBADMSG);
	assert_int_equal(read_word(g.pid, &word), word);
	given_end(g.pid);
}

/* Rings that are none would be filled with 0. */
static void test_no_other_memory_is_cleared(void **state)
{
	(void)state;
	static uint8_t memory[PATCH_LOCAL_BYTES + 2 * PATCH_RING_BYTES];
	struct patch_local local = {.n_rings = 2};
	memset(memory, 0x77, sizeof(memory));
	memcpy(memory, &local, sizeof(local));
	struct giving g = abandoned();
	union written w = {.record = g.record};
	w.record.rings = (uintptr_t)memory + PATCH_LOCAL_BYTES;
	write_record(&g, &w);
	assert_int_equal(remains_remove(g.pid), -EBADMSG);
	assert_int_equal(read_word(g.pid, memory + PATCH_LOCAL_BYTES), 0x7777777777777777);
	given_end(g.pid);
}

/* Only mappings of what was given go. */
static void test_no_other_mapping_goes(void **state)
{
	(void)state;
	other_word = 5;
	int fd = memfd_create("others", 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	uint64_t *others = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(others, MAP_FAILED);
	*others = 7;
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	struct giving g = abandoned();
	union written w = {.record = g.record};
	uint64_t ino = given_at(g.pid, g.code[0].addr);
	w.record.shared = (uintptr_t)&other_word & ~4095ull;
	write_record(&g, &w);
	assert_int_equal(remains_remove(g.pid), -EBADMSG);
	w.record.shared = (uintptr_t)others;
	w.record.chunks_ino = st.st_ino;
	write_record(&g, &w);
	assert_int_equal(remains_remove(g.pid), -EBADMSG);
	w.record.shared = 0;
	write_record(&g, &w);
	assert_int_equal(remains_remove(g.pid), -EBADMSG);
	assert_int_equal(read_word(g.pid, others), 7);
	assert_int_equal(read_word(g.pid, &other_word), 5);
	w.record = g.record;
	write_record(&g, &w);
	assert_int_equal(remains_remove(g.pid), 0);
	assert_int_equal(given_left(g.pid, ino, &g), 0);
	given_end(g.pid);
	munmap(others, 4096);
	close(fd);
}

static void test_what_was_given_by_half_is_taken_back(void **state)
{
	(void)state;
	struct giving g = abandoned();
	union written w = {.record = g.record};
	uint64_t ino = given_at(g.pid, g.code[0].addr);
	w.record.shared = w.record.rings = 0;
	write_record(&g, &w);
	assert_int_equal(remains_remove(g.pid), 0);
	assert_int_equal(given_left(g.pid, ino, &g), 0);
	given_end(g.pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_other_bytes_are_restored),
		cmocka_unit_test(test_no_other_words_are_restored),
		cmocka_unit_test(test_no_other_memory_is_cleared),
		cmocka_unit_test(test_no_other_mapping_goes),
		cmocka_unit_test(test_what_was_given_by_half_is_taken_back),
	};
	return function(0) == 3 ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
