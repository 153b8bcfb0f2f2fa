// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_models.c: each model does what the function does that the machine has: on random memory and
 * arguments, the function's own result and what it leaves in memory are the truth; and what is not
 * known stays so. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <cmocka.h>

#include "offline/capture/imports.h"
#include "offline/replay/models/models.h"

enum { BASE = 0x10000, BYTES = 0x4000 };

static uint64_t seed = 0x2545f4914f6cdd1d;
static struct value_memory memory;
static struct value_machine *machine;
/* The same bytes at the same place in a page, for the machine's functions. */
static uint8_t mirror[BYTES] __attribute__((aligned(4096)));

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* Short strings of few letters, so that they are often the same for a while. */
static void fill(void)
{
	for (int i = 0; i < BYTES; i++)
		mirror[i] = next_random() % 24 ? 'a' + next_random() % 2 : 0;
	for (int i = 0; i < BYTES; i += 256) /* the end of a wide text */
		memset(mirror + i, 0, sizeof(wchar_t));
	mirror[BYTES - 1] = 0;
	assert_int_equal(value_memory_write(&memory, BASE, mirror, BYTES, VALUE_EXACT), 0);
}

static void call(const char *name, uint64_t a, uint64_t b, uint64_t c, int want)
{
	value_set_gpr(machine, VALUE_RDI, a, VALUE_EXACT);
	value_set_gpr(machine, VALUE_RSI, b, VALUE_EXACT);
	value_set_gpr(machine, VALUE_RDX, c, VALUE_EXACT);
	int got = import_model(name, machine);
	if (got != want)
		fail_msg("%s: %d", name, got);
}

static uint64_t result(void)
{
	assert_int_equal(value_quality(machine, 1), VALUE_EXACT);
	return value_machine_state(machine)->gpr[VALUE_RAX];
}

/* What lies at the guest's address @addr, in the mirror. */
static __attribute__((noinline)) char *at(uint64_t addr)
{
	return (char *)mirror + (addr - BASE);
}

static uint64_t guest(const void *p)
{
	return p ? BASE + (uint64_t)((const uint8_t *)p - mirror) : 0;
}

static void same_memory(const char *name)
{
	uint8_t now[BYTES];

	assert_int_equal(value_memory_read(&memory, BASE, now, BYTES, NULL), 0);
	if (memcmp(now, mirror, BYTES))
		fail_msg("%s leaves another memory", name);
}

static uint64_t any_place(void)
{
	return BASE + 16 + next_random() % (BYTES / 2);
}

/* As the C library's functions, to the number; a sanitizer's say only which is less. */
static void is_order(uint64_t ours, int order)
{
#ifdef __SANITIZE_ADDRESS__
	int32_t got = (int32_t)ours;
	assert_int_equal((got > 0) - (got < 0), (order > 0) - (order < 0));
#else
	assert_int_equal(ours, (uint32_t)order);
#endif
}

static void test_looking(void **state)
{
	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t a = any_place(), b = any_place(), n = next_random() % 100;
		int c = "ab\0c"[next_random() % 4];

		if (i % 100 == 0)
			fill();
		call("strlen", a, 0, 0, 0);
		assert_int_equal(result(), strlen(at(a)));
		call("strnlen", a, n, 0, 0);
		assert_int_equal(result(), strnlen(at(a), n));
		call("wcsnlen", a & ~3ull, n, 0, 0);
		assert_int_equal(result(), wcsnlen((wchar_t *)at(a & ~3ull), n));
		if (wcsnlen((wchar_t *)at(a & ~3ull), 100) < 100) {
			call("wcslen", a & ~3ull, 0, 0, 0);
			assert_int_equal(result(), wcslen((wchar_t *)at(a & ~3ull)));
		}
		call("strcmp", a, b, 0, 0);
		is_order(result(), strcmp(at(a), at(b)));
		call("strncmp", a, b, n, 0);
		is_order(result(), strncmp(at(a), at(b), n));
		call("memcmp", a, b, n, 0);
		is_order(result(), memcmp(at(a), at(b), n));
		call("memchr", a, c, n, 0);
		assert_int_equal(result(), guest(memchr(at(a), c, n)));
		call("memrchr", a, c, n, 0);
		assert_int_equal(result(), guest(memrchr(at(a), c, n)));
		call("strchr", a, c, 0, 0);
		assert_int_equal(result(), guest(strchr(at(a), c)));
		call("strrchr", a, c, 0, 0);
		assert_int_equal(result(), guest(strrchr(at(a), c)));
		call("strchrnul", a, c, 0, 0);
		assert_int_equal(result(), guest(strchrnul(at(a), c)));
		call("strstr", a, b, 0, 0);
		assert_int_equal(result(), guest(strstr(at(a), at(b))));
		call("strspn", a, b, 0, 0);
		assert_int_equal(result(), strspn(at(a), at(b)));
		call("strcspn", a, b, 0, 0);
		assert_int_equal(result(), strcspn(at(a), at(b)));
		call("strpbrk", a, b, 0, 0);
		assert_int_equal(result(), guest(strpbrk(at(a), at(b))));
	}
	same_memory("looking");
}

