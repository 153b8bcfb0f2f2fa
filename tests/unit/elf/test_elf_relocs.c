// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_elf_relocs.c: imports, PLT stubs and pointers into code are those that readelf and objdump
 * list, and for programs built here with every linker there is, PIE or not, lazily bound or not,
 * with DT_RELR or without, those that nm says. */
#include "tests/unit/elf/elf_helper.h"

#include "offline/elf/elf_parts.h"

static uint32_t import_called(const struct elf_image *image, const char *name)
{
	uint32_t n;
	const struct pugmark_import *imports = elf_image_imports(image, &n);
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(imports[i].name, name))
			return i;
	return PUGMARK_NONE;
}

static const char *import_name_at(const struct elf_image *image, uint64_t addr)
{
	uint32_t n, at = elf_image_import_at(image, addr);
	const struct pugmark_import *imports = elf_image_imports(image, &n);
	return at < n ? imports[at].name : NULL;
}

static bool is_slot(const struct elf_image *image, uint64_t place, uint64_t value)
{
	uint32_t n;
	const uint64_t *values, *places = elf_image_pointer_slots(image, &values, &n);
	for (uint32_t i = 0; i < n; i++)
		if (places[i] == place)
			return values[i] == value;
	return false;
}

static bool is_pointer(const struct elf_image *image, uint64_t value)
{
	uint32_t n;
	const uint64_t *pointers = elf_image_code_pointers(image, &n);
	for (uint32_t i = 0; i < n; i++)
		if (pointers[i] == value)
			return true;
	return false;
}

struct counts {
	uint32_t slots, stubs, pointers, relr;
};

/* Every GOT slot of a function and every RELATIVE word that readelf lists. */
static void expect_relocations(const struct elf_image *image, const char *path, struct counts *c)
{
	FILE *out = command("readelf -rW '%s' 2>/dev/null", path);
	char line[8192], type[64], name[4096];
	uint32_t n_code;
	const struct elf_code *code = elf_image_code(image, &n_code);
	bool relr = false;
	uint64_t place, value;
	while (fgets(line, sizeof(line), out)) {
		if (strstr(line, "Relocation section"))
			relr = strstr(line, ".relr.");
		if (relr && sscanf(line, "%16lx%c", &place, type) == 2 && strlen(line) == 17) {
			size_t len;
			const uint8_t *word = elf_image_bytes(image, place, &len);
			assert_true(word && len >= 8);
			c->relr++;
			value = elf_u64(word);
			if (in_code(code, n_code, value))
				assert_true(is_slot(image, place, value));
		} else if (sscanf(line, "%16lx %*x R_X86_64_%63s %lx %4095s", &place, type, &value,
				  name) == 4 &&
			   (!strcmp(type, "JUMP_SLOT") ||
			    (!strcmp(type, "GLOB_DAT") && import_name_at(image, place)))) {
			name[strcspn(name, "@")] = 0;
			assert_non_null(import_name_at(image, place));
			assert_string_equal(import_name_at(image, place), name);
			c->slots++;
		} else if (sscanf(line, "%16lx %*x R_X86_64_%63s %lx", &place, type, &value) == 3 &&
			   !strcmp(type, "RELATIVE") && in_code(code, n_code, value)) {
			assert_true(is_slot(image, place, value));
			assert_true(is_pointer(image, value));
			c->pointers++;
		}
	}
	pclose(out); /* readelf fails for want of an interpreter, in a library */
}

/* Every stub that objdump names is its import. */
static void expect_stubs(const struct elf_image *image, const char *path, struct counts *c)
{
	FILE *out = command("objdump -d -j .plt -j .plt.got -j .plt.sec '%s' 2>/dev/null |"
			    " sed -n 's/^\\([0-9a-f]*\\) <\\([^@+]*\\)@*.*plt>:/\\1 \\2/p'",
			    path);
	char line[8192], name[4096];
	uint64_t addr;
	while (fgets(line, sizeof(line), out)) {
		if (sscanf(line, "%lx %4095s", &addr, name) != 2 || name[0] == '*')
			continue;
		const char *got = import_name_at(image, addr);
		if (!got)
			fail_msg("%s: no import at the stub %#lx of %s", path, addr, name);
		assert_string_equal(got, name);
		c->stubs++;
	}
	command_end(out);
}

