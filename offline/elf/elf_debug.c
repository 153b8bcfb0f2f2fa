// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_debug.c: finds the separate debug file, as gdb does: by build-id, else by .gnu_debuglink with
 * its checksum. A file that is there but does not fit is named in a note. */
#include "offline/base/debug_roots.h"
#include "offline/elf/elf_parts.h"

#include <errno.h>
#include <stdio.h>
#include <zlib.h>

static void free_string(char **string)
{
	free(*string);
}
#define string_guard __attribute__((cleanup(free_string)))

/* The build-id of a debug file, whose notes are not loaded. */
static const uint8_t *section_build_id(const struct elf_file *file, uint32_t *len_bytes)
{
	const struct elf_section *s = elf_file_section(file, ".note.gnu.build-id");
	return s ? elf_find_build_id(file->data + s->off, s->size, len_bytes) : NULL;
}

/* Opens @path as the debug file if it is one; 0 if so, -ENOENT where there is no such file. */
static int try_file(struct elf_image *image, const char *path)
{
	struct pugmark_diag diag;
	struct elf_file file;
	int err = elf_file_open(path, &file, &diag);
	if (!err)
		image->debug = file;
	else if (err != -ENOENT && err != -ENOTDIR && err != -ENOMEM)
		elf_note(&image->file, "debug file %s: %s", path, diag.text);
	return err;
}

/* Tries the file of build-id @hex below @root. */
static int try_build_id(struct elf_image *image, const char *root, const char *hex)
{
	string_guard char *path = NULL;
	uint32_t len = 0;
	if (asprintf(&path, "%s/.build-id/%.2s/%s.debug", root, hex, hex + 2) < 0)
		return -ENOMEM;
	int err = try_file(image, path);
	if (err)
		return err;
	const uint8_t *id = section_build_id(&image->debug, &len);
	if (id && len == image->build_id_len && !memcmp(id, image->build_id, len))
		return 0;
	elf_note(&image->file, "debug file %s has another build-id: left out", path);
	elf_file_close(&image->debug);
	return -ENOENT;
}

static int find_by_build_id(struct elf_image *image)
{
	const uint8_t *id = image->build_id;
	const char *root;
	char hex[2 * 64 + 1];
	int err = -ENOENT;
	if (!id || image->build_id_len < 2 || image->build_id_len > 64)
		return -ENOENT;
	for (uint32_t i = 0; i < image->build_id_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	for (uint32_t i = 0; err && err != -ENOMEM && (root = debug_root(i)); i++)
		err = try_build_id(image, root, hex);
	return err;
}

/* Tries @dir/@sub/@name, which must have checksum @crc. */
static int try_link(struct elf_image *image, const char *root, const char *dir, const char *sub,
		    const char *name, uint32_t crc)
{
	string_guard char *path = NULL;
	if (asprintf(&path, "%s%s%s/%s", root, dir, sub, name) < 0)
		return -ENOMEM;
	int err = try_file(image, path);
	if (err || crc32_z(0, image->debug.data, image->debug.size) == crc)
		return err;
	elf_note(&image->file, "debug file %s has another checksum: left out", path);
	elf_file_close(&image->debug);
	return -ENOENT;
}

static int find_by_link(struct elf_image *image)
{
	const struct elf_section *s = elf_file_section(&image->file, ".gnu_debuglink");
	if (!s || s->size < 8)
		return -ENOENT;
	const char *name = (const char *)image->file.data + s->off;
	uint64_t name_len = strnlen(name, s->size);
	uint64_t crc_off = (name_len + 4) & ~UINT64_C(3);
	if (!name_len || memchr(name, '/', name_len) || name_len > 255 || crc_off + 4 > s->size) {
		elf_note(&image->file, "section .gnu_debuglink is damaged: left out");
		return -ENOENT;
	}
	uint32_t crc;
	memcpy(&crc, name + crc_off, sizeof(crc));
	string_guard char *dir = realpath(image->file.path, NULL);
	char *slash = dir ? strrchr(dir, '/') : NULL;
	if (!slash)
		return -ENOENT;
	*slash = 0;
	int err = try_link(image, "", dir, "", name, crc);
	if (err && err != -ENOMEM)
		err = try_link(image, "", dir, "/.debug", name, crc);
	if (err && err != -ENOMEM)
		err = try_link(image, DEBUG_ROOT, dir, "", name, crc);
	return err;
}

int elf_find_debug_file(struct elf_image *image)
{
	int err = find_by_build_id(image);
	if (err && err != -ENOMEM)
		err = find_by_link(image);
	return err == -ENOMEM ? err : 0;
}
