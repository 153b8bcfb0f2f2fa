/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* private_elf.h: libelf on a file that nobody else can change any more
 * (offline/base/private_file.h). libelf checks what it reads against the file's size once, so it
 * must not read a mapping. */
#ifndef OFFLINE_ELF_PRIVATE_ELF_H
#define OFFLINE_ELF_PRIVATE_ELF_H

#include "offline/base/private_file.h"

#include <libelf.h>

struct private_elf {
	struct private_file file;
	Elf *elf; /* of the kind ELF_K_ELF; borrows the file's bytes, or reads from: */
	int fd;	  /* private_elf_open_parts() */
	bool reads_fd;
};

/* Reads the regular file @path. Returns 0, and @out is closed by private_elf_close(); or -errno as
 * private_file_open(), or -ENOEXEC: not an ELF file. */
int private_elf_open(const char *path, struct private_elf *out);
/* The same for who wants few sections of a file that may be large: libelf copies each when it is
 * first asked for it. A file with holes is read whole, as these then take no memory. */
int private_elf_open_parts(const char *path, struct private_elf *out);
/* As private_elf_open(), of @fd, which stays open. */
int private_elf_read(int fd, struct private_elf *out);
/* libelf on @file, which it borrows, to be ended with elf_end(); NULL: no ELF file, or errno is
 * ENOMEM. */
Elf *private_elf_of(const struct private_file *file);
/* How long the file is. */
uint64_t private_elf_bytes(const struct private_elf *elf);
/* Of zeros as well. */
void private_elf_close(struct private_elf *elf);
#define private_elf_guard __attribute__((cleanup(private_elf_close)))

#endif
