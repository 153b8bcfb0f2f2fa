// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_dynamic_symbols.c: what is read of a file for its dynamic symbols has the same ones as the
 * whole file, and is a part of it; a file that lies about its sections is read whole or has none,
 * and is never read past its end. */
#include "offline/elf/dynamic_symbols.h"
#include "offline/elf/private_elf.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SEEDS = 2000, DAMAGED_BYTES = 8 };

struct sum {
	uint64_t n, hash;
};

static bool add(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct sum *sum = ctx;
	sum->n++;
	sum->hash = sum->hash * 31 + sym->st_value + sym->st_shndx;
	for (; *name; name++)
		sum->hash = sum->hash * 31 + (uint8_t)*name;
	return true;
}

static struct sum sum_of(const struct private_file *file)
{
	struct sum sum = {0};
	Elf *elf = private_elf_of(file);
	if (elf)
		dynamic_symbols_each(elf, add, &sum);
	elf_end(elf);
	return sum;
}

static void a_part_has_the_symbols_of_the_whole(void **state)
{
	static const char *const files[] = {"/proc/self/exe", "/bin/bash"};
	(void)state;
	for (size_t f = 0; f < sizeof(files) / sizeof(*files); f++) {
		int fd = open(files[f], O_RDONLY | O_CLOEXEC);
		struct private_file part, whole;
		assert_true(fd >= 0);
		assert_int_equal(dynamic_symbols_read(fd, &part), 0);
		assert_int_equal(private_file_read(fd, PRIVATE_FILE_MAX, &whole), 0);
		struct sum a = sum_of(&part), b = sum_of(&whole);
		assert_true(a.n == b.n && a.n > 50 && a.hash == b.hash);
		assert_true(part.len_bytes == whole.len_bytes);
		assert_true(part.read_bytes < part.len_bytes / 2);
		private_file_free(&part);
		private_file_free(&whole);
		close(fd);
	}
}

/* Damages the header and the table of sections of @bytes. */
static void damage(uint8_t *bytes, uint64_t len, unsigned seed)
{
	Elf64_Ehdr e;
	memcpy(&e, bytes, sizeof(e));
	for (int i = 0; i < DAMAGED_BYTES; i++) {
		uint64_t in_table = (uint64_t)rand_r(&seed) % (e.e_shnum * sizeof(Elf64_Shdr));
		uint64_t at = rand_r(&seed) % 4 ? e.e_shoff + in_table
						: EI_NIDENT + (uint64_t)rand_r(&seed) % 48;
		if (at < len)
			bytes[at] = (uint8_t)rand_r(&seed);
	}
}

static void damage_is_read_inside_of_the_file(void **state)
{
	struct private_file whole;
	char path[] = "/tmp/pugmark-symbols-XXXXXX";
	int from = open("/bin/true", O_RDONLY | O_CLOEXEC), fd = mkstemp(path);
	(void)state;
	assert_true(from >= 0 && fd >= 0 && !unlink(path));
	assert_int_equal(private_file_read(from, PRIVATE_FILE_MAX, &whole), 0);
	uint8_t *bytes = malloc(whole.len_bytes);
	assert_non_null(bytes);
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		struct private_file part;
		memcpy(bytes, whole.bytes, whole.len_bytes);
		damage(bytes, whole.len_bytes, seed);
		assert_int_equal(pwrite(fd, bytes, whole.len_bytes, 0), whole.len_bytes);
		assert_int_equal(dynamic_symbols_read(fd, &part), 0);
		assert_true(part.read_bytes <= part.len_bytes);
		sum_of(&part);
		private_file_free(&part);
	}
	free(bytes);
	private_file_free(&whole);
	close(from);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_has_the_symbols_of_the_whole),
		cmocka_unit_test(damage_is_read_inside_of_the_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
