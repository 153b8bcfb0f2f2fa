// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_value_dies.c: of DWARF that a file makes up, siblings that lead round end a walk, what would
 * take longer than anybody waits is not known, and so is a type that no compiler makes. */
#include "user/values/dwarf/value_abi.h"
#include "user/values/vars/value_locals.h"
#include "user/values/dwarf/value_scopes.h"
#include "user/values/types/value_types.h"

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

/* Compiles @source, a file of that name's ending, and opens its DWARF. */
static Dwarf *compiled(const char *name, const char *source, int *fd)
{
	char path[128], command[512];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(source, out);
	fclose(out);
	snprintf(command, sizeof(command), "cc -g -O1 -nostdlib -shared -o '%s.so' '%s'", path,
		 path);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "%s/%s.so", dir, name);
	*fd = open(path, O_RDONLY);
	assert_true(*fd >= 0);
	Dwarf *dwarf = dwarf_begin(*fd, DWARF_C_READ);
	assert_non_null(dwarf);
	return dwarf;
}

static Dwarf_Die first_unit(Dwarf *dwarf)
{
	Dwarf_Off next;
	Dwarf_Die unit;
	size_t header;
	assert_int_equal(dwarf_nextcu(dwarf, 0, &next, &header, NULL, NULL, NULL), 0);
	assert_non_null(dwarf_offdie(dwarf, header, &unit));
	return unit;
}

/* --- a walk ---------------------------------------------------------------------------------- */

/* Each of three namespaces, one in the other, says that its next sibling is its own child; and the
 * two functions at the end that the first of them comes next. The last function's result is a
 * complex number of one byte. */
static const char damaged[] =
	".section .debug_abbrev, \"\", @progbits\n"
	".uleb128 1, 0x11; .byte 1; .uleb128 0x13, 0x0b, 0, 0\n"	  /* unit: language */
	".uleb128 2, 0x39; .byte 1; .uleb128 1, 0x13, 0, 0\n"		  /* namespace: sibling */
	".uleb128 3, 0x2e; .byte 0; .uleb128 1, 0x13, 0x49, 0x13, 0, 0\n" /* function: type */
	".uleb128 4, 0x24; .byte 0; .uleb128 0x0b, 0x0b, 0x3e, 0x0b, 0, 0\n" /* base type */
	".byte 0\n"
	".section .debug_info, \"\", @progbits\n"
	"begin: .long end - after\n"
	"after: .value 4; .long .debug_abbrev; .byte 8\n"
	".uleb128 1; .byte 0x0c\n"
	"one: .uleb128 2; .long two - begin\n"
	"two: .uleb128 2; .long three - begin\n"
	"three: .uleb128 2; .long inner - begin\n"
	"inner: .uleb128 3; .long inner - begin, type - begin\n"
	".byte 0, 0, 0\n"
	"first: .uleb128 3; .long second - begin, type - begin\n"
	"second: .uleb128 3; .long first - begin, type - begin\n"
	"type: .uleb128 4; .byte 1, 3\n"
	".byte 0\n"
	"end:\n"
	".section .note.GNU-stack, \"\", @progbits\n";

struct met {
	unsigned n;
	Dwarf_Off last;
	Dwarf_Die function; /* the last one */
};

static int meet(void *ctx, Dwarf_Die *die)
{
	struct met *m = ctx;
	assert_true(dwarf_dieoffset(die) > m->last);
	m->last = dwarf_dieoffset(die);
	m->n++;
	if (dwarf_tag(die) == DW_TAG_subprogram)
		m->function = *die;
	return 0;
}

static void siblings_that_lead_round(void **state)
{
	struct met m = {0};
	int fd;
	(void)state;
	Dwarf *dwarf = compiled("damaged.S", damaged, &fd);
	Dwarf_Die unit = first_unit(dwarf);
	alarm(20);
	assert_int_equal(value_scopes_each(&unit, meet, &m), 0);
	assert_in_range(m.n, 4, 8);
	alarm(0);
	dwarf_end(dwarf);
	close(fd);
}

/* @what, each in the one before, and each says that its next sibling is its own child: there are
 * 2^40 ways to the last. */
