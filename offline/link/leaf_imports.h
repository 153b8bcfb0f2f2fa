/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* leaf_imports.h: imports that return without calling back into the program. */
#ifndef OFFLINE_LEAF_IMPORTS_H
#define OFFLINE_LEAF_IMPORTS_H

#include <stdbool.h>

/* Whether the C library's function @name never calls a function of its caller. Where it does all
 * the same (an interposed definition, say), the parser sees the callback and names it. */
bool import_is_leaf(const char *name);

#endif
