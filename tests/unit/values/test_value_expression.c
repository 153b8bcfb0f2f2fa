// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_value_expression.c: DWARF's operations give what the standard says, no better known than
 * what they were given; and the frame is where a program of assembler code says. */
#include "offline/eval/machine.h"
#include "user/values/dwarf/value_call_frames.h"
#include "user/values/dwarf/value_expression.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { EXACT = VALUE_EXACT, ASSUMED = VALUE_ASSUMED, UNKNOWN = VALUE_UNKNOWN };

/* The registers of a caller: number n is 100 + n, exact but for rbx, assumed, and rcx, not known.
 */
static struct value_registers some_registers(void)
{
	struct value_registers r = {.caller = true};

	for (unsigned i = 0; i < DWARF_GENERAL; i++)
		r.general[i] = 100 + i;
	r.quality[3] = ASSUMED;
	r.quality[2] = UNKNOWN;
	return r;
}

static bool evaluate(const Dwarf_Op *ops, size_t n, struct value_bytes *out)
{
	struct value_registers r = some_registers();
	const struct value_context c = {.registers = &r, .bias = 0x10000};

	return value_expression_evaluate(&c, NULL, ops, n, out);
}

struct row {
	const char *name;
	Dwarf_Op ops[6];
	size_t n;
	int64_t want;
};

#define C(v)                                                                                       \
	{                                                                                          \
		DW_OP_consts, (Dwarf_Word)(int64_t)(v), 0, 0                                       \
	}
#define O(op)                                                                                      \
	{                                                                                          \
		op, 0, 0, 0                                                                        \
	}
#define BINARY(op, a, b, want)                                                                     \
	{                                                                                          \
#op, {C(a), C(b), O(DW_OP_##op) }, 3, want                                         \
	}
#define UNARY(op, a, want)                                                                         \
	{                                                                                          \
#op, {C(a), O(DW_OP_##op) }, 2, want                                               \
	}

static const struct row rows[] = {
	BINARY(plus, 5, -7, -2),
	BINARY(minus, 5, 7, -2),
	BINARY(mul, -3, 4, -12),
	BINARY(and, 12, 10, 8),
	BINARY(or, 12, 10, 14),
	BINARY(xor, 12, 10, 6),
	BINARY(shl, 3, 4, 48),
	BINARY(shl, 3, 64, 0),
	BINARY(shr, -1, 60, 15),
	BINARY(shr, -1, 64, 0),
	BINARY(shra, -16, 2, -4),
	BINARY(shra, -16, 99, -1),
	BINARY(div, -7, 2, -3),
	BINARY(mod, 7, 4, 3),
	BINARY(eq, 4, 4, 1),
	BINARY(ne, 4, 4, 0),
	BINARY(lt, -1, 0, 1),
	BINARY(le, 0, -1, 0),
	BINARY(gt, 0, -1, 1),
	BINARY(ge, -1, -1, 1),
	UNARY(neg, 9, -9),
	UNARY(not, 0, -1),
	UNARY(abs, -9, 9),
	{"plus_uconst", {C(-4), {DW_OP_plus_uconst, 6, 0, 0}}, 2, 2},
	{"literal", {O(DW_OP_lit31)}, 1, 31},
	{"nop", {C(2), O(DW_OP_nop)}, 2, 2},
	{"dup", {C(6), O(DW_OP_dup), O(DW_OP_mul)}, 3, 36},
	{"drop", {C(6), C(7), O(DW_OP_drop)}, 3, 6},
	{"over", {C(6), C(7), O(DW_OP_over)}, 3, 6},
	{"pick", {C(5), C(6), C(7), {DW_OP_pick, 2, 0, 0}}, 4, 5},
	{"swap", {C(6), C(7), O(DW_OP_swap), O(DW_OP_minus)}, 4, 1},
	{"rot", {C(1), C(2), C(3), O(DW_OP_rot)}, 4, 2},
	{"rot, below", {C(1), C(2), C(3), O(DW_OP_rot), O(DW_OP_drop)}, 5, 1},
	{"address", {{DW_OP_addr, 0x20, 0, 0}}, 1, 0x10020},
	{"register and offset", {{DW_OP_breg5, (Dwarf_Word)-5, 0, 0}}, 1, 100},
	{"bregx", {{DW_OP_bregx, 7, 3, 0}}, 1, 110},
};

static void operations(void **state)
{
	struct value_bytes out;
	(void)state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *r = &rows[i];
		bool ok = evaluate(r->ops, r->n, &out);

		if (!ok || out.addr != (uint64_t)r->want)
			print_error("%s: %d, %ld\n", r->name, ok, (long)out.addr);
		assert_true(ok);
		assert_int_equal(out.place, VALUE_IN_MEMORY);
		assert_int_equal(out.at_quality, EXACT);
		assert_int_equal(out.addr, (uint64_t)r->want);
	}
}

