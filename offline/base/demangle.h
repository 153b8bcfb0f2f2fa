/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* demangle.h: names without their parameters; with them: pugmark_demangle() (pugmark/model.h). */
#ifndef OFFLINE_BASE_DEMANGLE_H
#define OFFLINE_BASE_DEMANGLE_H

#include <stdbool.h>

/* Whether it is one of C++ or Rust that a demangler may know. */
bool demangle_is_mangled(const char *name);
/* As people write it, without parameters and result: a::B<int>::f. The caller frees it. NULL: out
 * of memory. */
char *demangle_bare(const char *name);
/* Whether a user who writes @wanted may mean the function @name (mangled or not): by its linker
 * name, its whole name, or its end from some :: on; each with or without parameters and template
 * arguments. */
bool demangle_means(const char *name, const char *wanted);

#endif
