// SPDX-License-Identifier: LGPL-2.1-or-later
/* running.c: see running.h. Everything is found by way of /proc, by the number of the file and not
 * by its name. */
#include "user/proc/running.h"

#include "offline/base/open_regular.h"
#include "user/file/maps_lines.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file on an overlay has the number of the file below, but the overlay's own device. */
static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino &&
	       (a->st_dev == b->st_dev ||
		(a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
		 a->st_mtim.tv_nsec == b->st_mtim.tv_nsec));
}

static bool runs(pid_t pid, const struct stat *program)
{
	char path[32];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return !stat(path, &st) && is_same(&st, program);
}

bool running_runs(pid_t pid, const char *program)
{
	struct stat file;
	return !stat(program, &file) && runs(pid, &file);
}

bool running_is_replaced(const char *program, const char *name)
{
	struct stat file, now;
	return !stat(program, &file) && !stat(name, &now) && !is_same(&file, &now);
}

uint32_t running_processes(const struct target *program, pid_t *pids, uint32_t max)
{
	struct stat file;
	if (stat(program->path, &file))
		return 0;
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	uint32_t n = 0;
	while (proc && n < max && (entry = readdir(proc))) {
		pid_t pid = isdigit((unsigned char)*entry->d_name) ? atoi(entry->d_name) : 0;
		if (pid > 0 && pid != getpid() && runs(pid, &file))
			pids[n++] = pid;
	}
	if (proc)
		closedir(proc);
	return n;
}

uint32_t running_older(const char *program, pid_t *pids, uint32_t max)
{
	char *path = realpath(program, NULL), link[32], exe[PATH_MAX + 16], older[PATH_MAX + 16];
	DIR *proc = path ? opendir("/proc") : NULL;
	struct dirent *entry;
	uint32_t n = 0;
	snprintf(older, sizeof(older), "%s (deleted)", path ? path : "");
	while (proc && n < max && (entry = readdir(proc))) {
		pid_t pid = isdigit((unsigned char)*entry->d_name) ? atoi(entry->d_name) : 0;
		snprintf(link, sizeof(link), "/proc/%d/exe", pid);
		ssize_t len = pid > 0 ? readlink(link, exe, sizeof(exe) - 1) : -1;
		exe[len > 0 ? len : 0] = 0;
		if (!strcmp(exe, older))
			pids[n++] = pid;
	}
	if (proc)
		closedir(proc);
	free(path);
	return n;
}

/* The process that has forked @pid, or that has taken it over since; 0: none. */
static pid_t parent_of(pid_t pid)
{
	char path[32], line[512];
	pid_t parent = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "re");
	size_t len = f ? fread(line, 1, sizeof(line) - 1, f) : 0;
	line[len] = 0;
	char *name_end = strrchr(line, ')'); /* the name itself may hold anything */
	if (name_end)
		sscanf(name_end, ") %*c %d", &parent);
	if (f)
		fclose(f);
	return parent;
}

/* Which of @pids the process @pid comes from, 0: none, or it is one of them. */
static pid_t origin_of(pid_t pid, const pid_t *pids, uint32_t n_pids)
{
	enum {
		DEPTH = 64
	}; /* pids are used again while this reads them: the limit keeps a circle of them from being
	      endless */
	pid_t at = pid;
	for (int depth = 0; at > 0 && depth < DEPTH; depth++) {
		for (uint32_t i = 0; i < n_pids; i++)
			if (pids[i] == at)
				return at == pid ? 0 : at;
		at = parent_of(at);
	}
	return 0;
}

uint32_t running_forked(const pid_t *pids, uint32_t n_pids, pid_t *forked, uint32_t max)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	uint32_t n = 0;
	while (proc && n < max && (entry = readdir(proc))) {
		pid_t pid = isdigit((unsigned char)*entry->d_name) ? atoi(entry->d_name) : 0;
		pid_t origin = pid > 0 ? origin_of(pid, pids, n_pids) : 0;
		char exe[32];
		snprintf(exe, sizeof(exe), "/proc/%d/exe", origin);
		if (origin && running_runs(pid, exe))
			forked[n++] = pid;
	}
	if (proc)
		closedir(proc);
	return n;
}

static bool is_elf(const char *path)
{
	unsigned char ident[EI_NIDENT];
	int fd = open_regular(path, NULL);
	bool is = fd >= 0 && read(fd, ident, sizeof(ident)) == sizeof(ident) &&
		  !memcmp(ident, ELFMAG, SELFMAG) && ident[EI_CLASS] == ELFCLASS64;
	if (fd >= 0)
		close(fd);
	return is;
}

int running_add_modules(struct targets *loaded, pid_t pid, struct pugmark_diag *diag)
{
	char path[64];
	struct maps_lines lines;
	struct maps_line line;
	int err = 0;
	if (maps_lines_open(&lines, pid))
		return 0;
	while (!err && maps_lines_next(&lines, &line)) {
		if (!(line.prot & PROT_EXEC) || *line.name != '/')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid,
			 line.start, line.end);
		if (is_elf(path))
			err = targets_add(loaded, path, line.name, NULL, diag);
		if (err == -E2BIG) {
			loaded->cut = true;
			err = 0;
		}
		if (err == -ENOENT) /* it has just been unmapped */
			err = 0;
	}
	maps_lines_close(&lines);
	return err;
}
