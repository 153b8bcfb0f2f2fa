// SPDX-License-Identifier: LGPL-2.1-or-later
/* process_maps.c: see process_maps.h. */
#include "user/values/process_maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int add(struct process_maps *maps, const struct process_map *map)
{
	if (maps->n == maps->cap) {
		uint32_t cap = maps->cap ? 2 * maps->cap : 64;
		struct process_map *at = realloc(maps->at, cap * sizeof(*at));

		if (!at)
			return -ENOMEM;
		maps->at = at;
		maps->cap = cap;
	}
	maps->at[maps->n++] = *map;
	return 0;
}

static int add_line(struct process_maps *maps, char *line)
{
	unsigned long long start, end, off, inode;
	char prot[5];
	int path;

	if (sscanf(line, "%llx-%llx %4s %llx %*s %llu %n", &start, &end, prot, &off, &inode,
		   &path) < 5)
		return 0;
	line[strcspn(line, "\n")] = 0;
	struct process_map map = {
		.start = start,
		.end = end,
		.off = off,
		.inode = inode,
		.prot = (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) |
			(prot[2] == 'x' ? PROT_EXEC : 0),
		.shared = prot[3] == 's',
		.path = strdup(line + path),
	};
	if (map.path && !add(maps, &map))
		return 0;
	free(map.path);
	return -ENOMEM;
}

int process_maps_read(struct process_maps *maps, pid_t pid)
{
	char name[32], *line = NULL;
	size_t cap = 0;
	int err = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	FILE *f = fopen(name, "re");
	if (!f)
		return -errno;
	process_maps_deinit(maps);
	while (!err && getline(&line, &cap, f) > 0)
		err = add_line(maps, line);
	free(line);
	fclose(f);
	return err;
}

const struct process_map *process_maps_at(const struct process_maps *maps, uint64_t addr)
{
	for (uint32_t i = 0; i < maps->n; i++)
		if (addr >= maps->at[i].start && addr < maps->at[i].end)
			return &maps->at[i];
	return NULL;
}

void process_maps_deinit(struct process_maps *maps)
{
	for (uint32_t i = 0; i < maps->n; i++)
		free(maps->at[i].path);
	free(maps->at);
	*maps = (struct process_maps){0};
}
