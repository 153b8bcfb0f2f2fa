// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_elf_unwind.c: FDEs and CFA rows are those that readelf computes: of Debian's own programs,
 * and of an assembler file that uses the CFA instructions which compilers rarely emit. */
#include "tests/unit/elf/elf_helper.h"

#define MAX_ROWS 4096
#define MAX_CIES 4096

/* What is compared: the image, and where in readelf's output we are. */
struct comparison {
	struct elf_image *image;
	const struct elf_fde *fdes, *fde; /* fde: NULL outside an FDE */
	uint32_t n_fdes, n_seen, n_compared;
	struct elf_cfa_row rows[MAX_ROWS];
	uint32_t n_rows;
	struct {
		uint64_t off;
		struct pugmark_cfa rule; /* of its last row */
	} cies[MAX_CIES];
	uint32_t n_cies;
	uint64_t addr; /* readelf's last row and its rule */
	struct pugmark_cfa rule;
};

/* readelf's CFA column. */
static struct pugmark_cfa parse_cfa(const char *word)
{
	struct pugmark_cfa cfa = {.reg = PUGMARK_CFA_UNKNOWN};
	int offset;
	if (sscanf(word, "rsp%d", &offset) == 1)
		cfa = (struct pugmark_cfa){.reg = PUGMARK_CFA_SP, .offset = offset};
	else if (sscanf(word, "rbp%d", &offset) == 1)
		cfa = (struct pugmark_cfa){.reg = PUGMARK_CFA_BP, .offset = offset};
	return cfa;
}

/* The row of @addr has readelf's rule. */
static void expect_rule(const struct comparison *c, uint64_t addr)
{
	struct pugmark_cfa row = {.reg = 255};
	for (uint32_t i = 0; i < c->n_rows; i++)
		if (addr >= c->rows[i].addr && addr < c->rows[i].end)
			row = c->rows[i].cfa;
	if (row.reg != c->rule.reg || row.offset != c->rule.offset)
		fail_msg("at %#lx: readelf says %u%+d, the rows %u%+d", addr, c->rule.reg,
			 c->rule.offset, row.reg, row.offset);
}

static void end_fde(struct comparison *c)
{
	if (c->fde)
		expect_rule(c, c->fde->end - 1);
	c->fde = NULL;
}

static int by_addr(const void *key, const void *elem)
{
	uint64_t addr = *(const uint64_t *)key;
	const struct elf_fde *fde = elem;
	return addr < fde->addr ? -1 : addr > fde->addr;
}

static void start_fde(struct comparison *c, uint64_t cie, uint64_t addr, uint64_t end)
{
	if (addr == end)
		return;
	c->fde = bsearch(&addr, c->fdes, c->n_fdes, sizeof(*c->fdes), by_addr);
	if (!c->fde || c->fde->end != end)
		fail_msg("FDE %#lx..%#lx is missing", addr, end);
	c->n_seen++;
	c->n_rows = elf_image_cfa_rows(c->image, c->fde->index, c->rows, MAX_ROWS);
	assert_in_range(c->n_rows, 1, MAX_ROWS);
	c->addr = addr;
	for (uint32_t i = 0; i < c->n_cies; i++)
		if (c->cies[i].off == cie)
			c->rule = c->cies[i].rule;
}

/* A row: until it, the rule of the row before held. */
static void take_row(struct comparison *c, uint64_t addr, const char *word)
{
	if (!c->fde) {
		assert_true(c->n_cies > 0);
		c->cies[c->n_cies - 1].rule = parse_cfa(word);
		return;
	}
	if (addr >= c->fde->end)
		return;
	if (addr > c->addr)
		expect_rule(c, addr - 1);
	c->addr = addr;
	c->rule = parse_cfa(word);
	expect_rule(c, addr);
	c->n_compared++;
}

