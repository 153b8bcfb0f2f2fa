// SPDX-License-Identifier: LGPL-2.1-or-later
/* library_search.c: looks for files as the dynamic linker does: DT_RPATH, LD_LIBRARY_PATH,
 * DT_RUNPATH, /etc/ld.so.cache, the standard folders; LD_PRELOAD and /etc/ld.so.preload. What is in
 * the files is for callers_by_name.c to read. */
#include "offline/link/library_search.h"

#include "offline/base/open_regular.h"
#include "offline/base/private_file.h"
#include "offline/link/ld_cache.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MAX = 4096, CACHE_MAX_BYTES = 64 << 20 };

static bool is_listed(const struct library_search *s, const char *path)
{
	for (uint32_t i = 0; i < s->files.n; i++)
		if (!strcmp(s->files.at[i].path, path))
			return true;
	return false;
}

/* Whether the file at @path, now open as *@fd, is an ELF file of x86-64: 1 or 0; or -errno: nobody
 * knows. */
static int open_library(const char *path, int *fd, struct stat *st)
{
	Elf64_Ehdr eh;
	*fd = open_regular(path, st);
	ssize_t n = *fd < 0 ? *fd : pread(*fd, &eh, sizeof(eh), 0);
	int err = *fd < 0 ? *fd : n < 0 ? -errno : 0;
	if (err)
		return private_file_unknown(err) ? err : 0;
	return n == sizeof(eh) && !memcmp(eh.e_ident, ELFMAG, SELFMAG) &&
	       eh.e_ident[EI_CLASS] == ELFCLASS64 && eh.e_machine == EM_X86_64;
}

static void set_failed(struct library_search *s, int err, const char *path)
{
	s->failed = err;
	free(s->failed_path);
	s->failed_path = strdup(path);
}

/* Puts the file at @path on the list, unless it is there. Returns whether it is an ELF file of
 * x86-64, or may be, which is a failure. A path that is listed is not opened again: in a sandbox
 * each opening is asked for. */
static bool add_file(struct library_search *s, const char *path)
{
	if (is_listed(s, path))
		return true;
	struct stat st;
	__attribute__((cleanup(close_fd))) int fd = -1;
	int is = open_library(path, &fd, &st);
	if (is < 0)
		set_failed(s, is, path);
	if (is <= 0)
		return is < 0;
	if (s->own.path && s->own.dev == st.st_dev && s->own.ino == st.st_ino) {
		s->linked = true;
		return true;
	}
	for (uint32_t i = 0; i < s->files.n; i++)
		if (s->files.at[i].dev == st.st_dev && s->files.at[i].ino == st.st_ino)
			return true;
	if (s->files.n == FILES_MAX) {
		s->missing = true;
		return true;
	}
	struct library_file file = {st.st_dev, st.st_ino, strdup(path)};
	if (!file.path || !VEC_PUSH(&s->files, file)) {
		free(file.path);
		s->failed = -ENOMEM;
	}
	return true;
}

/* @folder with $ORIGIN, and what else may stand there, in place. */
static bool expand(const char *folder, size_t len, const char *origin, char *out, size_t room)
{
	static const char *const names[] = {"$ORIGIN", "${ORIGIN}", "$LIB", "${LIB}"};
	const char *const values[] = {origin, origin, "lib/x86_64-linux-gnu",
				      "lib/x86_64-linux-gnu"};
	size_t n = 0;
	for (const char *end = folder + len; folder < end;) {
		const char *value = NULL;
		for (int i = 0; i < 4 && !value; i++) {
			size_t name_len = strlen(names[i]);
			if (name_len <= (size_t)(end - folder) &&
			    !memcmp(folder, names[i], name_len)) {
				value = values[i];
				folder += name_len;
			}
		}
		size_t add = value ? strlen(value) : 1;
		if (n + add >= room)
			return false;
		memcpy(out + n, value ? value : folder, add);
		n += add;
		folder += value ? 0 : 1;
	}
	out[n] = 0;
	return n > 0;
}