static struct value_vars *doubled(const char *name, const char *what)
{
	enum { LEVELS = 40 };
	static char source[16384];
	char path[128];
	int fd, len = snprintf(source, sizeof(source),
			       ".text\nf: nop\n"
			       ".section .debug_abbrev, \"\", @progbits\n"
			       ".uleb128 1, 0x11; .byte 1; .uleb128 0x13, 0x0b, 0, 0\n"
			       ".uleb128 2, %s; .byte 1; .uleb128 1, 0x13, 0, 0\n"
			       ".uleb128 3, 0x2e; .byte 1\n" /* function: from, length */
			       ".uleb128 0x11, 0x01, 0x12, 0x0b, 0, 0\n"
			       ".uleb128 4, 0x24; .byte 0; .uleb128 0, 0\n" /* base type */
			       ".byte 0\n"
			       ".section .debug_info, \"\", @progbits\n"
			       "begin: .long end - after\n"
			       "after: .value 4; .long .debug_abbrev; .byte 8\n"
			       ".uleb128 1; .byte 0x0c\n",
			       what);
	if (!strcmp(what, "0x0b"))
		len += snprintf(source + len, sizeof(source) - len,
				".uleb128 3; .quad f; .byte 1\n");
	for (int i = 0; i < LEVELS; i++)
		len += snprintf(source + len, sizeof(source) - len,
				"in%d: .uleb128 2; .long in%d - begin\n", i, i + 1);
	snprintf(source + len, sizeof(source) - len,
		 "in%d: .uleb128 4\n.fill %d, 1, 0\nend:\n"
		 ".section .note.GNU-stack, \"\", @progbits\n",
		 LEVELS, LEVELS + 2);
	Dwarf *dwarf = compiled(name, source, &fd);
	dwarf_end(dwarf);
	close(fd);
	snprintf(path, sizeof(path), "%s/%s.so", dir, name);
	struct value_vars *vars = value_vars_open(path);
	assert_non_null(vars);
	return vars;
}

static void spaces_that_lead_inside(void **state)
{
	struct value_static out;
	(void)state;
	struct value_vars *vars = doubled("spaces.S", "0x39"); /* namespaces */
	alarm(20);
	assert_false(value_static_find(vars, "none", &out));
	alarm(0);
	value_vars_free(vars);
}

static void blocks_that_lead_inside(void **state)
{
	struct value_path_why why;
	struct value_locals out = {0};
	char *has;
	(void)state;
	struct value_vars *vars = doubled("blocks.S", "0x0b"); /* lexical blocks */
	alarm(20);
	assert_int_equal(value_locals_find(vars, 0, "f", "none", &out, &has, &why), -ENOENT);
	alarm(0);
	value_locals_deinit(&out);
	value_vars_free(vars);
}

static void a_complex_number_of_one_byte(void **state)
{
	struct met m = {0};
	struct value_bytes out;
	int fd;
	(void)state;
	Dwarf *dwarf = compiled("damaged.S", damaged, &fd);
	Dwarf_Die unit = first_unit(dwarf);
	value_scopes_each(&unit, meet, &m);
	assert_non_null(m.function.addr);
	assert_false(value_abi_result(&m.function, NULL, &out));
	dwarf_end(dwarf);
	close(fd);
}

/* --- classes --------------------------------------------------------------------------------- */

/* Types of sixteen members each, one in the other: a function's result is of 16^14 members. */
static void types_within_types(void **state)
{
	enum { LEVELS = 14, MEMBERS = 16 };
	struct met m = {0};
	struct value_bytes out;
	static char source[65536];
	int fd, len = snprintf(
			source, sizeof(source),
			".section .debug_abbrev, \"\", @progbits\n"
			".uleb128 1, 0x11; .byte 1; .uleb128 0x13, 0x0b, 0, 0\n"
			".uleb128 2, 0x17; .byte 1; .uleb128 0x0b, 0x0b, 0, 0\n" /* union: size */
			".uleb128 3, 0x2e; .byte 0; .uleb128 0x49, 0x13, 0, 0\n"
			".uleb128 4, 0x24; .byte 0; .uleb128 0x0b, 0x0b, 0x3e, 0x0b, 0, 0\n"
			".uleb128 5, 0x0d; .byte 0; .uleb128 0x49, 0x13, 0, 0\n" /* member */
			".byte 0\n"
			".section .debug_info, \"\", @progbits\n"
			"begin: .long end - after\n"
			"after: .value 4; .long .debug_abbrev; .byte 8\n"
			".uleb128 1; .byte 0x0c\n"
			"type0: .uleb128 4; .byte 1, 6\n");
	(void)state;
	for (int i = 1; i <= LEVELS; i++) {
		len += snprintf(source + len, sizeof(source) - len, "type%d: .uleb128 2; .byte 1\n",
				i);
		for (int k = 0; k < MEMBERS; k++)
			len += snprintf(source + len, sizeof(source) - len,
					".uleb128 5; .long type%d - begin\n", i - 1);
		len += snprintf(source + len, sizeof(source) - len, ".byte 0\n");
	}
	snprintf(source + len, sizeof(source) - len,
		 ".uleb128 3; .long type%d - begin\n.byte 0\nend:\n"
		 ".section .note.GNU-stack, \"\", @progbits\n",
		 LEVELS);
	Dwarf *dwarf = compiled("deep.S", source, &fd);
	Dwarf_Die unit = first_unit(dwarf);
	value_scopes_each(&unit, meet, &m);
	assert_non_null(m.function.addr);
	alarm(20);
	assert_false(value_abi_result(&m.function, NULL, &out));
	struct value_part part = {0};
	assert_true(value_plain_type(&m.function, &part.type));
	assert_false(value_path_follow(&part, "result.member", NULL));
	alarm(0);
	dwarf_end(dwarf);
	close(fd);
}