/* Compares all of @path's FDEs and rows with readelf's; at least @min_rows rows. */
static void compare_with_readelf(const char *path, uint32_t min_rows)
{
	static struct comparison c;
	c = (struct comparison){.image = open_image(path)};
	c.fdes = elf_image_fdes(c.image, &c.n_fdes);
	FILE *out = command("readelf --debug-dump=frames-interp --debug-dump=no-follow-links '%s'",
			    path);
	char line[1024], word[64];
	uint64_t off, cie, addr, end;
	bool ours = false; /* .eh_frame, not .debug_frame */
	while (fgets(line, sizeof(line), out)) {
		if (strstr(line, "Contents of the"))
			ours = strstr(line, ".eh_frame");
		if (!ours)
			continue;
		if (strstr(line, " CIE \"") && sscanf(line, "%lx", &off) == 1) {
			end_fde(&c);
			assert_true(c.n_cies < MAX_CIES);
			c.cies[c.n_cies++].off = off;
		} else if (sscanf(line, "%*x %*x %*x FDE cie=%lx pc=%lx..%lx", &cie, &addr, &end) ==
			   3) {
			end_fde(&c);
			start_fde(&c, cie, addr, end);
		} else if (sscanf(line, "%16lx %63s", &addr, word) == 2 && strchr("re", word[0])) {
			size_t len = strspn(line, " ") ? 0 : strlen(line);
			while (len && (line[len - 1] == '\n' || line[len - 1] == ' '))
				line[--len] = 0;
			/* the last column is the return address: nobody returns to such a frame */
			bool outermost = len > 2 && !strcmp(line + len - 2, " u");
			take_row(&c, addr, outermost ? "exp" : word);
		}
	}
	end_fde(&c);
	command_end(out);
	assert_int_equal(c.n_seen, c.n_fdes);
	assert_null(elf_image_note(c.image, 0));
	if (c.n_compared < min_rows)
		fail_msg("%s: only %u rows compared", path, c.n_compared);
	print_message("%s: %u FDEs, %u rows as readelf has them\n", path, c.n_fdes, c.n_compared);
	check_image(c.image);
	elf_image_free(c.image);
}

static void rows_of_gzip(void **state)
{
	(void)state;
	need_file("/usr/bin/gzip");
	compare_with_readelf("/usr/bin/gzip", 500);
}

static void rows_of_lua(void **state)
{
	(void)state;
	need_file("/usr/bin/lua5.4");
	compare_with_readelf("/usr/bin/lua5.4", 3000);
}

static void rows_of_python(void **state)
{
	(void)state;
	need_file("/usr/bin/python3.11");
	compare_with_readelf("/usr/bin/python3.11", 30000);
}

static void rows_of_libc(void **state)
{
	(void)state;
	need_file("/lib/x86_64-linux-gnu/libc.so.6");
	compare_with_readelf("/lib/x86_64-linux-gnu/libc.so.6", 10000);
}

#define NOPS(n) "\t.skip " #n ", 0x90\n"
#define FUNCTION(name, body)                                                                       \
	"\t.globl " name "\n\t.type " name ",@function\n" name ":\n\t.cfi_startproc\n" body        \
	"\t.cfi_endproc\n\t.size " name ",.-" name "\n"

/* .cfi_escape: 0x12 def_cfa_sf, 0x13 def_cfa_offset_sf (factor -8), 0x0f def_cfa_expression, 0x10
 * expression, 0x16 val_expression, 0x15 val_offset_sf, 0x2f negative offset, 0x2e args_size. */
