/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* leaf_imports.h: imports that return without calling back into the program. */
#ifndef OFFLINE_LEAF_IMPORTS_H
#define OFFLINE_LEAF_IMPORTS_H

#include <stdbool.h>

/* Whether the C library's function @name never calls a function of its caller. Where it does all
 * the same (for a stream of the program's own, or with an allocator that is), the parser finds by
 * the stack how far the thread came to it (recover/explain/callback.c). */
bool import_is_leaf(const char *name);

#endif