/* --- sizes ----------------------------------------------------------------------------------- */

/* The results of two functions: a number of 2^60 bytes, and a structure with a member of 2^62 bits
 * and one of 2^64 - 7. */
static const char large[] = ".section .debug_abbrev, \"\", @progbits\n"
			    ".uleb128 1, 0x11; .byte 1; .uleb128 0x13, 0x0b, 0, 0\n"
			    ".uleb128 2, 0x13; .byte 1; .uleb128 0x0b, 0x0b, 0, 0\n"
			    ".uleb128 3, 0x2e; .byte 0; .uleb128 0x49, 0x13, 0, 0\n"
			    ".uleb128 4, 0x24; .byte 0; .uleb128 0x0b, 0x07, 0x3e, 0x0b, 0, 0\n"
			    ".uleb128 5, 0x0d; .byte 0\n" /* member: bits, from which on */
			    ".uleb128 0x49, 0x13, 0x0d, 0x07, 0x6b, 0x0b, 0, 0\n"
			    ".byte 0\n"
			    ".section .debug_info, \"\", @progbits\n"
			    "begin: .long end - after\n"
			    "after: .value 4; .long .debug_abbrev; .byte 8\n"
			    ".uleb128 1; .byte 0x0c\n"
			    "huge: .uleb128 4; .quad 1 << 60; .byte 7\n"
			    "word: .uleb128 4; .quad 8; .byte 7\n"
			    "struct: .uleb128 2; .byte 8\n"
			    ".uleb128 5; .long word - begin; .quad 1 << 62; .byte 0\n"
			    ".uleb128 5; .long word - begin; .quad -7; .byte 0\n"
			    ".byte 0\n"
			    ".uleb128 3; .long huge - begin\n"
			    ".uleb128 3; .long struct - begin\n"
			    ".byte 0\n"
			    "end:\n"
			    ".section .note.GNU-stack, \"\", @progbits\n";

static int print_result(void *ctx, Dwarf_Die *die)
{
	const struct value_bytes zeros = {.place = VALUE_IN_REGISTER, .len = VALUE_BYTES};

	if (dwarf_tag(die) == DW_TAG_subprogram)
		assert_int_equal(value_type_print(ctx, die, &zeros, NULL, NULL, VALUE_AS_TEXT),
				 VALUE_UNKNOWN);
	return 0;
}

static void sizes_that_no_scalar_has(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int fd;
	(void)state;
	Dwarf *dwarf = compiled("large.S", large, &fd);
	Dwarf_Die unit = first_unit(dwarf);
	alarm(20);
	value_scopes_each(&unit, print_result, out);
	alarm(0);
	fclose(out);
	assert_string_equal(text, "?{?, ?}");
	free(text);
	dwarf_end(dwarf);
	close(fd);
}

/* --- registers ------------------------------------------------------------------------------- */

/* The variable v of a function is in register 2^63 + 3, w in register 3. */
static const char far_register[] =
	".text\nf: nop\n"
	".section .debug_abbrev, \"\", @progbits\n"
	".uleb128 1, 0x11; .byte 1; .uleb128 0x13, 0x0b, 0, 0\n"
	".uleb128 2, 0x2e; .byte 1; .uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x0b, 0, 0\n"
	".uleb128 3, 0x34; .byte 0; .uleb128 0x03, 0x08, 0x49, 0x13, 0x02, 0x18, 0, 0\n"
	".uleb128 4, 0x24; .byte 0; .uleb128 0x0b, 0x0b, 0x3e, 0x0b, 0, 0\n" /* base type */
	".byte 0\n"
	".section .debug_info, \"\", @progbits\n"
	"begin: .long end - after\n"
	"after: .value 4; .long .debug_abbrev; .byte 8\n"
	".uleb128 1; .byte 0x0c\n"
	"type: .uleb128 4; .byte 8, 7\n"
	".uleb128 2; .asciz \"f\"; .quad f; .byte 1\n"
	".uleb128 3; .asciz \"v\"; .long type - begin; .uleb128 11; .byte 0x90\n"
	".uleb128 (1 << 63) + 3\n"
	".uleb128 3; .asciz \"w\"; .long type - begin; .uleb128 2; .byte 0x90, 3\n"
	".byte 0, 0\n"
	"end:\n"
	".section .note.GNU-stack, \"\", @progbits\n";