static void references_of(const char *path, struct counts at_least)
{
	struct counts c = {0};
	need_file(path);
	struct elf_image *image = open_image(path);
	expect_relocations(image, path, &c);
	expect_stubs(image, path, &c);
	print_message("%s: %u GOT slots, %u stubs, %u pointers, %u RELR\n", path, c.slots, c.stubs,
		      c.pointers, c.relr);
	assert_in_range(c.slots, at_least.slots, UINT32_MAX);
	assert_in_range(c.stubs, at_least.stubs, UINT32_MAX);
	assert_in_range(c.pointers, at_least.pointers, UINT32_MAX);
	assert_in_range(c.relr, at_least.relr, UINT32_MAX);
	assert_null(elf_image_note(image, 0));
	check_image(image);
	elf_image_free(image);
}

static void references_of_gzip(void **state)
{
	(void)state;
	references_of("/usr/bin/gzip", (struct counts){76, 76, 2, 0});
}

static void references_of_bash(void **state)
{
	(void)state;
	references_of("/usr/bin/bash", (struct counts){224, 224, 1000, 0});
}

static void references_of_python(void **state)
{
	(void)state;
	references_of("/usr/bin/python3.11", (struct counts){490, 490, 0, 0});
}

static void references_of_gdb(void **state)
{
	(void)state;
	references_of("/usr/bin/gdb", (struct counts){750, 750, 10000, 0});
}

static void references_of_libc(void **state)
{
	(void)state;
	references_of("/lib/x86_64-linux-gnu/libc.so.6", (struct counts){15, 5, 0, 1000});
}

static void references_of_libstdcxx(void **state)
{
	(void)state;
	references_of("/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		      (struct counts){900, 900, 200, 0});
}

struct names {
	struct {
		char name[64];
		uint64_t addr;
	} all[16384];
	uint32_t n;
};

/* nm's list of @path. */
static void read_names(const char *path, struct names *names)
{
	FILE *out = command("nm '%s'", path);
	char line[4096];
	names->n = 0;
	while (fgets(line, sizeof(line), out)) {
		assert_true(names->n < sizeof(names->all) / sizeof(*names->all));
		if (sscanf(line, "%lx %*c %63s", &names->all[names->n].addr,
			   names->all[names->n].name) == 2)
			names->n++;
	}
	command_end(out);
}

static uint64_t addr_of(const struct names *names, const char *name)
{
	for (uint32_t i = 0; i < names->n; i++)
		if (!strcmp(names->all[i].name, name))
			return names->all[i].addr;
	fail_msg("nm lists no %s", name);
	return 0;
}

static const char source[] =
	"#include <setjmp.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
	"#include <unistd.h>\n"
	"static jmp_buf back;\n"
	"int first(void) { return 1; } int second(void) { return 2; }\n"
	"int never_taken(int n) { return n * 3; }\n"
	"int (*const pair[2])(void) = {first, second}; int (*variable)(void) = second;\n"
	"int interpret(const char *code)\n"
	"{\n"
	"	static void *const labels[] = {&&add, &&twice, &&end};\n"
	"	int n = 0;\n"
	"	goto *labels[*code - '0'];\n"
	"add: n++; goto *labels[*++code - '0'];\n"
	"twice: n *= 2; goto *labels[*++code - '0'];\n"
	"end: return n;\n"
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	void (*taken)(void *) = free;\n"
	"	if (setjmp(back) || vfork() == 0) _exit(1);\n"
	"	printf(\"%d %zu %p\\n\", pair[argc & 1]() + variable() + interpret(argv[0]),\n"
	"	       strlen(argv[0]) + never_taken(argc), (void *)taken);\n"
	"	if (argc > 5) longjmp(back, 1);\n"
	"	if (argc > 4) execve(argv[0], argv, NULL);\n"
	"	abort();\n"
	"}\n";

/* What the source above says of imports: names and flags. */
static void expect_imports(const struct elf_image *image, const char *options)
{
	static const struct {
		const char *name;
		uint8_t flags;
	} calls[] = {
		{"_setjmp", PUGMARK_SITE_RETURNS_TWICE},
		{"vfork", PUGMARK_SITE_RETURNS_TWICE},
		{"longjmp", PUGMARK_SITE_NORETURN},
		{"abort", PUGMARK_SITE_NORETURN},
		{"_exit", PUGMARK_SITE_NORETURN},
		{"execve", 0},
		{"printf", 0},
		{"free", 0},
	};
	uint32_t n;
	const struct pugmark_import *imports = elf_image_imports(image, &n);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		uint32_t at = import_called(image, calls[i].name);
		if (at == PUGMARK_NONE)
			fail_msg("no import %s", calls[i].name);
		assert_int_equal(imports[at].flags, calls[i].flags);
		assert_int_equal(elf_image_import_local(image)[at], 0);
		if (!strstr(options, "-fno-plt") && strcmp(calls[i].name, "free"))
			assert_true(imports[at].plt_addr != 0);
	}
}

