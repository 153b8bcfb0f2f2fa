// SPDX-License-Identifier: LGPL-2.1-or-later
/* private_elf.c: see private_elf.h. */
#include "offline/elf/private_elf.h"

#include "offline/base/open_regular.h"

#include <errno.h>
#include <unistd.h>

Elf *private_elf_of(const struct private_file *file)
{
	elf_version(EV_CURRENT);
	Elf *elf = file->bytes ? elf_memory((char *)file->bytes, file->len_bytes) : NULL;
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
	return NULL;
}

int private_elf_read(int fd, struct private_elf *out)
{
	struct private_elf elf = {.elf = NULL};
	int err = private_file_read(fd, PRIVATE_FILE_MAX, &elf.file);
	if (err)
		return err;
	elf.elf = private_elf_of(&elf.file);
	if (!elf.elf) {
		private_elf_close(&elf);
		return -ENOEXEC;
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

void private_elf_close(struct private_elf *elf)
{
	elf_end(elf->elf);
	private_file_free(&elf->file);
	elf->elf = NULL;
}
