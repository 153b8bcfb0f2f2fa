// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_perf_map.c: any text as what a process calls the code that it makes at run time: a line is
 * within its bounds and in the text, some of a long text is always taken, and what is kept in a
 * recording is as many rows as there are lines. */
#include "tests/fuzz/as_file.h"

#include "user/file/perf_map.h"
#include "user/record/write/process_lines.h"

#include <jansson.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t count(const char *text, size_t len)
{
	struct perf_map map = {0};
	uint32_t n = 0;
	size_t at = 0, used;

	do {
		struct perf_map_line line;
		bool is;

		used = perf_map_next(&map, text + at, len - at, &line, &is);
		MUST(used <= len - at && (used || len - at < PERF_MAP_LINE_MAX));
		if (is) {
			MUST(line.size && line.size <= PERF_MAP_SIZE_MAX &&
			     line.start < PERF_MAP_ADDR_MAX);
			MUST(line.name_len && line.name_len <= PERF_MAP_NAME_MAX);
			MUST(line.name > text + at && line.name + line.name_len < text + at + used);
			MUST(!memchr(line.name, 0, line.name_len) &&
			     !memchr(line.name, '\n', line.name_len));
			n++;
		}
		at += used;
	} while (used);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct process_lines lines = {0};
	struct chunk_code *chunk = calloc(1, sizeof(*chunk) + size + 1);
	MUST(chunk);

	memcpy(chunk->text, data, size);
	MUST(!process_lines_code(&lines, chunk, sizeof(*chunk) + size));
	json_t *json = json_loadb((const char *)lines.text.data, lines.text.len, 0, NULL);
	MUST(json_array_size(json_object_get(json, "code")) == count(chunk->text, size));
	json_decref(json);
	process_lines_deinit(&lines);
	free(chunk);
	return 0;
}
