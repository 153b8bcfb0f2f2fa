/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* render.h: the text that one conversion of printf() makes of its argument, as the C library makes
 * it in the C locale: so that an output can be found by what it says although the call that made it
 * is not traced. */
#ifndef OFFLINE_DEP_RENDER_H
#define OFFLINE_DEP_RENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text that grows. */
struct dep_text {
	char *at; /* freed by its owner */
	size_t n, room;
	bool known; /* all of it was made so far; once false it stays false */
};

struct dep_conversion {
	char flags[8]; /* of "-+ #0'", a string */
	int width;     /* 0: none; below: at the left */
	int precision; /* -1: none */
	char length;   /* H (hh), h, l (and all else of 64 bits), L, or 0 */
	char kind;     /* d, s, ... */
};

/* Whether its numbers are not so large that the text would be unknown whatever its argument. */
bool dep_conversion_is_small(const struct dep_conversion *c);
/* Each adds what the conversion makes of its argument to @text; what cannot be made (no memory, a
 * kind that is not of this sort, more than 64 KiB) makes it unknown. */
void dep_render_plain(struct dep_text *text, const char *bytes, size_t n);
void dep_render_integer(struct dep_text *text, const struct dep_conversion *c, uint64_t value);
void dep_render_real(struct dep_text *text, const struct dep_conversion *c, long double value);
/* @string ends with a zero byte. */
void dep_render_string(struct dep_text *text, const struct dep_conversion *c, const char *string);

#endif