/* Looks for @name in the folders of @list, which are separated by colons. */
static bool find_in(struct library_search *s, const char *list, const char *name, const char *user)
{
	char origin[PATH_MAX], folder[PATH_MAX], path[2 * PATH_MAX];
	if (!list)
		return false;
	snprintf(origin, sizeof(origin), "%s", user);
	char *slash = strrchr(origin, '/');
	if (slash)
		*slash = 0;
	else
		strcpy(origin, ".");
	while (*list) {
		size_t len = strcspn(list, ":");
		if (expand(list, len, origin, folder, sizeof(folder))) {
			snprintf(path, sizeof(path), "%s/%s", folder, name);
			if (add_file(s, path))
				return true;
		}
		list += len + (list[len] == ':');
	}
	return false;
}

static bool take_cached(void *search, const char *path)
{
	return add_file(search, path);
}

static bool find_in_cache(struct library_search *s, const char *name)
{
	int err = s->cache_asked
			  ? 0
			  : private_file_open("/etc/ld.so.cache", CACHE_MAX_BYTES, &s->cache);
	if (err)
		s->cache = (struct private_file){0};
	if (private_file_unknown(err))
		set_failed(s, err, "/etc/ld.so.cache");
	s->cache_asked = true;
	return ld_cache_find(s->cache.bytes, s->cache.len_bytes, name, take_cached, s);
}

void library_search_library(struct library_search *s, const char *name, const char *user,
			    const char *rpath, const char *runpath)
{
	static const char standard[] = "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib64:"
				       "/usr/lib64:/lib:/usr/lib";
	if (strchr(name, '/')) {
		s->missing |= !add_file(s, name);
		return;
	}
	/* DT_RPATH is ignored where there is a DT_RUNPATH. */
	if (!runpath && (find_in(s, rpath, name, user) || find_in(s, s->rpath, name, s->program)))
		return;
	if (find_in(s, s->options->library_path, name, user) || find_in(s, runpath, name, user) ||
	    find_in_cache(s, name) || find_in(s, standard, name, user))
		return;
	s->missing = true;
}

void library_search_named(struct library_search *s, const char *name)
{
	bool missing = s->missing;
	if (!strchr(name, '/') || *name == '/')
		library_search_library(s, name, s->program, NULL, NULL);
	s->missing = missing;
}

int library_search_plugin(struct library_search *s, const char *path, struct pugmark_diag *diag)
{
	struct stat st;
	if (stat(path, &st))
		return pugmark_diag_set(diag, -errno, path, PUGMARK_NO_OFFSET, "%s",
					strerror(errno));
	int before = s->failed;
	s->failed = 0;
	bool added = add_file(s, path);
	int err = s->failed;
	if (before)
		s->failed = before;
	if (err)
		return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "%s",
					private_file_why(err));
	if (added)
		return 0;
	return pugmark_diag_set(diag, -ENOEXEC, path, PUGMARK_NO_OFFSET,
				"not an ELF file of x86-64");
}

/* Those of a list as LD_PRELOAD holds. */
static void add_preloaded(struct library_search *s, const char *list)
{
	char name[PATH_MAX];
	bool missing = s->missing;
	while (list && *list) {
		size_t len = strcspn(list, " :\t\n");
		if (len && len < sizeof(name)) {
			memcpy(name, list, len);
			name[len] = 0;
			library_search_library(s, name, s->program, NULL, NULL);
		}
		list += len + (list[len] != 0);
	}
	s->missing = missing;
}

void library_search_preloaded(struct library_search *s)
{
	char list[PATH_MAX] = "";
	__attribute__((cleanup(close_fd))) int fd = open_regular("/etc/ld.so.preload", NULL);
	if (fd < 0 && private_file_unknown(fd))
		set_failed(s, fd, "/etc/ld.so.preload");
	add_preloaded(s, s->options->preloaded);
	if (fd >= 0 && read(fd, list, sizeof(list) - 1) > 0)
		add_preloaded(s, list);
}

void library_search_deinit(struct library_search *s)
{
	for (uint32_t i = 0; i < s->files.n; i++)
		free(s->files.at[i].path);
	VEC_FREE(&s->files);
	private_file_free(&s->cache);
	free(s->rpath);
	free(s->failed_path);
}