static void test_moving(void **state)
{
	(void)state;
	for (int i = 0; i < 3000; i++) {
		uint64_t a = any_place(), n = next_random() % 3000;
		uint64_t b = BASE + 0x3000 + next_random() % 256;

		fill();
		call("memmove", a, a + next_random() % 64, n, 0);
		memmove(at(a), at(value_machine_state(machine)->gpr[VALUE_RSI]), n);
		assert_int_equal(result(), a);
		same_memory("memmove");
		call("memset", a, 'x', n, 0);
		memset(at(a), 'x', n);
		same_memory("memset");
		call("strcpy", a, b, 0, 0);
		strcpy(at(a), at(b));
		same_memory("strcpy");
		call("stpcpy", a, b, 0, 0);
		assert_int_equal(result(), guest(stpcpy(at(a), at(b))));
		call("strncpy", a, b, n, 0);
		strncpy(at(a), at(b), n);
		same_memory("strncpy");
		call("strcpy", a, b, 0, 0);
		strcpy(at(a), at(b));
		call("strcat", a, b, 0, 0);
		strcat(at(a), at(b));
		same_memory("strcat");
		call("strncat", a, b, n % 20, 0);
		strncat(at(a), at(b), n % 20);
		same_memory("strncat");
		call("mempcpy", a, b, n, 0);
		assert_int_equal(result(), guest(mempcpy(at(a), at(b), n)));
		same_memory("mempcpy");
	}
}

static void test_doubles(void **state)
{
	struct {
		const char *name;
		double (*one)(double);
		double (*two)(double, double);
		uint8_t quality; /* a libm rounds some as it likes */
	} rows[] = {{"sin", sin, 0, VALUE_ASSUMED},	{"exp", exp, 0, VALUE_ASSUMED},
		    {"log", log, 0, VALUE_ASSUMED},	{"floor", floor, 0, VALUE_EXACT},
		    {"sqrt", sqrt, 0, VALUE_EXACT},	{"tanh", tanh, 0, VALUE_ASSUMED},
		    {"pow", 0, pow, VALUE_ASSUMED},	{"fmod", 0, fmod, VALUE_EXACT},
		    {"atan2", 0, atan2, VALUE_ASSUMED}, {"round", round, 0, VALUE_EXACT}};

	(void)state;
	for (int i = 0; i < 20000; i++) {
		double x = (double)(int64_t)next_random() / 1e18, y = (double)(i % 77) / 3, out;
		uint8_t bytes[32] = {0};
		int r = i % (int)(sizeof(rows) / sizeof(*rows));

		memcpy(bytes, &x, 8);
		value_set_vec(machine, 0, bytes, VALUE_EXACT);
		memcpy(bytes, &y, 8);
		value_set_vec(machine, 1, bytes, VALUE_EXACT);
		call(rows[r].name, 0, 0, 0, 0);
		double want = rows[r].one ? rows[r].one(x) : rows[r].two(x, y);
		memcpy(&out, value_machine_state(machine)->vec[0], 8);
		assert_memory_equal(&out, &want, 8);
		assert_int_equal(value_machine_known(machine)->vec[0][0], rows[r].quality);
		assert_int_equal(value_machine_known(machine)->vec[0][8], VALUE_UNKNOWN);
	}
	strcpy((char *)mirror, " 12.75e2rest");
	assert_int_equal(value_memory_write(&memory, BASE, mirror, 32, VALUE_EXACT), 0);
	call("strtod", BASE, BASE + 64, 0, 0);
	double got;
	uint64_t end;
	memcpy(&got, value_machine_state(machine)->vec[0], 8);
	assert_true(got == 1275);
	assert_int_equal(value_memory_read(&memory, BASE + 64, &end, 8, NULL), 0);
	assert_int_equal(end, BASE + 8);
}

