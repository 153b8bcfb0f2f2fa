// SPDX-License-Identifier: LGPL-2.1-or-later
/* remains.c: see remains.h. What is to be restored stands in the memory that the process was given.
 * Another process could have made memory that looks like that, or written to it: what it says is
 * held against the process itself (record_check.h). */
#include "user/patch/remains.h"

#include "offline/patch/layout.h"
#include "user/patch/detach.h"
#include "user/patch/giving.h"
#include "user/patch/text/record_check.h"
#include "user/patch/process/tracee.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

uint64_t remains_start_of(pid_t pid)
{
	char path[40], line[1024];
	unsigned long long start = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "re");
	const char *end = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	if (end)
		sscanf(end,
		       ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
		       "%*d %*d %llu",
		       &start);
	if (f)
		fclose(f);
	return start;
}

#define TEXT_MOST (1ull << 31) /* jumps reach no further */

/* The first mapping of code of ours, as map_files names it. */
static bool find_code(pid_t pid, unsigned long long *start, unsigned long long *end)
{
	char path[32], *line = NULL;
	size_t cap = 0;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *f = fopen(path, "re");
	while (f && !found && getline(&line, &cap, f) > 0)
		found = strstr(line, GIVEN_MAPPED) &&
			sscanf(line, "%llx-%llx r-xp", start, end) == 2 && strstr(line, " r-xp ");
	free(line);
	if (f)
		fclose(f);
	return found;
}

static bool is_sane(const struct patch_record *r, size_t bytes)
{
	if (bytes < sizeof(*r) || r->magic != PATCH_MAGIC || r->n_regions > 64 ||
	    r->n_words > PATCH_WORDS ||
	    r->n_entries > (bytes - sizeof(*r)) / sizeof(r->entries[0]) ||
	    r->rings_bytes != PATCH_RINGS * (uint64_t)PATCH_RING_BYTES)
		return false;
	for (uint32_t k = 0; k < r->n_regions; k++) {
		const struct patch_region *region = &r->regions[k];
		uint64_t text = region->text_to - region->text_from;

		if (text > TEXT_MOST || region->first > r->n_entries ||
		    region->n > r->n_entries - region->first)
			return false;
		for (uint32_t i = region->first; i < region->first + region->n; i++) {
			const struct patch_entry *e = &r->entries[i];

			if (!e->len || e->len > sizeof(e->was) ||
			    e->addr - region->text_from >= text ||
			    e->addr - region->text_from + e->len > text)
				return false;
		}
	}
	return true;
}

/* Whether somebody reads what process @pid writes: a recorder in another pid namespace has another
 * number there. */
static bool is_read(pid_t pid, const struct patch_record *record)
{
	struct tracee t = {.mem_fd = -1};
	struct patch_shared before, after;
	bool moved = false;

	if (tracee_open(&t, pid))
		return false;
	if (!tracee_read(&t, record->shared, &before, sizeof(before))) {
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
		moved = !tracee_read(&t, record->shared, &after, sizeof(after)) &&
			after.alive != before.alive;
	}
	tracee_close(&t);
	return moved;
}

static bool has_recorder(pid_t pid, const struct patch_record *r)
{
	return (r->recorder_start && remains_start_of(r->recorder) == r->recorder_start) ||
	       is_read(pid, r);
}

/* What process @pid is patched by: *@out is a copy, so that it stays as it was looked at; *@memory
 * is the memfd that it stands in. */
static int open_record(pid_t pid, struct patch_record **out, int *memory)
{
	unsigned long long start, end;
	struct patch_header header;
	struct stat st;
	char path[80];

	if (!find_code(pid, &start, &end))
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid, start, end);
	int fd = giving_open(path);
	if (fd < 0)
		return fd;
	int err = fstat(fd, &st) || pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
				  header.magic != PATCH_MAGIC ||
				  header.off_record >= (uint64_t)st.st_size ||
				  st.st_size - header.off_record > 1 << 30
			  ? -EBADMSG
			  : 0;
	size_t n = err ? 0 : st.st_size - header.off_record;
	struct patch_record *record = err ? NULL : malloc(n);
	if (!err && !record)
		err = -ENOMEM;
	for (size_t done = 0; !err && done < n;) {
		ssize_t got = pread(fd, (char *)record + done, n - done, header.off_record + done);

		err = got <= 0 ? -EIO : 0;
		done += got > 0 ? got : 0;
	}
	if (!err && !is_sane(record, n))
		err = -EBADMSG;
	if (err) {
		close(fd);
		free(record);
		return err;
	}
	*out = record;
	*memory = fd;
	return 0;
}

