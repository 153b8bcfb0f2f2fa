/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* exports_name.h: which library a function comes from. */
#ifndef USER_FILE_EXPORTS_NAME_H
#define USER_FILE_EXPORTS_NAME_H

#include <stdbool.h>

/* Whether the dynamic symbols of the ELF file @path define @name, without a version. False where it
 * cannot be read. */
bool file_exports_name(const char *path, const char *name);

#endif