static const char rare_instructions[] = "\t.text\n" FUNCTION(
	"other_register",
	NOPS(3) "\t.cfi_def_cfa 10, 0\n" NOPS(
		4) "\t.cfi_def_cfa_register 6\n\t.cfi_def_cfa_offset "
		   "32\n" NOPS(70) "\t.cfi_def_cfa 7, 8\n" NOPS(
			   1)) FUNCTION("far_advances",
					NOPS(1) "\t.cfi_def_cfa_offset 16\n" NOPS(
						300) "\t.cfi_def_cfa_offset "
						     "24\n" NOPS(70000) "\t.cfi_"
									"def_cfa_"
									"offset "
									"1048576"
									"\n" NOPS(9))
	FUNCTION(
		"states",
		NOPS(1) "\t.cfi_def_cfa_offset 48\n\t.cfi_remember_state\n" NOPS(
			2) "\t.cfi_def_cfa 6, 16\n\t.cfi_remember_state\n" NOPS(2) "\t.cfi_def_cfa_"
										   "offset "
										   "8\n" NOPS(
											   2) "\t."
											      "cfi_"
											      "rest"
											      "ore_"
											      "s"
											      "t"
											      "a"
											      "t"
											      "e"
											      "\n" NOPS(2) "\t.cfi_restore_state\n" NOPS(
												      2))
		FUNCTION("signed_forms",
			 NOPS(1) "\t.cfi_escape 0x12, 0x06, 0x7e\n" NOPS(
				 1) "\t.cfi_escape 0x13, 0x7b\n" NOPS(1) "\t.cfi_"
									 "escape "
									 "0x12, "
									 "0x07, "
									 "0x7f"
									 "\n" NOPS(1))
			FUNCTION("expressions",
				 NOPS(1) "\t.cfi_escape 0x0f, 3, 0x76, 0x78, "
					 "0x06\n" NOPS(
						 5) "\t.cfi_escape 0x10, 3, "
						    "2, 0x76, 0x70\n" NOPS(
							    1) "\t.cfi_escape 0x16, 12, 2, 0x76, "
							       "0x60\n" NOPS(1) "\t.cfi_def_"
										"cfa 7, "
										"8\n" NOPS(2))
				FUNCTION("skipped", NOPS(1) "\t.cfi_undefined "
							    "3\n\t.cfi_same_value 12\n"
							    "\t.cfi_register 13, "
							    "14\n\t.cfi_offset 3, "
							    "-24\n\t.cfi_restore 3\n"
							    "\t.cfi_escape 0x15, 13, "
							    "0x7e\n\t.cfi_escape 0x2f, 3, "
							    "2\n\t.cfi_escape 0x2e, 16\n"
							    "\t.cfi_escape "
							    "0x00\n\t.cfi_def_cfa_offset "
							    "40\n" NOPS(3))
					FUNCTION("signal", "\t.cfi_signal_frame\n" NOPS(4))
						FUNCTION("empty", "") "\t.section "
								      ".note.GNU-stack,\"\","
								      "@progbits\n";

static void rows_of_rare_instructions(void **state)
{
	char path[512];
	write_source(*state, "rare.s", "%s", rare_instructions);
	snprintf(path, sizeof(path), "%s/rare.so", (char *)*state);
	shell("cc -shared -nostdlib -o '%s' '%s/rare.s'", path, (char *)*state);
	compare_with_readelf(path, 18);
	struct elf_image *image = open_image(path);
	uint32_t n, n_signal = 0;
	const struct elf_fde *fdes = elf_image_fdes(image, &n);
	assert_int_equal(n, 7); /* the empty function has no range */
	for (uint32_t i = 0; i < n; i++) {
		n_signal += fdes[i].signal;
		assert_true(!fdes[i].signal || fdes[i].end - fdes[i].addr == 4);
	}
	assert_int_equal(n_signal, 1);
	elf_image_free(image);
}

static void rows_are_counted_past_the_room_for_them(void **state)
{
	struct elf_cfa_row all[64], some[3] = {{0}};
	char path[512];
	write_source(*state, "few.s", "%s", rare_instructions);
	snprintf(path, sizeof(path), "%s/few.so", (char *)*state);
	shell("cc -shared -nostdlib -o '%s' '%s/few.s'", path, (char *)*state);
	struct elf_image *image = open_image(path);
	uint32_t n;
	const struct elf_fde *fdes = elf_image_fdes(image, &n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t n_rows = elf_image_cfa_rows(image, fdes[i].index, all, 64);
		assert_in_range(n_rows, 1, 64);
		assert_int_equal(elf_image_cfa_rows(image, fdes[i].index, NULL, 0), n_rows);
		assert_int_equal(elf_image_cfa_rows(image, fdes[i].index, some, 2), n_rows);
		for (uint32_t k = 0; k < 2 && k < n_rows; k++) {
			assert_int_equal(some[k].addr, all[k].addr);
			assert_int_equal(some[k].end, all[k].end);
		}
		assert_int_equal(some[2].end, 0);
	}
	assert_int_equal(elf_image_cfa_rows(image, UINT32_MAX, all, 64), 0);
	elf_image_free(image);
}

