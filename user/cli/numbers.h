/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* numbers.h: whole numbers as users write them: digits, or 0x and hexadecimal digits; no sign. */
#ifndef USER_NUMBERS_H
#define USER_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the number that @text begins with; in *@end what is behind it. False: there is none, or it
 * is above @most. */
bool number_begins(const char *text, uint64_t most, const char **end, uint64_t *out);
/* All of @text is a number from 1 to @most. */
bool number_is(const char *text, uint64_t most, uint64_t *out);

#endif
