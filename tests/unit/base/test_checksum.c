// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_checksum.c: the checksum of files is zlib's CRC-32, of any length and at any address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

#include "offline/base/checksum.h"

static void it_is_that_of_zlib(void **context)
{
	(void)context;
	uint8_t bytes[1024 + 16];
	srand(1);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(rand() >> 7);
	for (size_t from = 0; from < 16; from++)
		for (size_t len = 0; len <= 1024; len++)
			assert_int_equal(checksum(bytes + from, len),
					 crc32(0, bytes + from, (uInt)len));
}

static void it_is_the_one_of_the_standard(void **context)
{
	(void)context;
	assert_int_equal(checksum("123456789", 9), 0xcbf43926);
}

static void two_are_joined(void **context)
{
	(void)context;
	for (size_t first = 0; first <= 9; first++)
		assert_int_equal(checksum_join(checksum("123456789", first),
					       checksum(&"123456789"[first], 9 - first), 9 - first),
				 0xcbf43926);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_that_of_zlib),
		cmocka_unit_test(it_is_the_one_of_the_standard),
		cmocka_unit_test(two_are_joined),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
