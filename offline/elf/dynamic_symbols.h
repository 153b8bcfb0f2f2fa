/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dynamic_symbols.h: the names by which a file and what it is loaded with find each other. */
#ifndef OFFLINE_ELF_DYNAMIC_SYMBOLS_H
#define OFFLINE_ELF_DYNAMIC_SYMBOLS_H

#include "offline/base/private_file.h"

#include <gelf.h>
#include <stdbool.h>

/* Calls @take for each symbol of @elf's .dynsym that is not local, until it says no. @name is
 * borrowed from @elf. An import has sym->st_shndx SHN_UNDEF. Returns 0 or an error as
 * section_table(). */
int dynamic_symbols_each(Elf *elf, bool (*take)(void *ctx, const char *name, const GElf_Sym *sym),
			 void *ctx);
/* Reads, of the regular file @fd, what that needs: it may be large, and its symbols few. Returns 0,
 * and
 * @out is freed by private_file_free(); or -errno as private_file_read(). */
int dynamic_symbols_read(int fd, struct private_file *out);

#endif
