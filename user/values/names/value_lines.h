/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_lines.h: the instructions at which a line of source is come to. */
#ifndef USER_VALUE_LINES_H
#define USER_VALUE_LINES_H

#include "user/file/dwarf_lines.h"

struct value_line_places {
	uint64_t *at;
	uint32_t n, max;
};

/* Puts the ELF addresses from @from up to @to where statements of @line of the file @name begin, by
 * the line table; where it marks none, where code of the line begins. A run of code of one line
 * counts once. The caller frees @out with VEC_FREE() (vec.h), also behind an error. 0 or -ENOMEM.
 */
int value_line_places(const struct dwarf_lines *lines, const char *name, uint32_t line,
		      uint64_t from, uint64_t to, struct value_line_places *out);

#endif
