/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* elf_inflating.h: compressed sections. libdw inflates all that it knows by name when it opens a
 * file, to the sizes that their headers say: a file of 25 MB that somebody has made for that takes
 * gigabytes of memory and most of a minute. So what they inflate to counts before libdw sees them.
 * Both ways of compressing: SHF_COMPRESSED, and the older .zdebug_*. */
#ifndef OFFLINE_ELF_ELF_INFLATING_H
#define OFFLINE_ELF_ELF_INFLATING_H

#include "offline/base/private_file.h"

/* What all sections of the file of @len bytes inflate to; 0 for what is no 64-bit ELF file. */
uint64_t elf_inflated_bytes(const uint8_t *bytes, uint64_t len);
/* Makes compressed sections empty (SHT_NOBITS) in this copy of the file: libelf writes to the
 * header of a section that it inflates, and this memory cannot be written to. Returns 0 or -errno:
 * -ENOEXEC no 64-bit ELF file of this machine's byte order. */
int elf_hide_inflating(struct private_file *file);

#endif