/* What the source above says of pointers into code. */
static void expect_pointers(const struct elf_image *image, const struct names *names)
{
	uint64_t first = addr_of(names, "first"), second = addr_of(names, "second");
	uint64_t pair = addr_of(names, "pair"), variable = addr_of(names, "variable");
	uint64_t interpret = addr_of(names, "interpret"), main_addr = addr_of(names, "main");
	assert_true(is_slot(image, pair, first));
	assert_true(is_slot(image, pair + 8, second));
	assert_true(is_slot(image, variable, second));
	assert_true(is_pointer(image, first));
	assert_true(is_pointer(image, second));
	assert_true(is_pointer(image, addr_of(names, "_start")));
	assert_false(is_pointer(image, addr_of(names, "never_taken")));
	uint32_t n, n_labels = 0;
	const uint64_t *pointers = elf_image_code_pointers(image, &n);
	for (uint32_t i = 0; i < n; i++)
		n_labels += pointers[i] > interpret && pointers[i] < main_addr;
	assert_int_equal(n_labels, 3);
}

/* A program built with @options has the imports (unless static) and pointers that its source says,
 * with its section headers and without them. */
static void expect_built(const char *path, const char *options)
{
	static struct names names;
	size_t len;
	uint8_t *bytes = read_whole(path, &len);
	read_names(path, &names);
	for (uint32_t without = 0; without < 2; without++) {
		struct elf_image *image;
		struct pugmark_diag diag;
		print_message("%s%s\n", options, without ? ", no section headers" : "");
		assert_int_equal(open_bytes(bytes, len, &image, &diag), 0);
		if (!strstr(options, "-static"))
			expect_imports(image, options);
		expect_pointers(image, &names);
		check_image(image);
		elf_image_free(image);
		memset(bytes + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(Elf64_Off));
		memset(bytes + offsetof(Elf64_Ehdr, e_shnum), 0, 4);
	}
	free(bytes);
}

