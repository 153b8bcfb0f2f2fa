// SPDX-License-Identifier: LGPL-2.1-or-later
/* outcome.c: see outcome.h. */
#include "user/again/outcome.h"

#include "offline/base/open_regular.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum what { EXIT_STATUS, CRASH, OUT, ERR };

struct condition {
	enum what what;
	bool not, match; /* by the expression, else by the bytes */
	int status;
	regex_t regex;
	char *text;  /* as it was asked for */
	size_t file; /* where in it a file is named; 0: none is */
	uint8_t *bytes;
	size_t len;
};

struct outcome {
	struct condition *at;
	size_t n;
};

int outcome_new(struct outcome **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void outcome_free(struct outcome *o)
{
	for (size_t i = 0; o && i < o->n; i++) {
		if (o->at[i].match)
			regfree(&o->at[i].regex);
		free(o->at[i].bytes);
		free(o->at[i].text);
	}
	if (o)
		free(o->at);
	free(o);
}

bool outcome_any(const struct outcome *o)
{
	return o->n;
}

/* --- what is asked for ----------------------------------------------------------------------- */

/* All that the descriptor has, with a 0 behind; NULL: it cannot be read. */
static uint8_t *read_all(int fd, size_t *len)
{
	struct stat st;
	if (fstat(fd, &st))
		return NULL;
	uint8_t *bytes = malloc(st.st_size + 1);
	ssize_t n = bytes ? pread(fd, bytes, st.st_size, 0) : -1;
	if (n < 0) {
		free(bytes);
		return NULL;
	}
	bytes[n] = 0;
	*len = n;
	return bytes;
}

static int take_value(struct condition *c, const char *value, struct pugmark_diag *diag)
{
	char *end, said[128];
	if (c->what == EXIT_STATUS) {
		c->status = (int)strtol(value, &end, 10);
		return *end || end == value ? -EINVAL : 0;
	}
	if (c->match) {
		int bad = regcomp(&c->regex, value, REG_EXTENDED | REG_NOSUB | REG_NEWLINE);
		if (!bad)
			return 0;
		regerror(bad, &c->regex, said, sizeof(said));
		c->match = false;
		return pugmark_diag_set(diag, -EINVAL, value, PUGMARK_NO_OFFSET, "%s", said);
	}
	int fd = open_regular(value, NULL);
	c->bytes = fd >= 0 ? read_all(fd, &c->len) : NULL;
	if (fd >= 0)
		close(fd);
	return c->bytes ? 0
			: pugmark_diag_set(diag, fd < 0 ? fd : -EIO, value, PUGMARK_NO_OFFSET,
					   "cannot be read: %s", open_regular_why(fd));
}

/* "exit != 3": the word, then the sign, then the value. */
static int parse(struct condition *c, const char *text, struct pugmark_diag *diag)
{
	static const char *const words[] = {"exit", "crash", "stdout", "stderr"};
	size_t word = 0;
	while (word < 4 && strncmp(text, words[word], strlen(words[word])) != 0)
		word++;
	if (word == 4)
		return -EINVAL;
	c->what = (enum what)word;
	text += strlen(words[word]);
	while (isspace((unsigned char)*text))
		text++;
	if (c->what == CRASH)
		return *text ? -EINVAL : 0;
	if (*text == '!') {
		c->not = true;
		text++;
	}
	if (*text != '=' && (*text != '~' || c->what == EXIT_STATUS))
		return -EINVAL;
	c->match = *text++ == '~';
	while (isspace((unsigned char)*text))
		text++;
	return take_value(c, text, diag);
}

int outcome_add(struct outcome *o, const char *text, struct pugmark_diag *diag)
{
	struct condition *at = realloc(o->at, (o->n + 1) * sizeof(*at));
	if (!at)
		return pugmark_diag_set(diag, -ENOMEM, text, PUGMARK_NO_OFFSET, "out of memory");
	o->at = at;
	at[o->n] = (struct condition){0};
	bool not = !strncmp(text, "not ", 4);
	diag->text[0] = 0;
	int err = parse(&at[o->n], text + 4 * not, diag);
	if (err)
		return diag->text[0] ? err
				     : pugmark_diag_set(diag, err, text, PUGMARK_NO_OFFSET,
							"no condition: exit = N, stdout ~ REGEX, "
							"stdout = FILE, stderr ..., crash; != and "
							"!~, and not before them");
	at[o->n].not ^= not ;
	at[o->n].text = strdup(text);
	if (at[o->n].bytes) {
		at[o->n].file = strcspn(text, "=") + 1;
		at[o->n].file += strspn(text + at[o->n].file, " \t\n\v\f\r");
	}
	o->n++; /* with what it holds */
	return at[o->n - 1].text
		       ? 0
		       : pugmark_diag_set(diag, -ENOMEM, text, PUGMARK_NO_OFFSET, "out of memory");
}

size_t outcome_count(const struct outcome *o)
{
	return o->n;
}

const char *outcome_text(const struct outcome *o, size_t i, const char **file)
{
	*file = o->at[i].file ? o->at[i].text + o->at[i].file : NULL;
	return o->at[i].text;
}

/* --- what was -------------------------------------------------------------------------------- */

static bool printed(const struct condition *c, int fd)
{
	size_t len = 0;
	uint8_t *bytes = read_all(fd, &len);
	bool yes = bytes && (c->match ? !regexec(&c->regex, (char *)bytes, 0, NULL, 0)
				      : len == c->len && !memcmp(bytes, c->bytes, len));
	free(bytes);
	return yes;
}

/* How many bytes are right, and (@len) how many there are. */
static bool compare(const struct outcome *o, const struct private_run *run, uint64_t *right,
		    size_t *length)
{
	for (size_t i = 0; i < o->n; i++) {
		const struct condition *c = &o->at[i];
		size_t len = 0, at = 0;
		uint8_t *bytes;
		if (c->what != OUT || c->match || c->not || !(bytes = read_all(run->out, &len)))
			continue;
		while (at < len && at < c->len && bytes[at] == c->bytes[at])
			at++;
		free(bytes);
		*right = at;
		*length = len;
		return true;
	}
	return false;
}

bool outcome_wrong_at(const struct outcome *o, const struct private_run *run, uint64_t *offset)
{
	size_t len;
	return compare(o, run, offset, &len) && *offset < len;
}

bool outcome_right(const struct outcome *o, const struct private_run *run, uint64_t *bytes)
{
	size_t len;
	return compare(o, run, bytes, &len);
}

bool outcome_holds(const struct outcome *o, const struct private_run *run,
		   const struct private_result *r)
{
	if (r->end == PRIVATE_TOO_LONG || r->end == PRIVATE_FAILED)
		return false;
	for (size_t i = 0; i < o->n; i++) {
		const struct condition *c = &o->at[i];
		bool yes = false;
		switch (c->what) {
		case EXIT_STATUS:
			yes = WIFEXITED(r->status) && WEXITSTATUS(r->status) == c->status;
			break;
		case CRASH:
			yes = WIFSIGNALED(r->status);
			break;
		case OUT:
		case ERR:
			yes = printed(c, c->what == OUT ? run->out : run->err);
			break;
		}
		if (yes == c->not )
			return false;
	}
	return true;
}

bool outcome_may(const struct outcome *o, const struct private_run *run)
{
	for (size_t i = 0; i < o->n; i++) {
		const struct condition *c = &o->at[i];
		size_t len = 0;
		if ((c->what != OUT && c->what != ERR) || c->match || c->not )
			continue;
		uint8_t *bytes = read_all(c->what == OUT ? run->out : run->err, &len);
		bool begins = bytes && len <= c->len && !memcmp(bytes, c->bytes, len);
		free(bytes);
		if (!begins)
			return false;
	}
	return true;
}
