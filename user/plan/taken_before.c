// SPDX-License-Identifier: LGPL-2.1-or-later
/* taken_before.c: see taken_before.h. */
#include "user/plan/taken_before.h"

#include "user/file/own_cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ADDRS_MAX = 1 << 20, MAX_BYTES = 17 * ADDRS_MAX };

int taken_before_read(const char *path, uint64_t **addrs, uint32_t *n)
{
	uint32_t cap = 64, count = 0;
	char line[32], *end;
	struct private_file file;
	int failed = own_cache_read(path, MAX_BYTES, &file);
	if (failed)
		return failed;
	FILE *f = file.bytes ? fmemopen((void *)file.bytes, file.len_bytes, "r") : NULL;
	if (!f) {
		private_file_free(&file);
		return -EINVAL;
	}
	uint64_t *list = malloc(cap * sizeof(*list));
	int err = list ? 0 : -ENOMEM;
	while (!err && fgets(line, sizeof(line), f)) {
		if (count == cap) {
			uint64_t *more = realloc(list, 2 * (size_t)cap * sizeof(*list));
			if (!more) {
				err = -ENOMEM;
				break;
			}
			list = more;
			cap *= 2;
		}
		list[count++] = strtoull(line, &end, 16);
		if (end == line || *end != '\n' || count == ADDRS_MAX)
			err = -EINVAL;
	}
	fclose(f);
	private_file_free(&file);
	if (err) {
		free(list);
		return err;
	}
	*addrs = list;
	*n = count;
	return 0;
}

int taken_before_write(const char *path, const uint64_t *addrs, uint32_t n)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	if (!f)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		fprintf(f, "%" PRIx64 "\n", addrs[i]);
	int err = fclose(f) ? -ENOMEM : own_cache_write(path, text, len);
	free(text);
	return err;
}
