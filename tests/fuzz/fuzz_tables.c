// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_tables.c: any text as a table that a user hands over: what imports do (--imports), which
 * functions take a handle (--handle FILE). A line that is wrong is named; one that is right is
 * found. */
#include "tests/fuzz/as_file.h"

#include "offline/capture/imports.h"
#include "user/plan/handles.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pugmark_diag diag = {.text = ""};
	struct imports *imports;
	struct handle handle;
	char *text = malloc(size + 1);

	MUST(text);
	memcpy(text, data, size);
	text[size] = 0;
	if (imports_open(as_file(data, size), &imports, &diag)) {
		MUST(*diag.text);
	} else {
		const struct import_row *row = imports_find(imports, "memcpy");
		MUST(row && row->kind <= IMPORT_OPAQUE && row->outputs);
		imports_free(imports);
	}
	diag.text[0] = 0;
	if (handle_parse(text, "fuzz", &handle, &diag)) {
		MUST(*diag.text);
	} else {
		uint64_t value = 7;
		for (uint32_t i = 0; i < handle.n_rows; i++)
			MUST(handle.rows[i].arg <= 6);
		handle_valid(&handle, &value);
		handle_deinit(&handle);
	}
	free(text);
	return 0;
}
