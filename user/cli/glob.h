/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* glob.h: globs, as fnmatch() has them without flags, in time proportional to the product of both
 * lengths: when a match fails, only the last * takes another character. fnmatch() tries all of
 * them. */
#ifndef USER_CLI_GLOB_H
#define USER_CLI_GLOB_H

#include <stdbool.h>

bool glob_matches(const char *glob, const char *name);

#endif