static void every_linker_and_layout(void **state)
{
	static const char *const linkers[] = {"bfd", "gold", "lld", "mold"};
	static const struct {
		const char *options, *object;
	} layouts[] = {
		{"-pie", "pie.o"},
		{"-no-pie", "fixed.o"},
		{"-pie -fno-plt", "noplt.o"},
		{"-pie -Wl,-z,now", "pie.o"},
		{"-pie -Wl,-z,ibtplt", "pie.o"},
		{"-pie -Wl,-z,pack-relative-relocs", "pie.o"},
		{"-pie -Wl,--pack-dyn-relocs=relr", "pie.o"},
		{"-pie -Wl,-z,noseparate-code", "pie.o"},
		{"-static", "fixed.o"},
		{"-static-pie", "pie.o"},
	};
	const char *dir = *state;
	char path[512], link[2048];
	uint32_t n_built = 0;
	write_source(dir, "built.c", "%s", source);
	snprintf(path, sizeof(path), "%s/built", dir);
	shell("cd '%s' && cc='cc -O1 -fno-reorder-functions -fcf-protection -c built.c -o' && "
	      "$cc pie.o -fPIE && $cc fixed.o -fno-pie && $cc noplt.o -fPIE -fno-plt",
	      dir);
	for (size_t i = 0; i < sizeof(linkers) / sizeof(*linkers); i++)
		for (size_t k = 0; k < sizeof(layouts) / sizeof(*layouts); k++) {
			char options[128];
			snprintf(options, sizeof(options), "-fuse-ld=%s %s", linkers[i],
				 layouts[k].options);
			snprintf(link, sizeof(link), "cd '%s' && cc %s %s -o built 2>/dev/null",
				 dir, layouts[k].object, options);
			if (system(link))
				continue; /* no such linker here, or it does not know the option */
			expect_built(path, options);
			n_built++;
		}
	print_message("%u programs\n", n_built);
	assert_in_range(n_built, 8, 40);
}

/* Where text is large, the three bytes of an address of code may all be letters: a table of such
 * addresses is no string. What a string ends with is no pointer. */
static void a_table_of_letters_is_no_string(void **state)
{
	static struct names names;
	const char *dir = *state;
	struct elf_image *image;
	char path[512];
	size_t len;
	write_source(dir, "letters.S", "%s",
		     ".globl main, one, two, three, table, string\n"
		     "main: ret\n"
		     ".section .letters, \"ax\"\n"
		     "one: .fill 16, 1, 0x90\ntwo: .fill 16, 1, 0x90\nthree: ret\n"
		     ".data\n.balign 8\n"
		     "table: .quad one, two, three, two, one\n"
		     ".ascii \"strange closure \"\nstring: .quad three\n"
		     ".section .note.GNU-stack, \"\", @progbits\n");
	shell("cd '%s' && cc -no-pie -Wl,--section-start=.letters=0x602020 letters.S -o letters",
	      dir);
	snprintf(path, sizeof(path), "%s/letters", dir);
	uint8_t *bytes = read_whole(path, &len);
	read_names(path, &names);
	struct pugmark_diag diag;
	assert_int_equal(open_bytes(bytes, len, &image, &diag), 0);
	static const char *const row[] = {"one", "two", "three", "two", "one"};
	uint64_t table = addr_of(&names, "table"), string = addr_of(&names, "string");
	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++)
		assert_true(is_slot(image, table + 8 * i, addr_of(&names, row[i])));
	assert_false(is_slot(image, string, addr_of(&names, "three")));
	elf_image_free(image);
	free(bytes);
}

/* Section headers may name any number of tables: a note says which are not read. */
static void tables_that_are_not_read_are_noted(void **state)
{
	enum { TABLES = 80, BYTES = sizeof(Elf64_Rela) };
	static struct names names;
	const char *dir = *state;
	char path[512];
	size_t len;
	write_source(dir, "tables.S", "%s",
		     ".globl main, room\nmain: ret\n.data\n.balign 8\nroom: .fill 240, 8, 0\n"
		     ".section .note.GNU-stack, \"\", @progbits\n");
	shell("cd '%s' && cc -no-pie tables.S -o tables", dir);
	snprintf(path, sizeof(path), "%s/tables", dir);
	uint8_t *bytes = read_whole(path, &len);
	read_names(path, &names);
	for (unsigned more = 0; more <= TABLES; more += TABLES) {
		struct elf_image *image;
		struct pugmark_diag diag;
		Elf64_Ehdr header;
		memcpy(&header, bytes, sizeof(header));
		size_t at = (len + 7) & ~(size_t)7, old = header.e_shnum * sizeof(Elf64_Shdr);
		uint8_t *grown = calloc(1, at + old + more * sizeof(Elf64_Shdr));
		assert_non_null(grown);
		memcpy(grown, bytes, len);
		memcpy(grown + at, bytes + header.e_shoff, old);
		for (unsigned i = 0; i < more; i++) {
			const Elf64_Shdr table = {.sh_type = SHT_RELA,
						  .sh_flags = SHF_ALLOC,
						  .sh_addr = addr_of(&names, "room") + i * BYTES,
						  .sh_size = BYTES,
						  .sh_entsize = BYTES};
			memcpy(grown + at + old + i * sizeof(table), &table, sizeof(table));
		}
		header.e_shoff = at;
		header.e_shnum += more;
		memcpy(grown, &header, sizeof(header));
		assert_int_equal(
			open_bytes(grown, at + old + more * sizeof(Elf64_Shdr), &image, &diag), 0);
		bool noted = false;
		for (uint32_t i = 0; elf_image_note(image, i); i++)
			noted |= strstr(elf_image_note(image, i), "are not read") != NULL;
		assert_int_equal(noted, more != 0);
		elf_image_free(image);
		free(grown);
	}
	free(bytes);
}