static void what_does_not_fit(void **state)
{
	static const struct row wrong[] = {
		{"nothing on the stack", {O(DW_OP_drop)}, 1, 0},
		{"one number of two", {C(1), O(DW_OP_plus)}, 2, 0},
		{"two of three", {C(1), C(2), O(DW_OP_rot)}, 3, 0},
		{"nothing there", {C(1), {DW_OP_pick, 1, 0, 0}}, 2, 0},
		BINARY(div, 1, 0, 0),
		BINARY(div, INT64_MIN, -1, 0),
		BINARY(mod, 1, 0, 0),
		{"a typed operation", {C(1), O(DW_OP_convert)}, 2, 0},
		{"no value", {O(DW_OP_nop)}, 1, 0},
		{"a register and more", {O(DW_OP_reg0), C(1)}, 2, 0},
		{"bits", {O(DW_OP_reg0), {DW_OP_bit_piece, 4, 0, 0}}, 2, 0},
		{"no frame", {{DW_OP_fbreg, 8, 0, 0}}, 1, 0},
		{"no entry", {O(DW_OP_entry_value)}, 1, 0},
	};
	struct value_bytes out;
	Dwarf_Op many[40];
	(void)state;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		if (evaluate(wrong[i].ops, wrong[i].n, &out))
			print_error("%s\n", wrong[i].name);
		assert_false(evaluate(wrong[i].ops, wrong[i].n, &out));
	}
	for (size_t i = 0; i < 40; i++)
		many[i] = (Dwarf_Op)O(DW_OP_lit1);
	assert_true(evaluate(many, 32, &out));
	assert_false(evaluate(many, 33, &out));
	assert_false(evaluate(many, 0, &out));
}

/* From register 5: 105 steps down to 0, and one that never ends. */
static void loops(void **state)
{
	static const Dwarf_Op down[] = {{DW_OP_breg5, 0, 0, 0},
					{DW_OP_lit1, 0, 0, 2},
					{DW_OP_minus, 0, 0, 3},
					{DW_OP_dup, 0, 0, 4},
					{DW_OP_bra, (Dwarf_Word)-6, 0, 5}};
	static const Dwarf_Op round[] = {{DW_OP_lit1, 0, 0, 0}, {DW_OP_skip, (Dwarf_Word)-4, 0, 1}};
	static const Dwarf_Op away[] = {{DW_OP_lit1, 0, 0, 0},
					{DW_OP_skip, 1, 0, 1},
					{DW_OP_addr, 1, 0, 4},
					{DW_OP_nop, 0, 0, 13}};
	struct value_bytes out;
	(void)state;

	assert_true(evaluate(down, 5, &out));
	assert_int_equal(out.addr, 0);
	assert_false(evaluate(round, 2, &out));
	assert_false(evaluate(away, 4, &out)); /* into an operation */
}

static void no_better_than_what_it_is_of(void **state)
{
	static const Dwarf_Op sum[] = {{DW_OP_breg5, 0, 0, 0},
				       {DW_OP_breg3, 0, 0, 0},
				       O(DW_OP_plus),
				       O(DW_OP_stack_value)};
	static const Dwarf_Op of_unknown[] = {
		{DW_OP_breg2, 0, 0, 0}, {DW_OP_breg5, 0, 0, 0}, O(DW_OP_xor)};
	static const Dwarf_Op decided[] = {
		{DW_OP_lit1, 0, 0, 0}, {DW_OP_breg3, 0, 0, 1}, {DW_OP_bra, 0, 0, 3}};
	struct value_bytes out;
	uint64_t v;
	(void)state;

	assert_true(evaluate(sum, 4, &out));
	assert_int_equal(out.place, VALUE_IN_REGISTER);
	assert_int_equal(value_bytes_read(&out, NULL, 0, &v, 8), ASSUMED);
	assert_int_equal(v, 105 + 103);
	assert_true(evaluate(of_unknown, 3, &out));
	assert_int_equal(out.at_quality, UNKNOWN);
	assert_false(evaluate(decided, 3, &out)); /* a jump by what is assumed */
}

/* Four bytes of rdi, two that are nowhere, two of rbx, and two of what is not known; nothing says
 * where those behind are, so they are nowhere as well. */
