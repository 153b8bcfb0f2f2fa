// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_budgets.c: what a file of others makes us take of memory and time is in proportion to its
 * size: process records that expand ten thousandfold, tasks in falling order, globs of many stars.
 */
#include <pugmark/recording.h> /* before what defines si_addr */

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "offline/base/codec.h"
#include "offline/log/segment.h"
#include "user/cli/glob.h"
#include "user/cli/patterns.h"

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/pugmark-budgets-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	char path[80];
	snprintf(path, sizeof(path), "%s/events", dir);
	unlink(path);
	return rmdir(dir);
}

static FILE *events(void)
{
	char path[80];
	snprintf(path, sizeof(path), "%s/events", dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	return f;
}

static void put_segment(FILE *f, struct segment_header h, const void *raw)
{
	static uint8_t stored[1 << 20];
	static uint32_t number;
	struct codec *codec = codec_new();
	uint8_t head[SEGMENT_HEADER_BYTES], *big = malloc(codec_bound(h.raw_bytes));
	h.version = SEGMENT_VERSION;
	h.number = number++;
	h.stored_bytes = (uint32_t)codec_compress(codec, raw, h.raw_bytes, big, &h.codec);
	assert_true(h.stored_bytes <= sizeof(stored));
	h.crc = (uint32_t)crc32(0, big, h.stored_bytes);
	segment_header_write(&h, head);
	assert_int_equal(fwrite(head, sizeof(head), 1, f), 1);
	if (h.stored_bytes)
		assert_int_equal(fwrite(big, h.stored_bytes, 1, f), 1);
	free(big);
	codec_free(codec);
}

/* Opens the recording in a child: how it ended, and by how many MiB that grew. */
static int open_it(long *mib, double *seconds)
{
	int out[2];
	struct {
		int err;
		long kib;
		double s;
	} said = {0};
	assert_int_equal(pipe(out), 0);
	pid_t pid = fork();
	if (!pid) {
		struct pugmark_recording *rec = NULL;
		struct pugmark_diag diag;
		struct rusage before, after;
		struct timespec a, b;
		getrusage(RUSAGE_SELF, &before);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
		said.err = pugmark_recording_open(dir, &rec, &diag);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
		getrusage(RUSAGE_SELF, &after);
		said.kib = after.ru_maxrss - before.ru_maxrss;
		said.s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
		_exit(write(out[1], &said, sizeof(said)) != sizeof(said));
	}
	close(out[1]);
	int status;
	assert_int_equal(read(out[0], &said, sizeof(said)), sizeof(said));
	close(out[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	*mib = said.kib >> 10;
	*seconds = said.s;
	return said.err;
}

static void repeat(char *to, size_t room, const char *before, const char *row, const char *after)
{
	size_t n = strlen(row), at = (size_t)sprintf(to, "%s", before);
	while (at + n + strlen(after) + 1 < room) {
		memcpy(to + at, row, n);
		at += n;
	}
	strcpy(to + at, after);
}

static void records_do_not_grow(void **state)
{
	(void)state;
	static const struct {
		const char *before, *row, *after;
	} kinds[] = {
		{"{\"ev\":\"maps\",\"pid\":1,\"maps\":[[]", ",[]", "]}"},
		{"", "{\"ev\":\"maps\",\"maps\":[[],[],[],[],[],[],[],[],[],[],[],[]]}\n", ""},
		{"", "{\"ev\":\"died\",\"task\":1}\n", ""},
		{"", "{\"ev\":\"note\",\"text\":\"\"}\n", ""},
		{"{\"a\":[", "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]],", "0]}"},
	};
	const size_t room = SEGMENT_MAX_BYTES;
	char *raw = malloc(room);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		long mib;
		double seconds;
		FILE *f = events();
		repeat(raw, room, kinds[k].before, kinds[k].row, kinds[k].after);
		for (int i = 0; i < 8; i++)
			put_segment(f,
				    (struct segment_header){.kind = SEGMENT_PROCESS,
							    .n = 1,
							    .raw_bytes = (uint32_t)strlen(raw)},
				    raw);
		long bytes = ftell(f);
		fclose(f);
		int err = open_it(&mib, &seconds);
		print_message("%ld bytes: %d, %ld MiB, %.2f s\n", bytes, err, mib, seconds);
#ifndef __SANITIZE_ADDRESS__
		/* The stored and the raw segment, and what is made of it. */
		assert_in_range(mib, 0, 2 * (SEGMENT_MAX_BYTES >> 20) + 48);
#endif
	}
	free(raw);
}

/* Long ones, which are alike. */
static void notes_do_not_grow(void **state)
{
	(void)state;
	enum { LONG = 60000 };
	char *raw = malloc(SEGMENT_MAX_BYTES);
	size_t len = 0;
	long mib;
	double seconds;
	FILE *f = events();
	while (len + LONG < SEGMENT_MAX_BYTES)
		len += (size_t)sprintf(raw + len, "{\"ev\":\"note\",\"text\":\"%0*d\"}\n",
				       LONG - 32, 0);
	for (size_t done = 0; done < 200u << 20; done += len)
		put_segment(f,
			    (struct segment_header){
				    .kind = SEGMENT_PROCESS, .n = 1, .raw_bytes = (uint32_t)len},
			    raw);
	fclose(f);
	free(raw);
	assert_int_equal(open_it(&mib, &seconds), -EFBIG);
#ifndef __SANITIZE_ADDRESS__
	assert_in_range(mib, 0, 2 * (SEGMENT_MAX_BYTES >> 20) + 48);
#endif
}

static void tasks_take_their_time(void **state)
{
	(void)state;
	double took[2];
	for (int round = 0; round < 2; round++) {
		const uint32_t n = round ? 80000 : 20000;
		char *raw = malloc(40ul * n);
		size_t len = 0;
		long mib;
		FILE *f = events();
		for (uint32_t i = 0; i < n; i++)
			len += (size_t)sprintf(raw + len, "{\"ev\":\"task\",\"task\":%u}\n", n - i);
		put_segment(f,
			    (struct segment_header){
				    .kind = SEGMENT_PROCESS, .n = n, .raw_bytes = (uint32_t)len},
			    raw);
		fclose(f);
		free(raw);
		assert_int_equal(open_it(&mib, &took[round]), 0);
		print_message("%u tasks, falling: %.3f s\n", n, took[round]);
	}
	assert_true(took[1] < 8 * took[0] + 0.05); /* four times as many */
}

static void globs_are_fnmatch(void **state)
{
	(void)state;
	static const char letters[] = "ab*?[]!-^\\c:";
	unsigned seed = 1, matched = 0;
	for (int i = 0; i < 2000000; i++) {
		char glob[10] = "", name[8] = "";
		for (unsigned k = 0, n = rand_r(&seed) % 9; k < n; k++)
			glob[k] = letters[rand_r(&seed) % (sizeof(letters) - 1)];
		for (unsigned k = 0, n = rand_r(&seed) % 7; k < n; k++)
			name[k] = "abc]-\\["[rand_r(&seed) % 7];
		/* What POSIX leaves open: a set that does not end, a backslash in it or at the
		 * end, classes that are none, ranges the wrong way round. */
		if (strpbrk(glob, "[\\"))
			continue;
		bool is = glob_matches(glob, name);
		if (is != !fnmatch(glob, name, 0))
			fail_msg("'%s' on '%s': %d", glob, name, is);
		matched += is;
	}
	assert_true(matched > 1000);
	static const char *const sets[][2] = {
		{"[abc]x", "bx"},	{"[!abc]x", "bx"}, {"[!abc]x", "dx"},
		{"a[]]b", "a]b"},	{"[a-c]*", "czz"}, {"[[:digit:]]*", "7up"},
		{"[^a]", "b"},		{"\\*x", "*x"},	   {"\\*x", "ax"},
		{"f[0-9][0-9]", "f42"}, {"[", "["},	   {"a[b", "a[b"},
		{"[[:alpha:]_]", "_"},	{"[a-]", "-"},	   {"*.so*", "libc.so.6"},
		{"*[!0-9]", "name123"},
	};
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		if (glob_matches(sets[i][0], sets[i][1]) != !fnmatch(sets[i][0], sets[i][1], 0))
			fail_msg("'%s' on '%s'", sets[i][0], sets[i][1]);
}

static void globs_take_their_time(void **state)
{
	(void)state;
	enum { N = 4096 };
	char glob[2 * N + 2], name[N + 1];
	for (int i = 0; i < N; i++) {
		glob[2 * i] = '*';
		glob[2 * i + 1] = 'a';
		name[i] = 'a';
	}
	strcpy(glob + 2 * N - 2, "b");
	name[N] = 0;
	struct timespec a, b;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	assert_false(glob_matches(glob, name));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	assert_true(b.tv_sec - a.tv_sec < 5);
}

static void models_take_globs(void **state)
{
	(void)state;
	struct patterns p = {0};
	struct pugmark_diag diag;
	assert_int_equal(patterns_add_glob(&p, "/((a{1,255}){1,255}){1,255}/", &diag), -EINVAL);
	assert_int_equal(patterns_add_glob(&p, "str*", &diag), 0);
	assert_int_equal(patterns_match(&p, "strlen", NULL), 0);
	assert_int_equal(patterns_match(&p, "memcpy", NULL), -1);
	patterns_deinit(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_do_not_grow, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(notes_do_not_grow, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(tasks_take_their_time, make_dir, remove_dir),
		cmocka_unit_test(globs_are_fnmatch),
		cmocka_unit_test(globs_take_their_time),
		cmocka_unit_test(models_take_globs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
