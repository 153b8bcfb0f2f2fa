// SPDX-License-Identifier: LGPL-2.1-or-later
/* record_check.c: see record_check.h. */
#include "user/patch/text/record_check.h"

#include "offline/base/search.h"
#include "user/patch/giving.h"
#include "user/patch/process/tracee.h"
#include "user/patch/text/unwinders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct checking {
	const struct patch_record *record;
	struct tracee t;
	struct stat memory;
	struct tracee_map *maps;
	int n_maps;
	const struct tracee_map *open; /* whose file @file is; NULL: none */
	int file;
};

/* NULL: there is nothing. */
static const struct tracee_map *map_at(const struct checking *c, uint64_t addr)
{
	int i = SEARCH_FIRST_NOT(0, c->n_maps, k, c->maps[k].end <= addr);

	return i < c->n_maps && c->maps[i].start <= addr ? &c->maps[i] : NULL;
}

static bool is_memory(const struct checking *c, const struct tracee_map *map)
{
	return map->dev == c->memory.st_dev && map->ino == c->memory.st_ino;
}

/* The file of the mapping; -1: it cannot be read. */
static int file_of(struct checking *c, const struct tracee_map *map)
{
	char path[80];

	if (c->open == map)
		return c->file;
	if (c->file >= 0)
		close(c->file);
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", c->t.pid,
		 (unsigned long long)map->start, (unsigned long long)map->end);
	c->open = map;
	c->file = open(path, O_RDONLY | O_CLOEXEC);
	return c->file;
}

/* Whether a file's code is mapped there that has these bytes. */
static bool is_of_file(struct checking *c, uint64_t addr, const uint8_t *bytes, uint64_t len)
{
	uint8_t has[sizeof(c->record->entries[0].was)];

	for (uint64_t n; len; addr += n, bytes += n, len -= n) {
		const struct tracee_map *map = map_at(c, addr);

		if (!map || !map->executable || map->shared || !map->ino || is_memory(c, map))
			return false;
		n = map->end - addr < len ? map->end - addr : len;
		off_t off = map->off_file + (addr - map->start);
		if (pread(file_of(c, map), has, n, off) != (ssize_t)n || memcmp(has, bytes, n))
			return false;
	}
	return true;
}

/* Where it says that our code is, there is that or nothing. */
static bool is_code(const struct checking *c, const struct patch_region *r)
{
	if (r->code + r->code_bytes < r->code)
		return false;
	for (int i = 0; i < c->n_maps; i++)
		if (c->maps[i].start < r->code + r->code_bytes && r->code < c->maps[i].end &&
		    !is_memory(c, &c->maps[i]))
			return false;
	return true;
}

/* One file is mapped at both ends of the text. */
static bool is_text(const struct checking *c, const struct patch_region *r)
{
	if (r->text_from == r->text_to)
		return true; /* nothing was patched yet */
	const struct tracee_map *first = map_at(c, r->text_from), *last = map_at(c, r->text_to - 1);

	return first && last && first->ino && first->ino == last->ino && first->dev == last->dev;
}

static bool is_region(struct checking *c, const struct patch_region *r)
{
	if (!is_code(c, r) || !is_text(c, r))
		return false;
	for (uint32_t i = r->first; i < r->first + r->n; i++) {
		const struct patch_entry *e = &c->record->entries[i];

		if (!is_of_file(c, e->addr, e->was, e->len))
			return false;
	}
	return true;
}

/* The rings lie behind what names itself. A record of memory that was given by half has none. */
static bool has_rings(const struct checking *c)
{
	uint64_t at = c->record->rings - PATCH_LOCAL_BYTES;
	struct patch_local local;

	return !c->record->rings || (!tracee_read(&c->t, at, &local, sizeof(local)) &&
				     local.magic == PATCH_MAGIC && local.self == at);
}

static bool is_given(const struct checking *c, const struct tracee_map *map)
{
	static const char made[] = GIVEN_MAPPED;
	char path[80], name[sizeof(made) + 1] = "";

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", c->t.pid,
		 (unsigned long long)map->start, (unsigned long long)map->end);
	return readlink(path, name, sizeof(name) - 1) > 0 && !strcmp(name, made);
}

/* What is to go as what was shared is such a memfd, where it says. */
static bool has_chunks(const struct checking *c)
{
	const struct patch_record *r = c->record;

	for (int i = 0; i < c->n_maps; i++) {
		const struct tracee_map *map = &c->maps[i];
		bool goes = map->dev == c->memory.st_dev && map->ino == r->chunks_ino;

		if (goes ? !is_given(c, map) || (r->shared && map->start != r->shared)
			 : r->shared >= map->start && r->shared < map->end)
			return false;
	}
	return true;
}

int record_check(const struct patch_record *record, int memory, pid_t pid)
{
	struct checking c = {.record = record, .t.mem_fd = -1, .file = -1};
	int err = fstat(memory, &c.memory) ? -errno : tracee_open(&c.t, pid);

	if (!err)
		c.n_maps = tracee_maps(pid, &c.maps);
	if (c.n_maps < 0)
		err = c.n_maps;
	for (uint32_t k = 0; !err && k < record->n_regions; k++)
		err = is_region(&c, &record->regions[k]) ? 0 : -EBADMSG;
	if (!err && (!has_chunks(&c) || !has_rings(&c) || !unwinders_are(record, &c.t)))
		err = -EBADMSG;
	if (c.n_maps > 0)
		free(c.maps);
	if (c.file >= 0)
		close(c.file);
	tracee_close(&c.t);
	return err;
}
