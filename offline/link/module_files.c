// SPDX-License-Identifier: LGPL-2.1-or-later
/* module_files.c: see module_files.h. Folders are looked at in order of depth. Links are not
 * followed, but for those of libtool's modules to the file beside them. */
#include "offline/link/module_files.h"

#include "offline/base/open_regular.h"
#include "offline/base/vec.h"
#include "offline/link/named_folders.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 16384, ENTRIES_MAX = 65536 };

struct walk {
	struct module_files folders; /* those before `next` have been looked at */
	uint32_t next, entries;
	bool unopened; /* go by names, NAME.so alone; else they are ELF files, NAME.so.1 as well */
};

/* Adds @folder/@name; @name NULL: @folder. */
static int push(struct module_files *to, const char *folder, const char *name)
{
	char *path = NULL;
	if (asprintf(&path, "%s%s%s", folder, name ? "/" : "", name ? name : "") < 0)
		return -ENOMEM;
	if (VEC_PUSH(to, path))
		return 0;
	free(path);
	return -ENOMEM;
}

/* Adds the file @folder/@name if it is a module. */
static int push_module(const struct walk *w, struct module_files *to, const char *folder,
		       const char *name)
{
	const char *suffix = strstr(name, ".so");
	if (!suffix || to->n >= FILES_MAX || (w->unopened && suffix[3]))
		return 0;
	int err = push(to, folder, name);
	if (err || w->unopened)
		return err;
	char magic[SELFMAG];
	int fd = open_regular(to->at[to->n - 1], NULL);
	if (fd < 0 || pread(fd, magic, SELFMAG, 0) != SELFMAG || memcmp(magic, ELFMAG, SELFMAG))
		free(to->at[--to->n]);
	if (fd >= 0)
		close(fd);
	return 0;
}

/* Adds the file that the link @folder/@name leads to, if that is a module which libtool has given a
 * version: NAME.so leads to NAME.so.0.1 beside it. Links libNAME.so in a folder of libraries are
 * there for linkers. */
static int push_linked(const struct walk *w, struct module_files *to, const char *folder,
		       const char *name)
{
	char link[PATH_MAX], target[NAME_MAX + 1];
	size_t len = strlen(name);
	if (!w->unopened || to->n >= FILES_MAX || len < 3 || strcmp(name + len - 3, ".so") != 0 ||
	    snprintf(link, sizeof(link), "%s/%s", folder, name) >= (int)sizeof(link) ||
	    (!strncmp(name, "lib", 3) && !named_folders_may_name(link)))
		return 0;
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	if (n <= 0 || n >= (ssize_t)sizeof(target) - 1)
		return 0;
	target[n] = 0;
	return strchr(target, '/') || !strstr(target, ".so.") ? 0 : push(to, folder, target);
}

static int look_into(struct walk *w, const char *folder, struct module_files *files)
{
	DIR *dir = opendir(folder);
	int err = 0;
	for (struct dirent *e; dir && !err && w->entries < ENTRIES_MAX && (e = readdir(dir));
	     w->entries++) {
		if (e->d_type == DT_DIR && strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			err = push(&w->folders, folder, e->d_name);
		else if (e->d_type == DT_REG)
			err = push_module(w, files, folder, e->d_name);
		else if (e->d_type == DT_LNK)
			err = push_linked(w, files, folder, e->d_name);
	}
	if (dir)
		closedir(dir);
	return err;
}

static int walk(struct walk *w, struct module_files *files)
{
	int err = 0;
	for (; !err && w->next < w->folders.n; w->next++)
		err = look_into(w, w->folders.at[w->next], files);
	return err;
}

int module_files_add(struct module_files *files, const char *path, struct pugmark_diag *diag)
{
	struct walk w = {.entries = 0};
	uint32_t before = files->n;
	struct stat st;
	if (stat(path, &st))
		return pugmark_diag_set(diag, -errno, path, PUGMARK_NO_OFFSET, "%s",
					strerror(errno));
	int err = push(S_ISDIR(st.st_mode) ? &w.folders : files, path, NULL);
	err = err ? err : walk(&w, files);
	module_files_deinit(&w.folders);
	if (err)
		return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "out of memory");
	if (files->n > before)
		return 0;
	return pugmark_diag_set(diag, -ENOEXEC, path, PUGMARK_NO_OFFSET,
				"no module (a file *.so*) is below this folder");
}

/* The folder lib beside the folder of @program, to be freed; NULL: none. */
static char *lib_beside(const char *program)
{
	char *real = program ? realpath(program, NULL) : NULL, *lib = NULL;
	for (int up = 0; real && up < 2; up++) {
		char *slash = strrchr(real, '/');
		if (slash)
			*slash = 0;
	}
	if (real && asprintf(&lib, "%s/lib", real) < 0)
		lib = NULL;
	free(real);
	return lib;
}

int module_files_add_host(struct module_files *files, const char *program)
{
	static const char *const libraries[] = {"/usr/lib", "/usr/lib64", "/usr/local/lib"};
	struct walk w = {.unopened = true};
	char *beside = lib_beside(program);
	int err = 0;
	for (uint32_t i = 0; !err && i < sizeof(libraries) / sizeof(*libraries); i++)
		if (!beside || strcmp(beside, libraries[i]) != 0)
			err = push(&w.folders, libraries[i], NULL);
	if (!err && beside)
		err = push(&w.folders, beside, NULL);
	err = err ? err : walk(&w, files);
	module_files_deinit(&w.folders);
	free(beside);
	return err;
}

void module_files_deinit(struct module_files *files)
{
	for (uint32_t i = 0; i < files->n; i++)
		free(files->at[i]);
	VEC_FREE(files);
}
