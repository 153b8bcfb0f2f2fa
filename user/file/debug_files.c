// SPDX-License-Identifier: LGPL-2.1-or-later
/* debug_files.c: see debug_files.h. */
#include "user/file/debug_files.h"

#include "offline/base/debug_roots.h"
#include "offline/base/open_regular.h"
#include "offline/base/private_file.h"
#include "offline/elf/elf_inflating.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { ID_BYTES_MAX = 64 };

/* What the copy's sections inflate to. */
static uint64_t inflated_bytes(int copy)
{
	struct stat st;
	if (fstat(copy, &st) || !st.st_size)
		return 0;
	uint8_t *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, copy, 0);
	if (bytes == MAP_FAILED)
		return UINT64_MAX;
	uint64_t inflated = elf_inflated_bytes(bytes, (uint64_t)st.st_size);
	munmap(bytes, (size_t)st.st_size);
	return inflated;
}

/* A copy of the file @fd, as private_file_copy() makes them. -EFBIG as well: its sections inflate
 * to more than a file may have. */
static int copy_of(int fd)
{
	int copy = private_file_copy(fd, PRIVATE_FILE_MAX);
	if (copy < 0 || inflated_bytes(copy) <= PRIVATE_FILE_MAX)
		return copy;
	close(copy);
	return -EFBIG;
}

Dwfl_Module *debug_files_report(Dwfl *dwfl, const char *path)
{
	int fd = open_regular(path, NULL);
	int copy = fd < 0 ? fd : copy_of(fd);
	if (fd >= 0)
		close(fd);
	errno = copy < 0 ? -copy : 0;
	if (copy < 0)
		return NULL;
	Dwfl_Module *module = dwfl_report_elf(dwfl, path, path, copy, 0, false);
	if (!module)
		close(copy);
	return module;
}

/* Whether the bytes of @fd have the checksum @crc. */
static bool has_crc(int fd, GElf_Word crc)
{
	struct private_file file;
	if (private_file_read(fd, PRIVATE_FILE_MAX, &file))
		return false;
	bool has = crc32_z(0, file.bytes, file.len_bytes) == crc;
	private_file_free(&file);
	return has;
}

/* A copy of the file @dir@sub/@name, whose checksum is to be *@crc where that is not NULL; -1:
 * there is none. */
static int try_file(const char *dir, const char *sub, const char *name, const GElf_Word *crc,
		    char **found)
{
	char *path;
	if (asprintf(&path, "%s%s/%s", dir, sub, name) < 0)
		return -1;
	int fd = open_regular(path, NULL), copy = -1;
	if (fd >= 0 && (!crc || has_crc(fd, *crc)))
		copy = copy_of(fd);
	if (fd >= 0)
		close(fd);
	if (copy >= 0)
		*found = path;
	else
		free(path);
	return copy < 0 ? -1 : copy;
}

static int find_by_build_id(Dwfl_Module *module, char **found)
{
	const unsigned char *id;
	GElf_Addr at;
	char name[2 * ID_BYTES_MAX + 16];
	int len = dwfl_module_build_id(module, &id, &at);
	if (len < 2 || len > ID_BYTES_MAX)
		return -1;
	int n = snprintf(name, sizeof(name), "%02x/", id[0]);
	for (int i = 1; i < len; i++)
		n += snprintf(name + n, sizeof(name) - n, "%02x", id[i]);
	snprintf(name + n, sizeof(name) - n, ".debug");
	const char *root;
	int fd = -1;
	for (uint32_t i = 0; fd < 0 && (root = debug_root(i)); i++)
		fd = try_file(root, "/.build-id", name, NULL, found);
	return fd;
}

int debug_files_find(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		     const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)data, (void)name, (void)base;
	bool alternative = link && strchr(link, '/');
	int fd = alternative ? -1 : find_by_build_id(module, found);
	if (fd >= 0 || !link || !file)
		return fd;
	char *dir = realpath(file, NULL), *slash = dir ? strrchr(dir, '/') : NULL;
	if (slash)
		*slash = 0;
	if (slash && alternative)
		fd = *link == '/' ? try_file("", "", link + 1, NULL, found)
				  : try_file(dir, "", link, NULL, found);
	if (slash && !alternative)
		fd = try_file(dir, "", link, &crc, found);
	if (fd < 0 && slash && !alternative)
		fd = try_file(dir, "/.debug", link, &crc, found);
	if (fd < 0 && slash && !alternative) {
		char *root;
		if (asprintf(&root, DEBUG_ROOT "%s", dir) >= 0) {
			fd = try_file(root, "", link, &crc, found);
			free(root);
		}
	}
	free(dir);
	return fd;
}
