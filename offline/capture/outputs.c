// SPDX-License-Identifier: LGPL-2.1-or-later
/* outputs.c: see outputs.h for the grammar. */
#include "offline/capture/outputs.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { STRING_MAX = 65536, U32_MAX = 65536 };

static bool take(const char **at, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*at, word, len) != 0)
		return false;
	*at += len;
	return true;
}

static bool take_number(const char **at, uint32_t *out)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	unsigned long v = strtoul(*at, &end, 0);
	if (v > UINT32_MAX)
		return false;
	*out = v;
	*at = end;
	return true;
}

/* "argN" or "result". */
static bool take_value(const char **at, uint8_t *out)
{
	if (take(at, "result")) {
		*out = VALUE_RESULT;
		return true;
	}
	if (!take(at, "arg") || **at < '0' || **at > '5')
		return false;
	*out = VALUE_ARG0 + (**at - '0');
	++*at;
	return true;
}

static bool take_symbol(const char **at, char *out, size_t size)
{
	size_t n = strcspn(*at, ":+");

	if (!n || n >= size)
		return false;
	memcpy(out, *at, n);
	out[n] = 0;
	*at += n;
	return true;
}

static bool take_product(const char **at, struct capture_output *o)
{
	uint8_t *free_place[] = {&o->a, &o->b};
	uint32_t n = 0, number;

	o->length = LENGTH_PRODUCT;
	o->a = o->b = VALUE_ONE;
	o->k = 1;
	do {
		if (take_number(at, &number))
			o->k *= number;
		else if (n == 2 || !take_value(at, free_place[n++]))
			return false;
	} while (take(at, "x"));
	return !take(at, "+") || take_number(at, &o->c);
}

static bool take_length(const char **at, struct capture_output *o)
{
	if (take(at, "string")) {
		o->length = LENGTH_STRING;
		o->k = STRING_MAX;
		return true;
	}
	if (take(at, "u32@")) {
		o->length = LENGTH_U32;
		o->k = U32_MAX;
		return take_value(at, &o->a);
	}
	if (take(at, "iovec@")) {
		o->length = LENGTH_IOVEC;
		return take_value(at, &o->a);
	}
	if (take(at, "msghdr")) {
		o->length = LENGTH_MSGHDR;
		return true;
	}
	if (take(at, "file")) {
		o->length = LENGTH_FILE;
		return true;
	}
	return take_product(at, o);
}

static bool take_output(const char **at, struct output_word *w)
{
	uint32_t addend;

	*w = (struct output_word){0};
	while (take(at, "*"))
		w->output.loads++;
	if (take(at, "@")) {
		w->output.base = VALUE_SYMBOL;
		if (!take_symbol(at, w->symbol, sizeof(w->symbol)))
			return false;
	} else if (!take_value(at, &w->output.base)) {
		return false;
	}
	if (take(at, "+")) {
		if (!take_number(at, &addend))
			return false;
		w->output.addend = addend;
	}
	return w->output.loads <= 3 && take(at, ":") && take_length(at, &w->output) &&
	       (!**at || **at == ' ');
}

int outputs_read(const char *text, struct output_word out[CAPTURE_MAX_OUTPUTS], const char **bad)
{
	int n = 0;

	for (;;) {
		text += strspn(text, " ");
		*bad = text;
		if (!*text)
			return n;
		if (n == CAPTURE_MAX_OUTPUTS || !take_output(&text, &out[n++]))
			return -EINVAL;
	}
}
