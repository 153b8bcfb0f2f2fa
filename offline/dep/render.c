// SPDX-License-Identifier: LGPL-2.1-or-later
/* render.c: see render.h. The work is this process's own snprintf(), given a format that was made
 * here out of the parts of the program's. */
#include "offline/dep/render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPEC_MAX = 48, RENDERED_MAX = 1 << 16, WIDTH_MAX = 1 << 12 };

static bool make_room(struct dep_text *text, size_t more)
{
	if (!text->known || text->n + more > RENDERED_MAX)
		return text->known = false;
	if (text->n + more <= text->room)
		return true;
	size_t room = 2 * text->room + more;
	char *at = realloc(text->at, room);
	if (!at)
		return text->known = false;
	text->at = at;
	text->room = room;
	return true;
}

void dep_render_plain(struct dep_text *text, const char *bytes, size_t n)
{
	if (!make_room(text, n))
		return;
	memcpy(text->at + text->n, bytes, n);
	text->n += n;
}

bool dep_conversion_is_small(const struct dep_conversion *c)
{
	return c->width >= -WIDTH_MAX && c->width <= WIDTH_MAX && c->precision <= WIDTH_MAX;
}

/* The conversion with the length modifier @length. */
static void spec_of(const struct dep_conversion *c, const char *length, char spec[SPEC_MAX])
{
	char width[16] = "", precision[16] = "";
	if (c->width)
		snprintf(width, sizeof(width), "%d", c->width);
	if (c->precision >= 0)
		snprintf(precision, sizeof(precision), ".%d", c->precision);
	snprintf(spec, SPEC_MAX, "%%%s%s%s%s%c", c->flags, width, precision, length, c->kind);
}

/* As snprintf(), behind the text. */
#define RENDER(text, spec, value)                                                                  \
	do {                                                                                       \
		int n = snprintf(NULL, 0, (spec), (value));                                        \
		if (n < 0 || !make_room((text), (size_t)n + 1)) {                                  \
			(text)->known = false;                                                     \
		} else {                                                                           \
			snprintf((text)->at + (text)->n, (size_t)n + 1, (spec), (value));          \
			(text)->n += (size_t)n;                                                    \
		}                                                                                  \
	} while (0)

/* The formats are made by spec_of() alone, each of one conversion that fits the value. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static long cut(char length, bool is_signed, uint64_t value)
{
	switch (length) {
	case 'H':
		return is_signed ? (signed char)value : (long)(unsigned char)value;
	case 'h':
		return is_signed ? (short)value : (long)(unsigned short)value;
	case 'l':
		return (long)value;
	default:
		return is_signed ? (int)value : (long)(unsigned)value;
	}
}

void dep_render_integer(struct dep_text *text, const struct dep_conversion *c, uint64_t value)
{
	char spec[SPEC_MAX];
	bool is_signed = strchr("di", c->kind);
	if (strchr("dioxXu", c->kind)) {
		spec_of(c, "l", spec);
		RENDER(text, spec, cut(c->length, is_signed, value));
	} else if (c->kind == 'c' && c->length != 'l') {
		spec_of(c, "", spec);
		RENDER(text, spec, (int)value);
	} else if (c->kind == 'p') {
		spec_of(c, "", spec);
		RENDER(text, spec, (void *)value);
	} else {
		text->known = false;
	}
}

void dep_render_real(struct dep_text *text, const struct dep_conversion *c, long double value)
{
	char spec[SPEC_MAX];
	if (c->length == 'L') {
		spec_of(c, "L", spec);
		RENDER(text, spec, value);
	} else {
		spec_of(c, "", spec);
		RENDER(text, spec, (double)value);
	}
}

void dep_render_string(struct dep_text *text, const struct dep_conversion *c, const char *string)
{
	char spec[SPEC_MAX];
	if (c->kind != 's' || c->length == 'l') {
		text->known = false;
		return;
	}
	spec_of(c, "", spec);
	RENDER(text, spec, string);
}
#pragma GCC diagnostic pop
