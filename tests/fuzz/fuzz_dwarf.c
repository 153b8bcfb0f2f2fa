// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_dwarf.c: any bytes as a file with source lines: its build-id, its line table, its functions
 * and inlined calls. What is handed out is in range, and a row is found by its own address. */
#include "tests/fuzz/as_file.h"

#include "user/file/build_id.h"
#include "user/file/dwarf_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = as_file(data, size);
	struct build_id id = build_id_read(path);
	struct pugmark_diag diag;
	struct dwarf_lines *lines;
	uint32_t n;

	MUST(id.len <= sizeof(id.bytes));
	if (dwarf_lines_open(path, &lines, &diag))
		return 0;
	const struct source_function *functions = dwarf_lines_functions(lines, &n);
	const struct source_inline *inlines = dwarf_lines_inlines(lines);
	for (uint32_t i = 0; i < n; i++) {
		MUST(functions[i].name != NULL);
		MUST(dwarf_lines_file(lines, functions[i].file) != NULL);
		const struct source_row *row = dwarf_lines_row_at(lines, functions[i].addr);
		MUST(!row || dwarf_lines_file(lines, row->file) != NULL);
		uint32_t depth = 0, at = dwarf_lines_inline_at(lines, functions[i].addr);
		for (; at != SOURCE_NONE && depth < 100000; depth++)
			at = inlines[at].parent;
		MUST(depth < 100000);
	}
	dwarf_lines_free(lines);
	return 0;
}