bool remains_is_recorded(pid_t pid)
{
	struct patch_record *record;
	int memory;

	if (open_record(pid, &record, &memory))
		return false;
	bool is = has_recorder(pid, record);
	close(memory);
	free(record);
	return is;
}

static bool is_of(const struct tracee_map *map, const struct stat *files, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (map->dev == files[i].st_dev && map->ino == files[i].st_ino)
			return true;
	return false;
}

/* Whether something in there is not as it was. */
static bool has_patches(const struct tracee *t, const struct patch_record *record,
			const struct tracee_map *map)
{
	uint8_t is[sizeof(record->entries[0].was)];

	for (uint32_t i = 0; i < record->n_entries; i++) {
		const struct patch_entry *e = &record->entries[i];

		if (e->addr - map->start < map->end - map->start &&
		    !tracee_read(t, e->addr, is, e->len) && !memcmp(is, e->now, e->len))
			return true;
	}
	return false;
}

static bool is_patched_in(pid_t pid, const struct stat *files, uint32_t n)
{
	struct tracee t = {.mem_fd = -1};
	struct patch_record *record;
	struct tracee_map *maps = NULL;
	bool found = false;
	int memory;

	if (open_record(pid, &record, &memory))
		return false;
	bool ours = record->recorder == getpid() &&
		    record->recorder_start == remains_start_of(getpid());
	int n_maps = ours || tracee_open(&t, pid) ? 0 : tracee_maps(pid, &maps);
	for (int i = 0; i < n_maps && !found; i++)
		found = is_of(&maps[i], files, n) && has_patches(&t, record, &maps[i]);
	tracee_close(&t);
	free(maps);
	close(memory);
	free(record);
	return found;
}

pid_t remains_of_files(const struct stat *files, uint32_t n)
{
	DIR *dir = opendir("/proc");
	pid_t found = 0;

	for (struct dirent *e; dir && !found && (e = readdir(dir));) {
		pid_t pid = atoi(e->d_name);

		if (pid > 0 && pid != getpid() && is_patched_in(pid, files, n))
			found = pid;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* A thread that waits in a patch for who reads what it writes goes on at once: nobody will. */
static void end_waits(pid_t pid, const struct patch_record *record)
{
	struct tracee t = {.mem_fd = -1};
	const uint32_t none = 0;

	if (record->shared && !tracee_open(&t, pid))
		tracee_write(&t, record->shared + offsetof(struct patch_shared, waits), &none,
			     sizeof(none));
	tracee_close(&t);
}

int remains_remove(pid_t pid)
{
	struct patch_record *record;
	struct detached *done = NULL;
	int memory, err = open_record(pid, &record, &memory);

	if (err)
		return err == -ENOENT ? 0 : err;
	if (has_recorder(pid, record))
		err = -EBUSY;
	if (!err)
		err = record_check(record, memory, pid);
	if (!err) {
		end_waits(pid, record);
		err = detach_process(record, memory, pid, &done);
	}
	if (!err)
		err = done->kept ? -EAGAIN : (int)done->restored;
	detached_free(done);
	close(memory);
	free(record);
	return err;
}

uint32_t remains_remove_all(uint32_t *failed)
{
	DIR *dir = opendir("/proc");
	uint32_t n = 0;

	*failed = 0;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		pid_t pid = atoi(e->d_name);
		int removed = pid > 0 && pid != getpid() ? remains_remove(pid) : 0;

		n += removed > 0;
		*failed += removed < 0 && removed != -EBUSY && removed != -ESRCH;
	}
	if (dir)
		closedir(dir);
	return n;
}
