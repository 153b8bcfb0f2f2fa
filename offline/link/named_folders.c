// SPDX-License-Identifier: LGPL-2.1-or-later
/* named_folders.c: see named_folders.h. */
#include "offline/link/named_folders.h"

#include "offline/elf/section_data.h"

#include <ctype.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MIN = 3, NAME_MAX_BYTES = 64 };

/* The name of a folder in which modules lie. */
struct folder {
	const char *name; /* in a path: ends with a slash */
	uint32_t len;
	bool named;
};

static int by_name(const void *a, const void *b)
{
	const struct folder *x = a, *y = b;
	int order = memcmp(x->name, y->name, x->len < y->len ? x->len : y->len);
	return order ? order : (int)x->len - (int)y->len;
}

/* The folder's own name in @path. */
static struct folder folder_of(const char *path)
{
	const char *end = strrchr(path, '/'), *at = end;
	while (at && at > path && at[-1] != '/')
		at--;
	return (struct folder){.name = at, .len = at ? (uint32_t)(end - at) : 0};
}

/* Every library lies in a folder of such a name, and every path has it. */
static bool tells_something(const struct folder *f)
{
	return f->len >= NAME_MIN && f->len <= NAME_MAX_BYTES &&
	       !(f->len == 3 && !memcmp(f->name, "lib", 3)) &&
	       !(f->len == 5 && !memcmp(f->name, "lib64", 5)) &&
	       !(f->len == 16 && !memcmp(f->name, "x86_64-linux-gnu", 16));
}

bool named_folders_may_name(const char *path)
{
	struct folder f = folder_of(path);
	return tells_something(&f);
}

/* Marks the folders whose name is a beginning of the @len bytes at @word. */
static void take_word(struct folder *folders, uint32_t n, const char *word, size_t len)
{
	for (uint32_t k = NAME_MIN; k <= len && k <= NAME_MAX_BYTES; k++) {
		struct folder key = {.name = word, .len = k};
		struct folder *f = bsearch(&key, folders, n, sizeof(*folders), by_name);
		if (f)
			f->named = true;
	}
}

static void take_data(struct folder *folders, uint32_t n, const char *data, size_t bytes)
{
	size_t start = 0;
	for (size_t i = 0; i <= bytes; i++) {
		if (i < bytes && data[i] != '/' && isprint((unsigned char)data[i]))
			continue;
		if (i - start >= NAME_MIN)
			take_word(folders, n, data + start, i - start);
		start = i + 1;
	}
}

/* Marks the folders that @file's data names. */
static int take_file(struct folder *folders, uint32_t n, const struct private_elf *file)
{
	uint64_t left = private_elf_bytes(file);
	int err = 0;
	for (Elf_Scn *scn = NULL; n && !err && (scn = elf_nextscn(file->elf, scn));) {
		GElf_Shdr sh;
		Elf_Data *data;
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS ||
		    !(sh.sh_flags & SHF_ALLOC) || sh.sh_flags & SHF_EXECINSTR)
			continue;
		if (sh.sh_size > left)
			return -EBADMSG;
		left -= sh.sh_size;
		err = section_raw(scn, &sh, &data);
		if (!err && data)
			take_data(folders, n, data->d_buf, data->d_size);
	}
	return err;
}

int named_folders_mark(const struct private_elf *file, char *const *paths, uint32_t n,
		       uint8_t *named)
{
	struct folder *folders = calloc(n + 1, sizeof(*folders));
	uint32_t kept = 0;
	if (!folders)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		folders[kept] = folder_of(paths[i]);
		kept += tells_something(&folders[kept]);
	}
	qsort(folders, kept, sizeof(*folders), by_name);
	uint32_t distinct = 0;
	for (uint32_t i = 0; i < kept; i++)
		if (!distinct || by_name(&folders[distinct - 1], &folders[i]) != 0)
			folders[distinct++] = folders[i];
	int err = take_file(folders, distinct, file);
	for (uint32_t i = 0; i < n; i++) {
		struct folder key = folder_of(paths[i]);
		const struct folder *f = tells_something(&key) ? bsearch(&key, folders, distinct,
									 sizeof(*folders), by_name)
							       : NULL;
		named[i] = f && f->named;
	}
	free(folders);
	return err;
}
