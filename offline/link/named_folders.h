/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* named_folders.h: which folders a binary names in its data, so that of a thousand modules only
 * those need be opened that lie where the binary looks. */
#ifndef OFFLINE_NAMED_FOLDERS_H
#define OFFLINE_NAMED_FOLDERS_H

#include "offline/elf/private_elf.h"

#include <stdbool.h>
#include <stdint.h>

/* Sets @named (one byte a path of @paths) where the name of the folder that the path lies in begins
 * a part of some path in @file's data: a word at the beginning of a text or behind a slash. What
 * follows does not matter: some languages end texts in other ways than by a NUL. Returns 0;
 * -ENOMEM; or another error as constant_strings(), where not all of that data can be read. */
int named_folders_mark(const struct private_elf *file, char *const *paths, uint32_t n,
		       uint8_t *named);
/* False: the folder that the file @path lies in is called as every folder of libraries is. */
bool named_folders_may_name(const char *path);

#endif