/* Qualities go where the bytes go, and nothing is made of what is not known. */
static void test_unknown(void **state)
{
	uint8_t q[8];

	(void)state;
	fill();
	mirror[100] = 0;
	memset(mirror + 96, 'z', 4);
	assert_int_equal(value_memory_write(&memory, BASE, mirror, BYTES, VALUE_EXACT), 0);
	assert_int_equal(value_memory_set_quality(&memory, BASE + 97, 1, VALUE_UNKNOWN), 0);
	assert_int_equal(value_memory_set_quality(&memory, BASE + 98, 1, VALUE_ASSUMED), 0);
	call("memcpy", BASE + 200, BASE + 96, 4, 0);
	assert_int_equal(value_memory_read_qualities(&memory, BASE + 200, q, 4), 0);
	assert_memory_equal(q, "\0\2\1\0", 4);
	call("strlen", BASE + 96, 0, 0, -ENOSYS);
	call("strlen", BASE + 98, 0, 0, 0);
	assert_int_equal(value_quality(machine, 1), VALUE_ASSUMED);
	call("memchr", BASE + 96, 'z', 4, 0); /* finds it before */
	assert_int_equal(result(), BASE + 96);
	value_set_gpr(machine, VALUE_RDX, 4, VALUE_UNKNOWN);
	assert_int_equal(import_model("memcpy", machine), -ENOSYS);
	call("strlen", 0x7000000, 0, 0, -EFAULT);
	call("no such function", 0, 0, 0, -ENOSYS);
	call("strlen", BASE + 100, 0, 0, 0);
	assert_int_equal(value_quality(machine, 1 << VALUE_RCX), VALUE_UNKNOWN);
	assert_int_equal(value_quality(machine, 1 << VALUE_RBX), VALUE_EXACT);
}

/* What the library may write over is assumed; what was not known by then is no better for it. */
static void test_given_back(void **state)
{
	uint8_t quality[24];

	(void)state;
	fill();
	value_memory_set_quality(&memory, BASE + 68, 4, VALUE_UNKNOWN);
	call("free", BASE + 64, 0, 0, 0);
	assert_int_equal(value_memory_read_qualities(&memory, BASE + 64, quality, 24), 0);
	for (int i = 0; i < 24; i++)
		assert_int_equal(quality[i], i >= 16	       ? VALUE_EXACT
					     : i >= 4 && i < 8 ? VALUE_UNKNOWN
							       : VALUE_ASSUMED);
	fill();
}

/* Every row of the table that says model has one. */
static void test_rows(void **state)
{
	(void)state;
	for (uint32_t i = 0; imports_builtin(i); i++) {
		const struct import_row *row = imports_builtin(i);
		uint8_t bytes[32] = {0};

		if (row->kind != IMPORT_MODEL)
			continue;
		fill();
		value_set_vec(machine, 0, bytes, VALUE_EXACT);
		value_set_vec(machine, 1, bytes, VALUE_EXACT);
		call(row->name, BASE + 64, BASE + 0x100 + 'a', 'a', 0);
	}
}

static int zeros(void *ctx, const struct value_region *region, uint64_t addr, uint8_t *bytes,
		 uint8_t *quality)
{
	(void)ctx, (void)region, (void)addr, (void)quality;
	memset(bytes, 0, VALUE_PAGE);
	return 0;
}

static int setup(void **state)
{
	const struct value_region region = {
		.start = BASE, .end = BASE + 16 * BYTES, .prot = VALUE_READ | VALUE_WRITE};

	(void)state;
	if (value_memory_init(&memory, zeros, NULL) || value_memory_map(&memory, &region))
		return -1;
	machine = value_machine_new(&memory);
	return machine ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	value_machine_free(machine);
	value_memory_deinit(&memory);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_looking),	   cmocka_unit_test(test_moving),
		cmocka_unit_test(test_doubles),	   cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_given_back), cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