/* GHC's run-time system enters Haskell code in a frame whose CFA is not the caller's rsp: that has
 * an expression of its own, rsp + 16440 here (0x77: breg7). */
static void the_callers_rsp_may_have_a_rule_of_its_own(void **state)
{
	static const char source[] = "\t.text\n"
				     "enter:\t.cfi_startproc\n"
				     "\tnop\n"
				     "\t.cfi_def_cfa rsp, 0\n"
				     "\t.cfi_escape 0x16, 7, 4, 0x77, 0xb8, 0x80, 0x01\n"
				     "\tnop\n"
				     "\t.cfi_escape 0x16, 7, 3, 0x77, 8, 0x06\n"
				     "\tnop\n"
				     "\t.cfi_restore rsp\n"
				     "\t.cfi_def_cfa rsp, 24\n"
				     "\tnop\n"
				     "\t.cfi_endproc\n";
	static const struct pugmark_cfa expected[] = {
		{PUGMARK_CFA_SP, PUGMARK_BP_KEPT, 8},
		{PUGMARK_CFA_SP, PUGMARK_BP_UNKNOWN, 16440},
		{PUGMARK_CFA_UNKNOWN, PUGMARK_BP_UNKNOWN, 0},
		{PUGMARK_CFA_SP, PUGMARK_BP_KEPT, 24},
	};
	char path[512];
	struct elf_cfa_row rows[8];
	write_source(*state, "enter.s", "%s", source);
	snprintf(path, sizeof(path), "%s/enter.so", (char *)*state);
	shell("cc -shared -nostdlib -o '%s' '%s/enter.s'", path, (char *)*state);
	struct elf_image *image = open_image(path);
	uint32_t n;
	const struct elf_fde *fdes = elf_image_fdes(image, &n);
	assert_int_equal(n, 1);
	assert_int_equal(elf_image_cfa_rows(image, fdes[0].index, rows, 8), 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(rows[i].cfa.reg, expected[i].reg);
		assert_int_equal(rows[i].cfa.bp, expected[i].bp);
		assert_int_equal(rows[i].cfa.offset, expected[i].offset);
	}
	elf_image_free(image);
}

/* .eh_frame is found by PT_GNU_EH_FRAME as well: without section headers nothing is lost. */
static void sections_are_not_needed(void **state)
{
	(void)state;
	need_file("/usr/bin/lua5.4");
	size_t len;
	uint8_t *bytes = read_whole("/usr/bin/lua5.4", &len);
	memset(bytes + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(Elf64_Off));
	memset(bytes + offsetof(Elf64_Ehdr, e_shnum), 0, 4);
	struct elf_image *with = open_image("/usr/bin/lua5.4"), *without;
	struct pugmark_diag diag;
	assert_int_equal(open_bytes(bytes, len, &without, &diag), 0);
	uint32_t n, n_without;
	const struct elf_fde *fdes = elf_image_fdes(with, &n);
	const struct elf_fde *fdes_without = elf_image_fdes(without, &n_without);
	assert_int_equal(n, n_without);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(fdes[i].addr, fdes_without[i].addr);
		assert_int_equal(fdes[i].end, fdes_without[i].end);
	}
	check_image(without);
	elf_image_free(with);
	elf_image_free(without);
	free(bytes);
}

static void rows_of_gdb(void **state)
{
	(void)state;
	need_file("/usr/bin/gdb");
	struct elf_image *image = open_image("/usr/bin/gdb");
	uint32_t n;
	elf_image_fdes(image, &n);
	assert_true(n > 10000);
	check_image(image);
	elf_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_gzip),
		cmocka_unit_test(rows_of_lua),
		cmocka_unit_test(rows_of_python),
		cmocka_unit_test(rows_of_libc),
		cmocka_unit_test(rows_of_rare_instructions),
		cmocka_unit_test(rows_are_counted_past_the_room_for_them),
		cmocka_unit_test(the_callers_rsp_may_have_a_rule_of_its_own),
		cmocka_unit_test(sections_are_not_needed),
		cmocka_unit_test(rows_of_gdb),
	};
	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
