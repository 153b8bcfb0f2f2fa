// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_maps.c: any text as what /proc/PID/maps says: a line has an end behind its start and a name
 * that is in the text, and what is kept in a recording is as many rows as there are lines. */
#include "tests/fuzz/as_file.h"

#include "user/file/maps_lines.h"
#include "user/record/write/process_lines.h"

#include <jansson.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t count(char *text)
{
	uint32_t n = 0;

	for (char *next; *text; text = next) {
		struct maps_line line;
		char *end = text + strcspn(text, "\n");

		next = end + (*end == '\n');
		if (!maps_line_parse(text, &line))
			continue;
		MUST(line.start < line.end && line.prot <= 7);
		MUST(line.name > text && line.name + strlen(line.name) == end);
		n++;
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct process_lines lines = {0};
	struct chunk_text *chunk = calloc(1, sizeof(*chunk) + size + 1);
	MUST(chunk);

	memcpy(chunk->text, data, size);
	MUST(!process_lines_maps(&lines, chunk, sizeof(*chunk) + size));
	json_t *json = json_loadb((const char *)lines.text.data, lines.text.len, 0, NULL);
	MUST(json_array_size(json_object_get(json, "maps")) == count(chunk->text));
	json_decref(json);
	process_lines_deinit(&lines);
	free(chunk);
	return 0;
}