static void flags_go_by_name(void **state)
{
	(void)state;
	static const char *const never[] = {
		"exit",
		"_exit",
		"_Exit",
		"quick_exit",
		"abort",
		"longjmp",
		"_longjmp",
		"siglongjmp",
		"__longjmp_chk",
		"__cxa_throw",
		"__cxa_rethrow",
		"__cxa_bad_cast",
		"__cxa_bad_typeid",
		"__cxa_throw_bad_array_new_length",
		"__cxa_pure_virtual",
		"_Unwind_Resume",
		"__stack_chk_fail",
		"__assert_fail",
		"__assert_perror_fail",
		"__assert",
		"__fortify_fail",
		"__chk_fail",
		"err",
		"errx",
		"verr",
		"verrx",
		"errc",
		"verrc",
		"pthread_exit",
		"thrd_exit",
		"_ZSt9terminatev",
		"_ZSt10unexpectedv",
		"_ZSt17__throw_bad_allocv",
		"_ZSt20__throw_length_errorPKc",
		"_ZSt24__throw_out_of_range_fmtPKcz",
		"__libc_start_main",
		"__libc_fatal",
		"_dl_signal_error",
		"____longjmp_chk",
		"__pthread_unwind_next",
	};
	static const char *const twice[] = {"setjmp", "_setjmp", "__sigsetjmp", "sigsetjmp",
					    "vfork",  "__vfork", "getcontext",	"savectx"};
	static const char *const neither[] = {
		"execve",	"error",	"fork",	     "",     "a",
		"zzz",		"exi",		"exit_",     "warn", "_ZSt4cout",
		"_ZSt9__throw", "_ZSt__throw_", "swapcontex"};
	static const char *const switches[] = {
		"swapcontext",
		"setcontext",
		"co_switch",
		"coro_transfer",
		"jump_fcontext",
		"ontop_fcontext",
		"_ZN5boost10coroutines6detail17coroutine_context4jumpERS2_Pv",
	};
	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		if (elf_libc_flags(never[i]) != PUGMARK_SITE_NORETURN)
			fail_msg("%s", never[i]);
	for (size_t i = 0; i < sizeof(twice) / sizeof(*twice); i++)
		if (elf_libc_flags(twice[i]) != PUGMARK_SITE_RETURNS_TWICE)
			fail_msg("%s", twice[i]);
	for (size_t i = 0; i < sizeof(neither) / sizeof(*neither); i++)
		if (elf_libc_flags(neither[i]))
			fail_msg("%s", neither[i]);
	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++)
		if (elf_libc_flags(switches[i]) != PUGMARK_SITE_SWITCHES)
			fail_msg("%s", switches[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(references_of_gzip),
		cmocka_unit_test(references_of_bash),
		cmocka_unit_test(references_of_python),
		cmocka_unit_test(references_of_gdb),
		cmocka_unit_test(references_of_libc),
		cmocka_unit_test(references_of_libstdcxx),
		cmocka_unit_test(every_linker_and_layout),
		cmocka_unit_test(a_table_of_letters_is_no_string),
		cmocka_unit_test(tables_that_are_not_read_are_noted),
		cmocka_unit_test(flags_go_by_name),
	};
	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
