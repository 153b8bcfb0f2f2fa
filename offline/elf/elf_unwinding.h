/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* elf_unwinding.h: what of an ELF file libdw needs for call frame information, and no more: a
 * program of 100 MB has 3 MB of it. */
#ifndef OFFLINE_ELF_ELF_UNWINDING_H
#define OFFLINE_ELF_ELF_UNWINDING_H

#include "offline/base/private_file.h"

/* Reads of the file @fd its headers, notes and call frame information; sections that were left out
 * are empty (SHT_NOBITS). A file without section headers is read whole. Returns 0 and @out, which
 * private_file_free() frees, or -errno as private_file_read(), and -ENOEXEC: no 64-bit ELF file. */
int elf_unwinding_read(int fd, uint64_t max_bytes, struct private_file *out);

#endif
