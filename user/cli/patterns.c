// SPDX-License-Identifier: LGPL-2.1-or-later
/* patterns.c: see patterns.h. Regular expressions are compiled once. */
#include "user/cli/patterns.h"

#include "user/cli/glob.h"

#include <pugmark/model.h>

#include <errno.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct pattern {
	const char *text;
	bool is_regex, is_foreign;
	regex_t regex;
};

static bool is_regex(const char *text)
{
	size_t len = strlen(text);
	return len >= 2 && *text == '/' && text[len - 1] == '/';
}

int patterns_add_glob(struct patterns *patterns, const char *text, struct pugmark_diag *diag)
{
	if (is_regex(text))
		return pugmark_diag_set(diag, -EINVAL, NULL, PUGMARK_NO_OFFSET,
					"'%s' is a regular expression, which is not taken from a "
					"file (make it with globs)",
					text);
	int err = patterns_add(patterns, text, diag);
	if (!err)
		patterns->at[patterns->n - 1].is_foreign = true;
	return err;
}

int patterns_add(struct patterns *patterns, const char *text, struct pugmark_diag *diag)
{
	struct pattern *at = realloc(patterns->at, (patterns->n + 1) * sizeof(*at));
	if (!at)
		return pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
	patterns->at = at;
	struct pattern *p = &at[patterns->n];
	size_t len = strlen(text);
	*p = (struct pattern){.text = text};
	if (is_regex(text)) {
		char *inside = strndup(text + 1, len - 2), why[128] = "out of memory";
		int err =
			inside ? regcomp(&p->regex, inside, REG_EXTENDED | REG_NOSUB) : REG_ESPACE;
		if (err && inside)
			regerror(err, &p->regex, why, sizeof(why));
		free(inside);
		if (err)
			return pugmark_diag_set(diag, -EINVAL, NULL, PUGMARK_NO_OFFSET,
						"'%s' is not a regular expression: %s", text, why);
		p->is_regex = true;
	}
	patterns->n++;
	return 0;
}

void patterns_deinit(struct patterns *patterns)
{
	for (uint32_t i = 0; i < patterns->n; i++)
		if (patterns->at[i].is_regex)
			regfree(&patterns->at[i].regex);
	free(patterns->at);
	*patterns = (struct patterns){0};
}

static bool matches(const struct pattern *p, const char *name)
{
	if (p->is_foreign)
		return glob_matches(p->text, name);
	return p->is_regex ? !regexec(&p->regex, name, 0, NULL, 0) : !fnmatch(p->text, name, 0);
}

int patterns_match(const struct patterns *patterns, const char *name, bool *seen)
{
	if (!patterns->n)
		return -1;
	bool mangled = !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2);
	char *plain = mangled ? pugmark_demangle(name) : NULL;
	int first = -1;
	for (uint32_t i = 0; i < patterns->n && (first < 0 || seen); i++) {
		const struct pattern *p = &patterns->at[i];
		if (!matches(p, name) && !(plain && matches(p, plain)))
			continue;
		if (first < 0)
			first = (int)i;
		if (seen)
			seen[i] = true;
	}
	free(plain);
	return first;
}

const char *patterns_text(const struct patterns *patterns, uint32_t index)
{
	return patterns->at[index].text;
}
