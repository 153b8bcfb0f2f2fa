// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_jit_dump.c: any bytes as the dump of a program that makes code at run time: what is told is
 * within its bounds and in the file, and it ends. */
#include "tests/fuzz/as_file.h"

#include "user/file/jit_dump.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jit_dump dump = {0};
	const char *bytes = (const char *)data;
	uint64_t used;
	size_t at = 0;

	do {
		struct perf_map_line line;
		bool is;
		size_t len = size - at < JIT_DUMP_HEAD_MAX ? size - at : JIT_DUMP_HEAD_MAX;

		used = jit_dump_next(&dump, bytes + at, len, size - at, &line, &is);
		MUST(used <= size - at && (!dump.begun || dump.bad || !used || used >= 16));
		if (is) {
			MUST(line.size && line.size <= PERF_MAP_SIZE_MAX &&
			     line.start < PERF_MAP_ADDR_MAX);
			MUST(line.name_len && line.name_len <= PERF_MAP_NAME_MAX);
			MUST(line.name > bytes + at &&
			     line.name + line.name_len <= bytes + at + len);
			MUST(!memchr(line.name, 0, line.name_len) &&
			     !memchr(line.name, '\n', line.name_len));
		}
		at += used;
	} while (used);
	return 0;
}
