// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_go_version.c: where goid lies is told for the versions of Go whose runtime.g is known, by
 * the section that their linker writes, whatever else is in the file; and of nothing else. */
#include "user/file/go_version.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void versions_have_their_layout(void **state)
{
	(void)state;
	assert_int_equal(go_version_goid_of("go1.18"), 152);
	assert_int_equal(go_version_goid_of("go1.19.8"), 152);
	assert_int_equal(go_version_goid_of("go1.22.12"), 152);
	assert_int_equal(go_version_goid_of("go1.23.0"), 160);
	assert_int_equal(go_version_goid_of("go1.24rc1"), 160);
	assert_int_equal(go_version_goid_of("go1.25.3 X:nodwarf5"), 152);
	assert_int_equal(go_version_goid_of("devel go1.26-abcdef"), 152);
	assert_int_equal(go_version_goid_of("go1.27"), 0);
	assert_int_equal(go_version_goid_of("go1.8.3"), 0);
	assert_int_equal(go_version_goid_of("go2.1"), 0);
	assert_int_equal(go_version_goid_of("unknown"), 0);
	assert_int_equal(go_version_goid_of(""), 0);
}

/* A file with that section, which has @flags and @version; the caller unlinks it. */
struct image {
	Elf64_Ehdr eh;
	Elf64_Shdr sh[3];
	char names[32];
	uint8_t info[64];
};

static struct image good_image(void)
{
	struct image i = {
		.eh = {.e_machine = EM_X86_64,
		       .e_shoff = offsetof(struct image, sh),
		       .e_shentsize = sizeof(Elf64_Shdr),
		       .e_shnum = 3,
		       .e_shstrndx = 1},
		.sh[1] = {.sh_name = 15,
			  .sh_offset = offsetof(struct image, names),
			  .sh_size = sizeof(i.names)},
		.sh[2] = {.sh_name = 1,
			  .sh_offset = offsetof(struct image, info),
			  .sh_size = sizeof(i.info)},
		.names = "\0.go.buildinfo\0.shstrtab",
	};
	memcpy(i.eh.e_ident, ELFMAG, SELFMAG);
	i.eh.e_ident[EI_CLASS] = ELFCLASS64;
	memcpy(i.info, "\xff Go buildinf:\x08\x02", 16);
	i.info[32] = 8;
	memcpy(i.info + 33, "go1.23.4", 8);
	return i;
}

enum { NOT_GO = 1 };

static uint32_t goid_in(const struct image *image, size_t len)
{
	char path[] = "/tmp/test_go_version.XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, image, len), len);
	close(fd);
	uint32_t at = 0;
	bool go = go_version_read(path, &at);
	unlink(path);
	return go ? at : NOT_GO;
}

static void a_file_tells_its_version(void **state)
{
	(void)state;
	struct image i = good_image();
	assert_int_equal(goid_in(&i, sizeof(i)), 160);
	i.eh.e_machine = EM_AARCH64; /* another struct */
	assert_int_equal(goid_in(&i, sizeof(i)), NOT_GO);
	i = good_image();
	i.info[15] = 0; /* as before 1.18 */
	assert_int_equal(goid_in(&i, sizeof(i)), 0);
	i = good_image();
	i.info[0] = 0;
	assert_int_equal(goid_in(&i, sizeof(i)), 0);
	i = good_image();
	i.info[32] = 255; /* longer than the section */
	assert_int_equal(goid_in(&i, sizeof(i)), 0);
	i = good_image();
	i.names[1] = 'x';
	assert_int_equal(goid_in(&i, sizeof(i)), NOT_GO);
	uint32_t at;
	assert_false(go_version_read("/dev/null", &at));
	assert_false(go_version_read("/nowhere", &at));
}

/* Any bytes in place of the good ones, and any end: it may tell another place, and reads no further
 * than there is. */
static void damage_is_no_harm(void **state)
{
	(void)state;
	srand(1);
	for (int round = 0; round < 300; round++) {
		struct image i = good_image();
		for (int k = 0; k < 4; k++)
			((uint8_t *)&i)[(size_t)rand() % sizeof(i)] = (uint8_t)rand();
		uint32_t at = goid_in(&i, (size_t)rand() % (sizeof(i) + 1));
		assert_true(at == 0 || at == NOT_GO || at == 152 || at == 160);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_have_their_layout),
		cmocka_unit_test(a_file_tells_its_version),
		cmocka_unit_test(damage_is_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
