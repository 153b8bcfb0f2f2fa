// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_debug.c: any two files, a program and what its .gnu_debuglink or .gnu_debugaltlink names,
 * with the checksum that it is found by: lines, functions, and at each function the variables, as a
 * state of a replay has them whose registers point to memory. */
#include "tests/fuzz/as_folder.h"

#include "user/file/dwarf_lines.h"
#include "user/values/vars/value_vars.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ADDRESSES = 64, EACH = 3, STACK = 0x10000 };

/* Somewhere in @lines' functions: at their beginnings and within. */
static void show_variables(const char *path, const uint64_t *addrs, uint32_t n)
{
	struct value_region region = {.start = STACK, .end = STACK + 16 * VALUE_PAGE, .prot = 3};
	struct value_vars *vars = value_vars_open(path);
	struct value_memory memory;
	struct value_variable at;
	struct value_part part;
	bool known;
	FILE *out = fopen("/dev/null", "w");
	MUST(out && !value_memory_init(&memory, NULL, NULL) && !value_memory_map(&memory, &region));
	struct value_machine *m = value_machine_new(&memory);
	MUST(m);
	for (int r = 0; r < 16; r++)
		value_set_gpr(m, r, STACK + 0x8000 + 64 * (uint64_t)r, VALUE_EXACT);
	for (uint32_t i = 0; vars && i < n; i++) {
		for (uint64_t off = 0; off < EACH; off++) {
			uint64_t addr = addrs[i] + 5 * off;
			value_vars_print(vars, out, addr, 0, VARS_ARGUMENTS, m);
			value_vars_print(vars, out, addr, 0, VARS_ALL, m);
			value_vars_find(vars, "n", addr, 0, m, &at);
			value_vars_part(vars, "n", addr, 0, m, &part);
			value_vars_part(vars, "p->n[1].m", addr, 0, m, &part);
			value_vars_json(vars, out, addr, 0, VARS_ALL, m);
			value_vars_result(vars, out, addr, m, VALUE_AS_TEXT, &known);
			value_vars_result(vars, out, addr, m, VALUE_AS_JSON, &known);
		}
	}
	value_machine_free(m);
	value_memory_deinit(&memory);
	value_vars_free(vars);
	fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"program", "debug", ".debug/debug"};
	const char *dir = as_folder(data, size, names, 3);
	struct pugmark_diag diag = {.text = ""};
	uint64_t addrs[ADDRESSES];
	struct dwarf_lines *lines;
	char path[80];
	uint32_t n = 0;

	snprintf(path, sizeof(path), "%s/program", dir);
	if (!dwarf_lines_open(path, &lines, &diag)) {
		const struct source_function *functions = dwarf_lines_functions(lines, &n);
		for (uint32_t i = 0; i < n; i++) {
			MUST(functions[i].name && dwarf_lines_file(lines, functions[i].file));
			if (i < ADDRESSES)
				addrs[i] = functions[i].addr;
		}
		dwarf_lines_free(lines);
	}
	show_variables(path, addrs, n < ADDRESSES ? n : ADDRESSES);
	return 0;
}
