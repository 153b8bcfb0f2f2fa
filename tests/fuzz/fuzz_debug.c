// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_debug.c: any two files, a program and what its .gnu_debuglink or .gnu_debugaltlink names,
 * with the checksum that it is found by: lines, functions, variables. */
#include "tests/fuzz/as_folder.h"

#include "user/file/dwarf_lines.h"
#include "user/values/show/value_vars.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"program", "debug", ".debug/debug"};
	const char *dir = as_folder(data, size, names, 3);
	struct pugmark_diag diag = {.text = ""};
	struct dwarf_lines *lines;
	char path[80];
	uint32_t n = 0;

	snprintf(path, sizeof(path), "%s/program", dir);
	if (!dwarf_lines_open(path, &lines, &diag)) {
		const struct source_function *functions = dwarf_lines_functions(lines, &n);
		for (uint32_t i = 0; i < n; i++)
			MUST(functions[i].name && dwarf_lines_file(lines, functions[i].file));
		dwarf_lines_free(lines);
	}
	value_vars_free(value_vars_open(path));
	return 0;
}
