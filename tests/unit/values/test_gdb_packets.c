// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_gdb_packets.c: the answer to a "monitor" command arrives whole, however long it is; a
 * command whose digits are not even is read up to its end. */
#include "user/values/gdb/gdb_packets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct gdb_packets packets;

/* Answers with @n bytes, and gives what gdb prints of the packets, as it reads them (remote.c,
 * remote_target::rcmd): those of "O", and the first one that is not, which ends the answer. */
static char *printed(const char *answer, size_t n, unsigned *n_packets)
{
	static char sent[65536];
	char *text = calloc(1, sizeof(sent));
	int ends[2];
	size_t len = 0;

	assert_non_null(text);
	assert_int_equal(pipe(ends), 0);
	packets = (struct gdb_packets){.in = -1, .out = ends[1]};
	gdb_packets_put_output(&packets, answer, n);
	assert_int_equal(gdb_packets_flush(&packets), 0);
	close(ends[1]);
	for (ssize_t k; (k = read(ends[0], sent + len, sizeof(sent) - 1 - len)) > 0;)
		len += k;
	close(ends[0]);
	sent[len] = '\0';
	*n_packets = 0;
	for (char *at = sent, *end; *at; at = end + 3, ++*n_packets) {
		assert_int_equal(*at, '$');
		end = strchr(at, '#');
		assert_non_null(end);
		assert_true(end - at <= GDB_PACKET);
		bool goes_on = at[1] == 'O';
		*end = '\0';
		gdb_packets_text(at + 1 + goes_on, text + strlen(text),
				 sizeof(sent) - strlen(text));
		assert_int_equal(goes_on, end[3] != '\0'); /* the last one alone ends it */
	}
	return text;
}

static void an_answer_is_whole(void **state)
{
	static const size_t lengths[] = {1, GDB_READ_MAX, GDB_READ_MAX + 1, 5 * GDB_READ_MAX / 2};
	static char answer[3 * GDB_READ_MAX];
	(void)state;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		unsigned n_packets;

		for (size_t k = 0; k < lengths[i]; k++)
			answer[k] = (char)('!' + k % 89);
		answer[lengths[i]] = '\0';
		char *text = printed(answer, lengths[i], &n_packets);
		assert_string_equal(text, answer);
		assert_int_equal(n_packets, (lengths[i] + GDB_READ_MAX - 1) / GDB_READ_MAX);
		free(text);
	}
}

static void digits_that_are_not_even(void **state)
{
	/* What lies behind the end of the packet is of an older one. */
	static const char hex[] = "68656c70\0"
				  "68656c706\0"
				  "78787878";
	char out[8];
	(void)state;

	gdb_packets_text(hex, out, sizeof(out));
	assert_string_equal(out, "help");
	gdb_packets_text(hex + 9, out, sizeof(out));
	assert_string_equal(out, "help");
	gdb_packets_text(hex, out, 3);
	assert_string_equal(out, "he");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_whole),
		cmocka_unit_test(digits_that_are_not_even),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