static struct value_home home_of(struct value_vars *vars, const char *name)
{
	struct value_path_why why;
	struct value_locals out = {0};
	Dwarf_Addr pc;
	char *has;

	assert_int_equal(value_locals_find(vars, 0, "f", name, &out, &has, &why), 0);
	assert_int_equal(out.n, 1);
	assert_int_equal(dwarf_lowpc(&out.at[0].function, &pc), 0);
	struct value_home home = value_local_home(&out.at[0], pc);
	value_locals_deinit(&out);
	return home;
}

static void a_register_that_no_processor_has(void **state)
{
	char path[128];
	int fd;
	(void)state;
	dwarf_end(compiled("far.S", far_register, &fd));
	close(fd);
	snprintf(path, sizeof(path), "%s/far.S.so", dir);
	struct value_vars *vars = value_vars_open(path);
	assert_non_null(vars);
	struct value_home home = home_of(vars, "w");
	assert_int_equal(home.kind, HOME_REGISTER);
	assert_int_equal(home.at, 3);
	assert_int_equal(home_of(vars, "v").kind, HOME_NOWHERE);
	value_vars_free(vars);
}

static int begin(void **state)
{
	const char *tmp = getenv("TMPDIR");
	(void)state;
	snprintf(dir, sizeof(dir), "%.40s/pugmark-dies-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

/* A struct of two members without a name, each of that struct; and one that is a base of itself, of
 * which its table says where. */
static const char within_itself[] =
	".section .debug_abbrev, \"\", @progbits\n"
	".uleb128 1, 0x11; .byte 1; .uleb128 0x13, 0x0b, 0, 0\n"	     /* unit: language */
	".uleb128 2, 0x13; .byte 1; .uleb128 0x0b, 0x0b, 0, 0\n"	     /* struct: size */
	".uleb128 3, 0x0d; .byte 0; .uleb128 0x49, 0x13, 0, 0\n"	     /* member: type */
	".uleb128 4, 0x0d; .byte 0; .uleb128 0x49, 0x13, 0x38, 0x18, 0, 0\n" /* and location */
	".byte 0\n"
	".section .debug_info, \"\", @progbits\n"
	"begin: .long end - after\n"
	"after: .value 4; .long .debug_abbrev; .byte 8\n"
	".uleb128 1; .byte 0x0c\n"
	"type: .uleb128 2; .byte 8\n"
	".uleb128 3; .long type - begin\n"
	".uleb128 3; .long type - begin\n"
	".byte 0\n"
	"moved: .uleb128 2; .byte 8\n"
	".uleb128 4; .long type - begin; .uleb128 1; .byte 0x30\n"
	".byte 0\n"
	".byte 0\n"
	"end:\n"
	".section .note.GNU-stack, \"\", @progbits\n";

static void a_struct_that_is_within_itself(void **state)
{
	struct value_bytes zeros = {.place = VALUE_IN_REGISTER, .len = 8};
	Dwarf_Die unit, type, moved;
	char *text = NULL;
	size_t len;
	int fd;
	(void)state;
	Dwarf *dwarf = compiled("itself.S", within_itself, &fd);
	unit = first_unit(dwarf);
	assert_int_equal(dwarf_child(&unit, &type), 0);
	assert_int_equal(dwarf_siblingof(&type, &moved), 0);
	alarm(20);
	FILE *out = open_memstream(&text, &len);
	value_part_print(out, &(struct value_part){.type = type, .value = zeros}, NULL,
			 VALUE_AS_JSON);
	fclose(out);
	alarm(0);
	assert_true(len < 10000);
	free(text);
	out = open_memstream(&text, &len);
	value_part_print(out, &(struct value_part){.type = moved, .value = zeros}, NULL,
			 VALUE_AS_JSON);
	fclose(out);
	assert_string_equal(text, "{\"\":\"?\"}");
	free(text);
	dwarf_end(dwarf);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_struct_that_is_within_itself),
		cmocka_unit_test(siblings_that_lead_round),
		cmocka_unit_test(spaces_that_lead_inside),
		cmocka_unit_test(blocks_that_lead_inside),
		cmocka_unit_test(a_complex_number_of_one_byte),
		cmocka_unit_test(types_within_types),
		cmocka_unit_test(a_register_that_no_processor_has),
		cmocka_unit_test(sizes_that_no_scalar_has),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
