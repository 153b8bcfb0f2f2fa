// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_elf_unwinding.c: what is read of a file for unwinding says the same as the whole file, at
 * every address of its code, and is a part of it; a file that lies about its sections is read whole
 * or refused, and never past its end. */
#include "offline/elf/elf_unwinding.h"
#include "offline/elf/private_elf.h"

#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { STEP = 37, STEPS = 200000, DWARF_RET = 16, SEEDS = 3000 };

/* The CFA and where the return address is at @addr; false: nothing is known there. */
static bool rule_at(Dwarf_CFI *cfi, uint64_t addr, Dwarf_Op *cfa, Dwarf_Op *ret)
{
	Dwarf_Frame *frame;
	Dwarf_Op space[3], *ops;
	size_t n;
	if (dwarf_cfi_addrframe(cfi, addr, &frame))
		return false;
	*cfa = *ret = (Dwarf_Op){0};
	if (!dwarf_frame_cfa(frame, &ops, &n) && n)
		*cfa = ops[0];
	if (!dwarf_frame_register(frame, DWARF_RET, space, &ops, &n) && n)
		*ret = ops[n - 1];
	free(frame);
	return true;
}

static void a_part_says_what_the_whole_does(void **state)
{
	static const char *const files[] = {"/proc/self/exe", "/bin/bash"};
	(void)state;
	for (size_t f = 0; f < sizeof(files) / sizeof(*files); f++) {
		int fd = open(files[f], O_RDONLY | O_CLOEXEC);
		struct private_file part, whole;
		assert_true(fd >= 0);
		assert_int_equal(elf_unwinding_read(fd, PRIVATE_FILE_MAX, &part), 0);
		assert_int_equal(private_file_read(fd, PRIVATE_FILE_MAX, &whole), 0);
		assert_true(part.len_bytes == whole.len_bytes &&
			    part.read_bytes < part.len_bytes / 2);
		assert_int_equal(whole.read_bytes, whole.len_bytes);
		Elf *a = private_elf_of(&part), *b = private_elf_of(&whole);
		assert_true(a && b);
		Dwarf_CFI *of_part = dwarf_getcfi_elf(a), *of_whole = dwarf_getcfi_elf(b);
		assert_true(of_part && of_whole);
		uint32_t known = 0;
		for (uint64_t addr = 0; addr < (uint64_t)STEP * STEPS; addr += STEP) {
			Dwarf_Op cfa[2], ret[2];
			bool is = rule_at(of_whole, addr, &cfa[0], &ret[0]);
			assert_int_equal(rule_at(of_part, addr, &cfa[1], &ret[1]), is);
			known += is;
			if (!is)
				continue;
			assert_true(cfa[0].atom == cfa[1].atom && cfa[0].number == cfa[1].number &&
				    cfa[0].number2 == cfa[1].number2);
			assert_true(ret[0].atom == ret[1].atom && ret[0].number == ret[1].number);
		}
		assert_true(known > 100);
		dwarf_cfi_end(of_part);
		dwarf_cfi_end(of_whole);
		elf_end(a);
		elf_end(b);
		private_file_free(&part);
		private_file_free(&whole);
		close(fd);
	}
}

static int as_file(const void *bytes, size_t len)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	return fd;
}

static void what_takes_too_much_is_refused(void **state)
{
	(void)state;
	struct private_file file;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_unwinding_read(fd, 4096, &file), -EFBIG);
	close(fd);
	fd = as_file("\177ELF and no more", 16);
	assert_int_equal(elf_unwinding_read(fd, PRIVATE_FILE_MAX, &file), -ENOEXEC);
	close(fd);
	fd = as_file("", 0);
	assert_int_equal(elf_unwinding_read(fd, PRIVATE_FILE_MAX, &file), -ENOEXEC);
	close(fd);
}

/* Headers that say anything: it ends, and nothing is read that is not there (by the sanitizers). */
static void lies_are_harmless(void **state)
{
	(void)state;
	struct private_file whole, file;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(private_file_read(fd, PRIVATE_FILE_MAX, &whole), 0);
	close(fd);
	size_t len = 1 << 15;
	uint8_t *bytes = malloc(len);
	assert_non_null(bytes);
	for (unsigned n = 1; n <= SEEDS; n++) {
		unsigned seed = n;
		Elf64_Ehdr e;
		memcpy(bytes, whole.bytes, len);
		memcpy(&e, bytes, sizeof(e));
		/* Its section headers come to lie where there is something else. */
		e.e_shoff = (uint64_t)rand_r(&seed) % len;
		e.e_shnum = rand_r(&seed) % 400;
		e.e_shstrndx = rand_r(&seed) % 400;
		if (n % 3)
			e.e_phoff = rand_r(&seed);
		memcpy(bytes, &e, sizeof(e));
		for (uint32_t i = 0; i < 200; i++)
			bytes[sizeof(e) + rand_r(&seed) % (len - sizeof(e))] = rand_r(&seed);
		fd = as_file(bytes, len);
		int err = elf_unwinding_read(fd, 2 * len, &file);
		close(fd);
		if (err)
			continue;
		assert_true(file.read_bytes <= len && file.len_bytes == len);
		private_file_free(&file);
	}
	free(bytes);
	private_file_free(&whole);
}

/* A table of sections that lies on the header: what is written to the one is not what the other is
 * read from. */
static void a_table_on_the_header_is_none(void **state)
{
	(void)state;
	enum { LEN = 1 << 12, NAMES = 1 << 10 };
	static const char names[] = "\0.eh_frame\0other";
	uint8_t bytes[LEN];
	for (unsigned off = 1; off <= sizeof(Elf64_Ehdr); off++) {
		Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
				.e_flags = 0x01010101,
				.e_shoff = off,
				.e_shentsize = sizeof(Elf64_Shdr),
				.e_shnum = 4,
				.e_shstrndx = 1};
		const Elf64_Shdr table = {.sh_name = sizeof(names),
					  .sh_type = SHT_STRTAB,
					  .sh_offset = NAMES,
					  .sh_size = sizeof(names)};
		const Elf64_Shdr frames = {
			.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = NAMES, .sh_size = 1};
		struct private_file file;
		memset(bytes, 0, sizeof(bytes));
		memcpy(bytes + off + sizeof(table), &table, sizeof(table));
		memcpy(bytes + off + 2 * sizeof(table), &frames, sizeof(frames));
		memcpy(bytes + NAMES, names, sizeof(names));
		memcpy(bytes, &e, sizeof(e));
		int fd = as_file(bytes, LEN);
		assert_int_equal(elf_unwinding_read(fd, PRIVATE_FILE_MAX, &file), 0);
		close(fd);
		assert_int_equal(file.read_bytes == LEN, off < sizeof(e));
		private_file_free(&file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_says_what_the_whole_does),
		cmocka_unit_test(what_takes_too_much_is_refused),
		cmocka_unit_test(lies_are_harmless),
		cmocka_unit_test(a_table_on_the_header_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
