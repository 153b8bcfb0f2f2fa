// SPDX-License-Identifier: LGPL-2.1-or-later
/* glob.c: see glob.h. Bytes and not characters, as in the C locale. */
#include "user/cli/glob.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static const struct {
	const char *name;
	int (*has)(int);
} classes[] = {
	{"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
	{"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
	{"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit},
};

/* [:NAME:] at @at; returns where it ends, NULL: there is none. */
static const char *take_class(const char *at, unsigned char c, bool *in)
{
	const char *end = at[1] == ':' ? strstr(at + 2, ":]") : NULL;
	for (size_t i = 0; end && i < sizeof(classes) / sizeof(*classes); i++)
		if (strlen(classes[i].name) == (size_t)(end - at - 2) &&
		    !strncmp(classes[i].name, at + 2, end - at - 2)) {
			*in |= classes[i].has(c) != 0;
			return end + 2;
		}
	return NULL;
}

/* Whether @c is in the set that begins at @at, behind its bracket; *@end: behind the other one.
 * Without that one the bracket stands for itself, and *@end is NULL. */
static bool in_set(const char *at, unsigned char c, const char **end)
{
	bool not = *at == '!' || *at == '^', in = false;
	at += not ;
	*end = NULL;
	for (bool first = true; *at && (first || *at != ']'); first = false) {
		const char *behind = *at == '[' ? take_class(at, c, &in) : NULL;
		if (behind) {
			at = behind;
			continue;
		}
		at += *at == '\\' && at[1];
		unsigned char low = (unsigned char)*at++, high = low;
		if (*at == '-' && at[1] && at[1] != ']') {
			at++;
			at += *at == '\\' && at[1];
			high = (unsigned char)*at++;
		}
		in |= c >= low && c <= high;
	}
	if (*at == ']')
		*end = at + 1;
	return in != not ;
}

/* Whether the next of *@glob is @c; *@glob goes behind it. */
static bool is_one(const char **glob, unsigned char c)
{
	const char *at = *glob, *end;
	if (*at == '?') {
		*glob = at + 1;
		return true;
	}
	if (*at == '[') {
		bool in = in_set(at + 1, c, &end);
		if (end) {
			*glob = end;
			return in;
		}
	}
	at += *at == '\\' && at[1];
	*glob = at + 1;
	return *at && (unsigned char)*at == c;
}

bool glob_matches(const char *glob, const char *name)
{
	const char *star = NULL, *taken = NULL; /* behind the last *, and what it does not take */
	while (*name) {
		const char *next = glob;
		if (*glob == '*') {
			star = ++glob;
			taken = name;
		} else if (*glob && is_one(&next, (unsigned char)*name)) {
			glob = next;
			name++;
		} else if (star) {
			glob = star;
			name = ++taken;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}