static void pieces(void **state)
{
	static const Dwarf_Op ops[] = {O(DW_OP_reg5),	       {DW_OP_piece, 4, 0, 0},
				       {DW_OP_piece, 2, 0, 0}, O(DW_OP_reg3),
				       {DW_OP_piece, 2, 0, 0}, O(DW_OP_convert),
				       {DW_OP_piece, 2, 0, 0}};
	static const uint8_t want[] = {EXACT,	      EXACT,   EXACT,	EXACT,	 VALUE_NOWHERE,
				       VALUE_NOWHERE, ASSUMED, ASSUMED, UNKNOWN, UNKNOWN};
	static const Dwarf_Op wide[] = {{DW_OP_piece, VALUE_BYTES + 1, 0, 0}};
	static const Dwarf_Op open[] = {{DW_OP_piece, 4, 0, 0}, O(DW_OP_reg5)};
	struct value_registers r = some_registers();
	struct value_memory memory;
	struct value_bytes out;
	(void)state;

	assert_int_equal(value_memory_init(&memory, NULL, NULL), 0);
	struct value_machine *m = value_machine_new(&memory);
	const struct value_context c = {.registers = &r, .m = m};
	assert_true(value_expression_evaluate(&c, NULL, ops, 7, &out));
	assert_int_equal(out.len, VALUE_BYTES);
	assert_memory_equal(out.quality, want, sizeof(want));
	for (size_t i = sizeof(want); i < VALUE_BYTES; i++)
		assert_int_equal(out.quality[i], VALUE_NOWHERE);
	assert_int_equal(out.bytes[0], 105);
	assert_int_equal(out.bytes[6], 103);
	assert_false(value_expression_evaluate(&c, NULL, wide, 1, &out));
	assert_false(value_expression_evaluate(&c, NULL, open, 2, &out));
	value_machine_free(m);
	value_memory_deinit(&memory);
}

/* --- frames ---------------------------------------------------------------------------------- */

/* At `late` the CFA is 24 above rsp, and at `early` 8; at `kept` it is rbp's. */
static const char framed[] = ".globl early, late, kept\n"
			     "early: .cfi_startproc\n"
			     "sub $16, %rsp\n"
			     ".cfi_adjust_cfa_offset 16\n"
			     "late: nop\n"
			     "push %rbp\n"
			     ".cfi_def_cfa %rbp, 40\n"
			     "kept: ret\n"
			     ".cfi_endproc\n"
			     ".section .note.GNU-stack, \"\", @progbits\n";

static Dwfl *opened(const char *source, Dwfl_Module **module, char path[64])
{
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
						 .find_debuginfo = dwfl_standard_find_debuginfo,
						 .section_address = dwfl_offline_section_address};
	char command[256];

	snprintf(path, 64, "/tmp/expressionXXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "cc -nostdlib -shared -o %s -x assembler -", path);
	FILE *cc = popen(command, "w");
	assert_non_null(cc);
	fputs(source, cc);
	assert_int_equal(pclose(cc), 0);
	Dwfl *dwfl = dwfl_begin(&callbacks);
	assert_non_null(dwfl);
	*module = dwfl_report_offline(dwfl, path, path, -1);
	assert_non_null(*module);
	dwfl_report_end(dwfl, NULL, NULL);
	return dwfl;
}

static uint64_t address_of(Dwfl_Module *module, const char *name)
{
	for (int i = 0; i < dwfl_module_getsymtab(module); i++) {
		GElf_Sym sym;
		const char *is = dwfl_module_getsym(module, i, &sym, NULL);

		if (is && !strcmp(is, name))
			return sym.st_value;
	}
	fail_msg("no %s", name);
	return 0;
}

static void frames(void **state)
{
	static const struct {
		const char *at;
		uint64_t reg;
		int64_t off;
	} want[] = {{"early", DWARF_RSP, 8}, {"late", DWARF_RSP, 24}, {"kept", DWARF_RBP, 40}};
	struct value_registers r = some_registers();
	Dwfl_Module *module;
	char path[64];
	Dwarf_Addr bias;
	(void)state;

	Dwfl *dwfl = opened(framed, &module, path);
	assert_non_null(dwfl_module_getelf(module, &bias));
	struct value_context c = {.module = module, .registers = &r, .dwfl_bias = bias};
	for (unsigned i = 0; i < 3; i++) {
		uint64_t reg, cfa;
		int64_t off;
		uint8_t quality;

		c.addr = address_of(module, want[i].at) - bias;
		assert_true(value_call_frame_rule(&c, c.addr, &reg, &off));
		assert_int_equal(reg, want[i].reg);
		assert_int_equal(off, want[i].off);
		assert_true(value_call_frame_cfa(&c, &cfa, &quality));
		assert_int_equal(cfa, r.general[reg] + (uint64_t)off);
		assert_int_equal(quality, EXACT);
		r.quality[reg] = ASSUMED;
		assert_true(value_call_frame_cfa(&c, &cfa, &quality));
		assert_int_equal(quality, ASSUMED);
		r.quality[reg] = EXACT;
	}
	uint64_t reg;
	int64_t off;
	assert_false(value_call_frame_rule(&c, 1, &reg, &off)); /* no code there */
	dwfl_end(dwfl);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations), cmocka_unit_test(what_does_not_fit),
		cmocka_unit_test(loops),      cmocka_unit_test(no_better_than_what_it_is_of),
		cmocka_unit_test(pieces),     cmocka_unit_test(frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
