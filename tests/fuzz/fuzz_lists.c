// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_lists.c: any bytes as what a user or a file names functions by: a glob and a name on two
 * lines, which agree with a matcher that tries everything. */
#include "tests/fuzz/as_file.h"

#include "user/cli/glob.h"
#include "user/cli/patterns.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of globs without sets and backslashes. */
static int matches(const char *glob, const char *name)
{
	if (*glob == '*')
		return matches(glob + 1, name) || (*name && matches(glob, name + 1));
	if (!*glob || !*name)
		return *glob == *name;
	return (*glob == '?' || *glob == *name) && matches(glob + 1, name + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct patterns patterns = {0};
	struct pugmark_diag diag;

	memcpy(text, data, size);
	text[size] = 0;
	char *name = strchr(text, '\n');
	if (name) {
		*name++ = 0;
		bool is = glob_matches(text, name);
		if (strlen(text) < 12 && strlen(name) < 12 && !strpbrk(text, "[\\"))
			MUST(is == matches(text, name));
		if (!patterns_add_glob(&patterns, text, &diag))
			MUST(strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0 ||
			     (patterns_match(&patterns, name, NULL) >= 0) == is);
		patterns_deinit(&patterns);
	}
	free(text);
	return 0;
}
