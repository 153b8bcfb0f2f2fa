// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_elf_golang.c: the table of Go's linker is read as it was written, in each of its layouts, of
 * a program and of a library that may lie anywhere; damaged in any byte, what is read of it holds
 * together. The tables are written by hand, as runtime/symtab.go describes them. */
#include "tests/unit/elf/elf_helper.h"

/* main.first calls main.second with 24 bytes on the stack, and goes on at its call after a panic;
 * main.third sets the stack pointer, which only layouts from 1.18 on say. */
static const char code[] =
	".globl first, second, third, pad\n.text\n"
	"first: sub $24, %%rsp\npad: call second\nadd $24, %%rsp\nret\n.balign 32, 0xcc\n"
	"second: ret\n.balign 32, 0xcc\n"
	"third: mov %%rdi, %%rsp\nret\n.balign 32, 0xcc\nend:\n"
	".section .rodata\n.long -1, second - first, second - first\n"
	".section .gopclntab, \"%s\"\n.balign 32\ntable:\n";

/* Heights as changes of the value (zigzag) and how many bytes it holds for. */
static const char rest[] = "names: .asciz \"main.first\", \"main.second\", \"main.third\"\n"
			   "pcs: .byte 0\n"
			   "in_first: .byte 2, 4, 48, 9, 47, 1, 0\n"
			   "in_second: .byte 2, 1, 0\n"
			   "in_third: .byte 2, 4, 0\n";

static const char addresses[] = ".quad first, r1 - records, second, r2 - records\n"
				".quad third, r3 - records, end\n";
static const char offsets[] = ".long 0, r1 - records, second - first, r2 - records\n"
			      ".long third - first, r3 - records, end - first\n";

/* Entry, name, arguments, deferreturn, pcsp; three words and the unit, the line, id and flags. */
static const char records[] =
	"r1: %1$s\n.long 0, 0, %2$s, in_first - pcs, 0, 0, 0, 0\n%3$s.byte 0, 0, 0, 0\n"
	"r2: %1$s\n.long 11, 0, 0, in_second - pcs, 0, 0, 0, 0\n%3$s.byte 0, 0, 0, 0\n"
	"r3: %1$s\n.long 23, 0, 0, in_third - pcs, 0, 0, 0, 0\n%3$s.byte 0, %4$s, 0, 0\n";

static const struct version {
	const char *name, *magic, *words, *functab, *entry, *line, *flags;
	bool has_flags;
} versions[] = {
	{"1.16", "0xfffffffa", "names - table, 0, 0, pcs - table, records - table", addresses,
	 ".quad 0", "", "0", false},
	{"1.18", "0xfffffff0", "first, names - table, 0, 0, pcs - table, records - table", offsets,
	 ".long 0", "", "2", true},
	{"1.20", "0xfffffff1", "first, names - table, 0, 0, pcs - table, records - table", offsets,
	 ".long 0", ".long 7\n", "2", true},
};

/* Links a file @path of it with @flags; where @moves, the loader is to fill in addresses. */
static void make_file(const char *dir, const struct version *v, const char *flags, bool moves,
		      char path[512])
{
	char source[4096], body[2048];
	snprintf(body, sizeof(body), records, v->entry, "pad - first", v->line, v->flags);
	size_t n = (size_t)snprintf(source, sizeof(source), code, moves ? "aw" : "a");
	snprintf(source + n, sizeof(source) - n,
		 ".long %s\n.byte 0, 0, 1, 8\n.quad 3, 0, %s\n%s"
		 ".balign 8\nrecords:\n%s%s",
		 v->magic, v->words, rest, v->functab, body);
	write_source(dir, "go.s", "%s", source);
	snprintf(path, 512, "%s/go-%s", dir, v->name);
	shell("cc -nostdlib %s -Wl,-e,first -s -o '%s' '%s/go.s'", flags, path, dir);
}

