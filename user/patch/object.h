/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* object.h: an ELF file that tells a debugger what the code of one region is: its call frame
 * information, and what it is called. It has none of the code itself. */
#ifndef USER_PATCH_OBJECT_H
#define USER_PATCH_OBJECT_H

#include "user/patch/area.h"

enum { OBJECT_NAME_BYTES = 48 };

/* The file's name for region @i of process @pid. */
void object_name(char name[OBJECT_NAME_BYTES], pid_t pid, uint32_t i);
/* Writes it in the folder @dir_fd, in place of an older one. 0 or -errno. */
int object_write(int dir_fd, const char *name, const struct area_region *region);

#endif
