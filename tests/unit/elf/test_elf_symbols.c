// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_elf_symbols.c: symbols are those that readelf lists: of the dynamic table, of .symtab, and
 * of the separate debug file, whether found by build-id or by .gnu_debuglink; a debug file that
 * does not fit is not used. */
#include "tests/unit/elf/elf_helper.h"

#include <zlib.h>

static const char source[] =
	"#include <stdio.h>\n"
	"static int table[4]; int data = 5;\n"
	"__attribute__((noinline)) static int hidden(int n) { return n + data; }\n"
	"int shown(int n) { return hidden(n) + table[n & 3]; }\n"
	"__attribute__((weak)) int maybe(void) { return 1; }\n"
	"extern int also(int) __attribute__((alias(\"shown\")));\n"
	"static int one(void) { return 1; }\n"
	"static void *pick(void) { return one; }\n"
	"int chosen(void) __attribute__((ifunc(\"pick\")));\n"
	"__asm__(\".text\\nbare: ret\\n\");\n"
	"int main(void) { printf(\"%d\\n\", shown(1) + maybe() + chosen()); }\n";

/* The symbol called @name at @addr, names cut at their version, or NULL. libc has a local and a
 * global one of one name at one address. */
static const struct elf_symbol *find_symbol(const struct elf_image *image, uint64_t addr,
					    const char *name, bool global)
{
	uint32_t n, low = 0;
	const struct elf_symbol *symbols = elf_image_symbols(image, &n);
	for (uint32_t high = n; low < high;) {
		uint32_t mid = low + (high - low) / 2;
		if (symbols[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	size_t len = strcspn(name, "@");
	for (; low < n && symbols[low].addr == addr; low++)
		if (symbols[low].global == global && !strncmp(symbols[low].name, name, len) &&
		    (!symbols[low].name[len] || symbols[low].name[len] == '@'))
			return &symbols[low];
	return NULL;
}

/* Every defined function that readelf lists in table @option of @listed is a symbol of @image, of
 * the same size and kind; returns how many there are. */
static uint32_t expect_listed(const struct elf_image *image, const char *listed, const char *option)
{
	FILE *out = command("readelf -W %s '%s' 2>/dev/null", option, listed);
	bool dynamic = !strcmp(option, "--dyn-syms");
	char line[8192], name[4096], type[16], bind[16], index[16];
	uint32_t count = 0;
	uint64_t addr, size;
	while (fgets(line, sizeof(line), out)) {
		if (sscanf(line, " %*u: %lx %li %15s %15s %*s %15s %4095s", &addr, (long *)&size,
			   type, bind, index, name) != 6 ||
		    !strcmp(index, "UND") || (strcmp(type, "FUNC") && strcmp(type, "IFUNC")))
			continue;
		const struct elf_symbol *symbol =
			find_symbol(image, addr, name, strcmp(bind, "LOCAL") != 0);
		if (!symbol)
			fail_msg("%s: %s at %#lx is missing", listed, name, addr);
		assert_int_equal(symbol->size, size);
		assert_true(symbol->code);
		assert_int_equal(symbol->ifunc, !strcmp(type, "IFUNC"));
		assert_true(!dynamic || symbol->dynamic);
		count++;
	}
	command_end(out);
	return count;
}

/* Functions in the image's list: names of one address that differ only in version are one. */
static uint32_t count_functions(const struct elf_image *image, bool dynamic_only)
{
	uint32_t n, count = 0;
	const struct elf_symbol *symbols = elf_image_symbols(image, &n);
	for (uint32_t i = 0; i < n; i++)
		count += symbols[i].code && (symbols[i].dynamic || !dynamic_only);
	return count;
}

static void exported_functions(const char *path, uint32_t at_least)
{
	need_file(path);
	struct elf_image *image = open_image(path);
	uint32_t n = expect_listed(image, path, "--dyn-syms");
	assert_in_range(n, at_least, UINT32_MAX);
	print_message("%s: %u exported functions\n", path, n);
	/* one function exported under one name in two versions is one symbol */
	assert_in_range(count_functions(image, true), at_least, n);
	check_image(image);
	elf_image_free(image);
}

static void exported_functions_of_bash(void **state)
{
	(void)state;
	exported_functions("/usr/bin/bash", 1500);
}

static void exported_functions_of_python(void **state)
{
	(void)state;
	exported_functions("/usr/bin/python3.11", 1400);
}

static void exported_functions_of_libstdcxx(void **state)
{
	(void)state;
	exported_functions("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 3000);
}

/* The debug file of @path by its build-id, as readelf prints it. */
static void debug_file_of(const char *path, char *debug, size_t size)
{
	char id[128] = "";
	FILE *out = command("readelf -n '%s' | sed -n 's/.*Build ID: //p'", path);
	assert_int_equal(fscanf(out, "%127s", id), 1);
	command_end(out);
	snprintf(debug, size, "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
}

static void functions_of_debug_file(const char *path, uint32_t at_least)
{
	char debug[512];
	need_file(path);
	debug_file_of(path, debug, sizeof(debug));
	need_file(debug);
	struct elf_image *image = open_image(path);
	uint32_t n = expect_listed(image, debug, "--syms");
	assert_in_range(n, at_least, UINT32_MAX);
	print_message("%s: %u functions of its debug file\n", path, n);
	assert_null(elf_image_note(image, 0));
	check_image(image);
	elf_image_free(image);
}

static void functions_of_libc(void **state)
{
	(void)state;
	functions_of_debug_file("/lib/x86_64-linux-gnu/libc.so.6", 3000);
}

static void functions_of_python(void **state)
{
	(void)state;
	functions_of_debug_file("/usr/bin/python3.11", 5000);
}

/* Builds DIR/NAME with its symbols, DIR/NAME.debug, and DIR/NAME.bare without any but with a link.
 */
static void build(const char *dir, const char *name)
{
	write_source(dir, "symbols.c", "%s", source);
	shell("cd '%s' && cc -O1 -Wl,--build-id=none -o %s symbols.c", dir, name);
	shell("cd '%s' && objcopy --only-keep-debug %s %s.debug", dir, name, name);
	shell("cd '%s' && objcopy --strip-all --add-gnu-debuglink=%s.debug %s %s.bare", dir, name,
	      name, name);
}

static void symbols_of_all_kinds(void **state)
{
	char path[512];
	build(*state, "kinds");
	snprintf(path, sizeof(path), "%s/kinds", (char *)*state);
	struct elf_image *image = open_image(path);
	assert_in_range(expect_listed(image, path, "--syms"), 8, 64);
	uint32_t n;
	const struct elf_symbol *symbols = elf_image_symbols(image, &n);
	const struct {
		const char *name;
		bool code, global, ifunc;
	} wanted[] = {{"hidden", true, false, false}, {"shown", true, true, false},
		      {"maybe", true, true, false},   {"also", true, true, false},
		      {"chosen", true, true, true},   {"bare", false, false, false}};
	for (size_t k = 0; k < sizeof(wanted) / sizeof(*wanted); k++) {
		uint32_t i = 0;
		while (i < n && strcmp(symbols[i].name, wanted[k].name))
			i++;
		if (i == n)
			fail_msg("%s is missing", wanted[k].name);
		assert_int_equal(symbols[i].code, wanted[k].code);
		assert_int_equal(symbols[i].global, wanted[k].global);
		assert_int_equal(symbols[i].ifunc, wanted[k].ifunc);
	}
	for (uint32_t i = 0; i < n; i++) {
		assert_string_not_equal(symbols[i].name, "data");
		assert_string_not_equal(symbols[i].name, "table");
	}
	elf_image_free(image);
}

/* Opens NAME.bare of @dir and tells how many functions it has. */
static uint32_t functions_of_bare(const char *dir, const char *name, const char *note)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s.bare", dir, name);
	struct elf_image *image = open_image(path);
	uint32_t n = count_functions(image, false);
	if (note && !find_note(image, note))
		fail_msg("no note says \"%s\"", note);
	if (!note && elf_image_note(image, 0))
		fail_msg("a note says: %s", elf_image_note(image, 0));
	check_image(image);
	elf_image_free(image);
	return n;
}

static void debug_file_by_link(void **state)
{
	char path[512];
	const char *dir = *state;
	build(dir, "linked");
	snprintf(path, sizeof(path), "%s/linked", dir);
	struct elf_image *image = open_image(path);
	uint32_t n = count_functions(image, false);
	elf_image_free(image);
	assert_int_equal(functions_of_bare(dir, "linked", NULL), n);
	shell("cd '%s' && mkdir -p .debug && mv linked.debug .debug", dir);
	assert_int_equal(functions_of_bare(dir, "linked", NULL), n);
	shell("cd '%s' && printf x >>.debug/linked.debug", dir);
	assert_int_equal(functions_of_bare(dir, "linked", "another checksum"), 0);
	shell("rm '%s/.debug/linked.debug'", dir);
	assert_int_equal(functions_of_bare(dir, "linked", NULL), 0);
}

/* However a debug file is cut, though its checksum fits, the image opens. */
static void debug_file_cut_off(void **state)
{
	const char *dir = *state;
	char path[512];
	size_t len, bare_len, full_len, link;
	build(dir, "cut");
	snprintf(path, sizeof(path), "%s/cut.debug", dir);
	uint8_t *debug = read_whole(path, &full_len);
	snprintf(path, sizeof(path), "%s/cut.bare", dir);
	uint8_t *bare = read_whole(path, &bare_len);
	for (link = 0; link + 16 < bare_len && memcmp(bare + link, "cut.debug", 10); link++)
		;
	assert_true(link + 16 < bare_len);
	for (uint32_t percent = 0; percent <= 100; percent++) {
		len = full_len * percent / 100;
		uint32_t crc = crc32_z(0, debug, len);
		memcpy(bare + link + 12, &crc, sizeof(crc));
		snprintf(path, sizeof(path), "%s/cut.debug", dir);
		FILE *file = fopen(path, "w");
		assert_int_equal(fwrite(debug, 1, len, file), len);
		fclose(file);
		snprintf(path, sizeof(path), "%s/cut.bare", dir);
		file = fopen(path, "w");
		assert_int_equal(fwrite(bare, 1, bare_len, file), bare_len);
		fclose(file);
		struct elf_image *image = open_image(path);
		check_image(image);
		assert_true(percent < 100 || count_functions(image, false) > 8);
		assert_true(percent == 100 || elf_image_note(image, 0));
		elf_image_free(image);
	}
	free(debug);
	free(bare);
}

static void names_are_demangled(void **state)
{
	(void)state;
	static const char *const names[][2] = {
		{"_ZN3foo3barEiPKc", "foo::bar(int, char const*)"},
		{"_ZNSt6vectorIiSaIiEE9push_backEOi",
		 "std::vector<int, std::allocator<int> >::push_back(int&&)"},
		{"_ZN1aC2Ev.cold", "a::a() [clone .cold]"},
		{"_ZSt4cout@@GLIBCXX_3.4", "std::cout@@GLIBCXX_3.4"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
		{"_RNvC6_123foo3bar", "123foo::bar"},
		{"main", "main"},
		{"_start", "_start"},
		{"", ""},
		{"_", "_"},
		{"_Z", "_Z"},
		{"_ZZZZ", "_ZZZZ"},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *plain = pugmark_demangle(names[i][0]);
		assert_string_equal(plain, names[i][1]);
		free(plain);
	}
}

/* c++filt knows the same demangler only in part: it is binutils' own copy. */
static void names_of_libstdcxx_are_demangled(void **state)
{
	(void)state;
	const char *path = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6";
	need_file(path);
	FILE *out = command("nm -D --defined-only --without-symbol-versions '%s' | "
			    "awk '{print $3}' | sort -u | head -n 3000 >'%s/mangled' && "
			    "c++filt -i <'%s/mangled' | paste '%s/mangled' -",
			    path, (char *)*state, (char *)*state, (char *)*state);
	static char line[65536];
	uint32_t n = 0;
	while (fgets(line, sizeof(line), out)) {
		char *tab = strchr(line, '\t');
		assert_non_null(tab);
		*tab = 0;
		tab[1 + strcspn(tab + 1, "\n")] = 0;
		char *plain = pugmark_demangle(line);
		assert_string_equal(plain, tab + 1);
		free(plain);
		n++;
	}
	command_end(out);
	assert_int_equal(n, 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exported_functions_of_bash),
		cmocka_unit_test(exported_functions_of_python),
		cmocka_unit_test(exported_functions_of_libstdcxx),
		cmocka_unit_test(functions_of_libc),
		cmocka_unit_test(functions_of_python),
		cmocka_unit_test(symbols_of_all_kinds),
		cmocka_unit_test(debug_file_by_link),
		cmocka_unit_test(debug_file_cut_off),
		cmocka_unit_test(names_are_demangled),
		cmocka_unit_test(names_of_libstdcxx_are_demangled),
	};
	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
