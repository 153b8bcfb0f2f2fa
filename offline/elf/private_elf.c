// SPDX-License-Identifier: LGPL-2.1-or-later
/* private_elf.c: see private_elf.h. */
#include "offline/elf/private_elf.h"

#include "offline/base/open_regular.h"

#include <errno.h>
#include <unistd.h>

Elf *private_elf_of(const struct private_file *file)
{
	elf_version(EV_CURRENT);
	errno = 0;
	Elf *elf = file->bytes ? elf_memory((char *)file->bytes, file->len_bytes) : NULL;
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
	return NULL;
}

/* Why libelf has none: errno was 0 before it was asked. */
static int no_elf(const Elf *elf)
{
	return !elf && private_file_unknown(-errno) ? -errno : -ENOEXEC;
}

int private_elf_read(int fd, struct private_elf *out)
{
	struct private_elf elf = {.elf = NULL};
	int err = private_file_read(fd, PRIVATE_FILE_MAX, &elf.file);
	if (err)
		return err;
	elf.elf = private_elf_of(&elf.file);
	if (!elf.elf) {
		err = no_elf(elf.elf);
		private_elf_close(&elf);
		return err;
	}
	*out = elf;
	return 0;
}

int private_elf_open(const char *path, struct private_elf *out)
{
	int fd = open_regular(path, NULL);
	if (fd < 0)
		return fd;
	int err = private_elf_read(fd, out);
	close(fd);
	return err;
}

static bool has_holes(const struct stat *st)
{
	return st->st_blocks * 512 < st->st_size;
}

int private_elf_open_parts(const char *path, struct private_elf *out)
{
	struct private_elf elf = {.fd = open_regular(path, NULL), .reads_fd = true};
	struct stat st;
	if (elf.fd < 0)
		return elf.fd;
	int err = fstat(elf.fd, &st) ? -errno : 0;
	if (!err && (uint64_t)st.st_size > PRIVATE_FILE_MAX)
		err = -EFBIG;
	if (err || has_holes(&st)) {
		err = err ? err : private_elf_read(elf.fd, out);
		close(elf.fd);
		return err;
	}
	elf_version(EV_CURRENT);
	errno = 0;
	elf.elf = elf_begin(elf.fd, ELF_C_READ, NULL);
	if (!elf.elf || elf_kind(elf.elf) != ELF_K_ELF) {
		err = no_elf(elf.elf);
		private_elf_close(&elf);
		return err;
	}
	*out = elf;
	return 0;
}

uint64_t private_elf_bytes(const struct private_elf *elf)
{
	struct stat st;
	if (!elf->reads_fd)
		return elf->file.len_bytes;
	return fstat(elf->fd, &st) ? 0 : (uint64_t)st.st_size;
}

void private_elf_close(struct private_elf *elf)
{
	elf_end(elf->elf);
	private_file_free(&elf->file);
	if (elf->reads_fd)
		close(elf->fd);
	elf->elf = NULL;
	elf->reads_fd = false;
}
