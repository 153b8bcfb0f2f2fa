// SPDX-License-Identifier: LGPL-2.1-or-later
/* demangle.c: C++ and Rust names, by libiberty's demangler: plain C that is linked statically, so
 * that a C program and its library do not load a C++ run time. A version after the name (foo@@V1)
 * stays behind it. */
#include <pugmark/model.h>

#include <stdlib.h>
#include <string.h>

/* libiberty's demangle.h, which distributions install in different places. */
enum { DMGL_PARAMS = 1 << 0, DMGL_ANSI = 1 << 1, DMGL_AUTO = 1 << 8 };
char *cplus_demangle(const char *mangled, int options);

char *pugmark_demangle(const char *name)
{
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return strdup(name);
	const char *version = strchr(name, '@');
	char *mangled = version ? strndup(name, version - name) : strdup(name);
	char *plain = mangled ? cplus_demangle(mangled, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO) : NULL;
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
