/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* patterns.h: names of functions and modules as a user writes them: globs, or regular expressions
 * between slashes. */
#ifndef USER_PATTERNS_H
#define USER_PATTERNS_H

#include <stdbool.h>
#include <stdint.h>

#include <pugmark/diag.h>

struct pattern;

struct patterns {
	struct pattern *at; /* heap */
	uint32_t n;
};

/* Adds @text: a glob (*, ?, [...]), or /an extended regular expression/ that matches anywhere in a
 * name. Returns 0, or -errno with @diag filled (-EINVAL: no regular expression). @text is borrowed
 * until patterns_deinit(). */
int patterns_add(struct patterns *patterns, const char *text, struct pugmark_diag *diag);
/* The same of a text that somebody else may have written: a glob alone, whose match takes time in
 * proportion to name and glob (of `fnmatch` it may take years, and a regular expression all
 * memory). -EINVAL: it is a regular expression. */
int patterns_add_glob(struct patterns *patterns, const char *text, struct pugmark_diag *diag);
void patterns_deinit(struct patterns *patterns);
/* The first pattern that the linker name @name matches as it is or demangled; -1: none. @seen, one
 * per pattern, is set for every pattern that matches; it may be NULL. */
int patterns_match(const struct patterns *patterns, const char *name, bool *seen);
const char *patterns_text(const struct patterns *patterns, uint32_t index);

#endif
