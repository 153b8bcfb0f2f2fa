// SPDX-License-Identifier: LGPL-2.1-or-later
/* demangle.c: C++ and Rust names, by libiberty's demangler: plain C that is linked statically, so
 * that a C program and its library do not load a C++ run time. A version after the name (foo@@V1)
 * stays behind it. */
#include "offline/base/demangle.h"

#include <pugmark/model.h>

#include <stdlib.h>
#include <string.h>

/* libiberty's demangle.h, which distributions install in different places. */
enum { DMGL_PARAMS = 1 << 0, DMGL_ANSI = 1 << 1, DMGL_AUTO = 1 << 8 };
char *cplus_demangle(const char *mangled, int options);

bool demangle_is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

static char *demangle(const char *name, int options)
{
	if (!demangle_is_mangled(name))
		return strdup(name);
	const char *version = strchr(name, '@');
	char *mangled = version ? strndup(name, version - name) : strdup(name);
	char *plain = mangled ? cplus_demangle(mangled, options | DMGL_ANSI | DMGL_AUTO) : NULL;
	free(mangled);
	if (!plain)
		return strdup(name);
	if (!version)
		return plain;
	size_t plain_len = strlen(plain), version_len = strlen(version);
	char *both = realloc(plain, plain_len + version_len + 1);
	if (!both) {
		free(plain);
		return NULL;
	}
	memcpy(both + plain_len, version, version_len + 1);
	return both;
}

char *pugmark_demangle(const char *name)
{
	return demangle(name, DMGL_PARAMS);
}

char *demangle_bare(const char *name)
{
	return demangle(name, 0);
}

/* Takes away all that is between < and >, but not operators that are called so. */
static void drop_arguments(char *name)
{
	char *to = name;
	int depth = 0;

	for (const char *at = name; *at; at++) {
		bool is_operator = (*at == '<' || *at == '>') && at - name >= 8 && !depth &&
				   (!strncmp(at - 8, "operator", 8) ||
				    (at - name >= 9 && !strncmp(at - 9, "operator", 8)));

		if (*at == '<' && !is_operator)
			depth++;
		if (!depth)
			*to++ = *at;
		if (*at == '>' && !is_operator && depth)
			depth--;
	}
	*to = 0;
}

/* Whether @wanted is @name, or its end behind a "::" that is of no argument. */
static bool ends_with(const char *name, const char *wanted)
{
	size_t len = strlen(name), want = strlen(wanted);
	int depth = 0;

	if (want > len || strcmp(name + len - want, wanted) != 0)
		return false;
	for (size_t i = 0; i < len - want; i++)
		depth += name[i] == '<' || name[i] == '('   ? 1
			 : name[i] == '>' || name[i] == ')' ? -1
							    : 0;
	return len == want || (!depth && len - want >= 2 && name[len - want - 1] == ':' &&
			       name[len - want - 2] == ':');
}

bool demangle_means(const char *name, const char *wanted)
{
	if (!strcmp(name, wanted))
		return true;
	if (!demangle_is_mangled(name))
		return false;
	char *whole = pugmark_demangle(name), *bare = demangle_bare(name);
	bool means = (whole && ends_with(whole, wanted)) || (bare && ends_with(bare, wanted));
	if (bare && !means) {
		drop_arguments(bare);
		means = ends_with(bare, wanted);
	}
	free(whole);
	free(bare);
	return means;
}
