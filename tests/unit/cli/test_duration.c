// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_duration.c: claims about durations as text: at most four digits, never more than was
 * measured and never a whole digit less, in the largest unit that leaves one before the point; and
 * bounds are one duration where nothing lies between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/cli/duration.h"

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};

/* What the text says, in ns: read by strtold(), which is exact for four digits. */
static void read_back(const char *text, uint64_t *ns, uint64_t *last_digit_ns)
{
	char *unit;
	long double value = strtold(text, &unit);
	const char *point = memchr(text, '.', (size_t)(unit - text));
	uint64_t scale = 0;
	for (size_t u = 0; u < sizeof(units) / sizeof(*units); u++)
		if (!strcmp(unit, units[u].name))
			scale = units[u].ns;
	assert_true(scale);
	*ns = (uint64_t)(value * (long double)scale + .5L);
	*last_digit_ns = scale;
	for (const char *digit = point ? point + 1 : unit; digit < unit; digit++)
		*last_digit_ns /= 10;
}

static void check_one(uint64_t ns)
{
	char text[DURATION_TEXT];
	uint64_t said, digit;
	unsigned len = duration_text(text, ns);
	assert_int_equal(len, strlen(text));
	read_back(text, &said, &digit);
	if (said > ns || ns - said >= digit)
		fail_msg("%llu ns are \"%s\"", (unsigned long long)ns, text);
	if (ns < 1000000000000 && strspn(text, "0123456789.") > 5)
		fail_msg("\"%s\" has more than four digits", text);
	if (ns >= 1000 && said / digit < 1000)
		fail_msg("\"%s\" has less than four digits", text);
}

static void a_duration_is_cut_to_four_digits(void **state)
{
	(void)state;
	for (uint64_t ns = 0; ns < 20000; ns++)
		check_one(ns);
	for (uint64_t power = 1; power < UINT64_MAX / 10; power *= 10)
		for (uint64_t ns = power > 3 ? power - 3 : 0; ns < power + 3; ns++)
			check_one(ns);
	for (uint64_t ns = 1; ns < UINT64_MAX / 7; ns = ns * 7 / 5 + 1)
		check_one(ns);
	check_one(UINT64_MAX);
}

static void bounds_are_one_duration_or_two(void **state)
{
	static const struct {
		struct time_bounds t;
		const char *text;
	} of[] = {
		{{0, 0}, "0ns"},
		{{0, 9000}, "<9.000us"},
		{{3, 9000}, "3ns..9.000us"},
		{{12345678, 12345678}, "12.34ms"},
		{{UINT64_MAX - 1, UINT64_MAX}, "18446744073s..18446744073s"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		char text[TIME_BOUNDS_TEXT];
		unsigned len = time_bounds_text(text, of[i].t);
		assert_int_equal(len, strlen(of[i].text));
		assert_string_equal(text, of[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_duration_is_cut_to_four_digits),
		cmocka_unit_test(bounds_are_one_duration_or_two),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
