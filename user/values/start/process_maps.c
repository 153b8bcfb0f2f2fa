// SPDX-License-Identifier: LGPL-2.1-or-later
/* process_maps.c: see process_maps.h. */
#include "user/values/start/process_maps.h"

#include "user/file/maps_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { PAGE = 4096 };

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

static int add_line(struct process_maps *maps, const struct maps_line *line)
{
	struct process_map map = {
		.start = line->start,
		.end = line->end,
		.off = line->off,
		.inode = line->inode,
		.prot = line->prot,
		.shared = line->shared,
		.path = strdup(line->name),
	};
	if (map.path && !add(maps, &map))
		return 0;
	free(map.path);
	return -ENOMEM;
}

int process_maps_read(struct process_maps *maps, pid_t pid)
{
	struct maps_lines lines;
	struct maps_line line;
	int err = maps_lines_open(&lines, pid);

	if (err)
		return err;
	process_maps_deinit(maps);
	while (!err && maps_lines_next(&lines, &line))
		err = add_line(maps, &line);
	if (!err && ferror(lines.file))
		err = -EIO;
	maps_lines_close(&lines);
	return err;
}

/* The kernel makes a stack grow until it has as many bytes as its limit allows. */
static uint64_t stack_grows_to(const struct process_map *m, uint64_t limit_bytes)
{
	if (limit_bytes < m->end - m->start)
		return m->start;
	return limit_bytes < m->end ? (m->end - limit_bytes + PAGE - 1) & ~(PAGE - 1ull) : PAGE;
}

/* What @line of smaps says of the mapping @m. */
static void look_at(struct process_map *m, const char *line, uint64_t stack_bytes)
{
	static const struct {
		const char *name;
		bool anonymous, present;
	} sizes[] = {
		{"Rss:", false, true},
		{"Anonymous:", true, false},
		{"Swap:", true, true},
		{"Private_Hugetlb:", true, true},
		{"Shared_Hugetlb:", false, true},
	};

	if (!strncmp(line, "VmFlags:", strlen("VmFlags:"))) {
		m->wiped |= strstr(line, " wf") != NULL;
		m->grows_to = strstr(line, " gd") ? stack_grows_to(m, stack_bytes) : 0;
	}
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t len = strlen(sizes[i].name);

		if (strncmp(line, sizes[i].name, len))
			continue;
		uint64_t bytes = strtoull(line + len, NULL, 10) << 10;
		m->present_bytes += sizes[i].present ? bytes : 0;
		m->anonymous_bytes += sizes[i].anonymous ? bytes : 0;
	}
}

int process_maps_look(struct process_maps *maps, pid_t pid)
{
	char path[32], *line = NULL;
	uint64_t start = 0, end = 0;
	size_t room = 0;
	uint32_t next = 0; /* both lists are by address */
	struct rlimit stack;

	if (prlimit(pid, RLIMIT_STACK, NULL, &stack))
		stack.rlim_cur = 0; /* what is there now is all that is known */
	snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return -errno;
	while (getline(&line, &room, f) > 0) {
		uint64_t from, to; /* other lines may begin with a digit of a number as well */

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2) {
			start = from;
			end = to;
		}
		while (next < maps->n && maps->at[next].end <= start)
			next++;
		for (uint32_t i = next; i < maps->n && maps->at[i].start < end; i++)
			look_at(&maps->at[i], line, stack.rlim_cur);
	}
	int err = !feof(f) ? -errno : maps->n && !end ? -ESRCH : 0; /* its memory is gone by now */
	free(line);
	fclose(f);
	return err;
}

void process_maps_stat(struct process_maps *maps, pid_t pid)
{
	for (uint32_t i = 0; i < maps->n; i++) {
		struct process_map *m = &maps->at[i];
		char path[80];
		struct statx st;

		snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid,
			 m->start, m->end);
		if (!m->inode || !(m->prot & PROT_EXEC) ||
		    statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &st) ||
		    !(st.stx_mask & STATX_INO))
			continue;
		m->st_dev = makedev(st.stx_dev_major, st.stx_dev_minor);
		m->st_ino = st.stx_ino;
	}
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
