// SPDX-License-Identifier: LGPL-2.1-or-later
/* taken_before.c: see taken_before.h. */
#include "user/plan/taken_before.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ADDRS_MAX = 1 << 20 };

int taken_before_read(const char *path, uint64_t **addrs, uint32_t *n)
{
	uint32_t cap = 64, count = 0;
	char line[32], *end;
	FILE *f = fopen(path, "re");
	if (!f)
		return -errno;
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
	char *path_new;
	if (asprintf(&path_new, "%s.new", path) < 0)
		return -ENOMEM;
	FILE *f = fopen(path_new, "we");
	int err = f ? 0 : -errno;
	for (uint32_t i = 0; f && i < n; i++)
		fprintf(f, "%" PRIx64 "\n", addrs[i]);
	if (f) {
		int bad = ferror(f);
		if (fclose(f) || bad || rename(path_new, path))
			err = errno ? -errno : -EIO;
	}
	free(path_new);
	return err;
}