/* The symbol called @name, which must be there once. */
static struct elf_symbol find_symbol(const struct elf_image *image, const char *name)
{
	uint32_t n, found = 0;
	const struct elf_symbol *symbols = elf_image_symbols(image, &n);
	struct elf_symbol symbol = {0};
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(symbols[i].name, name)) {
			symbol = symbols[i];
			found++;
		}
	assert_int_equal(found, 1);
	return symbol;
}

static void expect_row(const struct elf_cfa_row *row, uint64_t addr, uint64_t end, int32_t offset)
{
	assert_int_equal(row->addr, addr);
	assert_int_equal(row->end, end);
	assert_int_equal(row->cfa.reg, PUGMARK_CFA_SP);
	assert_int_equal(row->cfa.offset, offset);
}

static void expect_all(const char *path, bool has_flags)
{
	struct elf_image *image = open_image(path);
	struct elf_cfa_row rows[8];
	uint32_t n;
	uint64_t first = find_symbol(image, "main.first").addr;
	assert_int_equal(find_symbol(image, "main.second").addr, first + 32);
	assert_int_equal(find_symbol(image, "main.third").addr, first + 64);
	assert_int_equal(find_symbol(image, "main.first").size, 14);
	const struct elf_fde *fdes = elf_image_fdes(image, &n);
	assert_int_equal(n, has_flags ? 2 : 3);
	assert_int_equal(fdes[0].addr, first);
	assert_int_equal(fdes[0].end, first + 14);
	assert_int_equal(fdes[1].end, first + 33);
	assert_int_equal(elf_image_cfa_rows(image, fdes[0].index, NULL, 0), 3);
	assert_int_equal(elf_image_cfa_rows(image, fdes[0].index, rows, 8), 3);
	expect_row(&rows[0], first, first + 4, 8);
	expect_row(&rows[1], first + 4, first + 13, 32);
	expect_row(&rows[2], first + 13, first + 14, 8);
	const struct elf_landing *landings = elf_image_landings(image, &n);
	assert_int_equal(n, 1);
	assert_int_equal(landings[0].pad, first + 4);
	bool taken = false;
	const uint64_t *pointers = elf_image_code_pointers(image, &n);
	for (uint32_t i = 0; i < n; i++)
		taken |= pointers[i] == first + 32;
	assert_true(taken); /* by what describes a method */
	check_image(image);
	elf_image_free(image);
}

static void tables_of_programs(void **state)
{
	char path[512];
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		make_file(*state, &versions[i], "-static -no-pie", false, path);
		expect_all(path, versions[i].has_flags);
	}
}

/* Where the text begins is then in a relocation only. */
static void tables_that_may_lie_anywhere(void **state)
{
	char path[512];
	for (size_t i = 1; i < sizeof(versions) / sizeof(*versions); i++) {
		make_file(*state, &versions[i], "-shared", true, path);
		expect_all(path, true);
	}
}

static void damaged_tables(void **state)
{
	char path[512];
	for (size_t v = 0; v < sizeof(versions) / sizeof(*versions); v++) {
		make_file(*state, &versions[v], "-static -no-pie", false, path);
		size_t len, at = 0;
		uint8_t *bytes = read_whole(path, &len);
		uint32_t magic = (uint32_t)strtoul(versions[v].magic, NULL, 16);
		while (at + 8 < len && (memcmp(bytes + at, &magic, 4) || bytes[at + 7] != 8))
			at += 8;
		assert_in_range(at, 1, len - 256);
		for (size_t i = at; i < at + 256; i++) {
			static const uint8_t masks[] = {1, 0x10, 0x80, 0xff};
			for (size_t k = 0; k < sizeof(masks); k++) {
				struct elf_image *image = NULL;
				struct pugmark_diag diag;
				bytes[i] ^= masks[k];
				assert_int_equal(open_bytes(bytes, len, &image, &diag), 0);
				check_image(image);
				elf_image_free(image);
				bytes[i] ^= masks[k];
			}
		}
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_of_programs),
		cmocka_unit_test(tables_that_may_lie_anywhere),
		cmocka_unit_test(damaged_tables),
	};
	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
