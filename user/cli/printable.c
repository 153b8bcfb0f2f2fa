// SPDX-License-Identifier: LGPL-2.1-or-later
/* printable.c: see printable.h. Which characters are escaped is a table; how is a function a form.
 */
#include "user/cli/printable.h"

#include <stdlib.h>
#include <string.h>

struct span {
	uint32_t first, last;
};

/* The Unicode Character Database's Bidi_Control, Default_Ignorable_Code_Point (those that hide and
 * do not shape), line breaks, and controls. By first. */
static const struct span escaped[] = {
	{0x00, 0x1f},	  {0x7f, 0x9f},	    {0xad, 0xad},	{0x61c, 0x61c},
	{0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},	{0x2060, 0x206f},
	{0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

/* The character at @s and in *@len its bytes; UINT32_MAX and 1: there is none. */
static uint32_t decode(const unsigned char *s, unsigned *len)
{
	unsigned n = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 : 4;
	uint32_t c = n == 1 ? *s : *s & (0x7f >> n);

	*len = 1;
	if ((*s >= 0x80 && *s < 0xc2) || *s > 0xf4)
		return UINT32_MAX;
	for (unsigned i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return UINT32_MAX;
		c = c << 6 | (s[i] & 0x3f);
	}
	bool overlong = (n == 3 && c < 0x800) || (n == 4 && c < 0x10000);
	if (overlong || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		return UINT32_MAX;
	*len = n;
	return c;
}

static bool is_escaped(uint32_t c)
{
	for (size_t i = 0; i < sizeof(escaped) / sizeof(*escaped) && escaped[i].first <= c; i++)
		if (c <= escaped[i].last)
			return true;
	return c == UINT32_MAX;
}

/* What has a meaning in @form. */
static const char *special(enum printable_form form)
{
	return form == PRINT_XML ? "<>&\"'" : form == PRINT_JSON || form == PRINT_DOT ? "\"\\" : "";
}

size_t printable_run(const char *text, enum printable_form form)
{
	const unsigned char *s = (const unsigned char *)text;
	const char *meant = special(form);
	unsigned len;

	for (; *s; s += len) {
		len = 1;
		if (*s >= 0x20 && *s < 0x7f) {
			if (*s == ' ' && form == PRINT_WORD)
				break;
			if (*meant && strchr(meant, *s))
				break;
			continue;
		}
		if (is_escaped(decode(s, &len)))
			break;
	}
	return s - (const unsigned char *)text;
}

static void escape_text(const unsigned char *s, uint32_t c, char *out)
{
	if (c < 0x80 || c == UINT32_MAX)
		snprintf(out, PRINTABLE_ESCAPE_MAX, "\\x%02x", *s);
	else
		snprintf(out, PRINTABLE_ESCAPE_MAX, "\\u{%x}", c);
}

static void escape_json(const unsigned char *s, uint32_t c, char *out)
{
	if (c == '"' || c == '\\')
		snprintf(out, PRINTABLE_ESCAPE_MAX, "\\%c", *s);
	else if (c == UINT32_MAX)
		snprintf(out, PRINTABLE_ESCAPE_MAX, "\\ufffd");
	else if (c < 0x10000)
		snprintf(out, PRINTABLE_ESCAPE_MAX, "\\u%04x", c);
	else
		snprintf(out, PRINTABLE_ESCAPE_MAX, "\\u%04x\\u%04x",
			 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + ((c - 0x10000) & 0x3ff));
}

static void escape_xml(const unsigned char *s, uint32_t c, char *out)
{
	if (c < 0x80 && strchr(special(PRINT_XML), *s))
		snprintf(out, PRINTABLE_ESCAPE_MAX, "%s",
			 c == '<'   ? "&lt;"
			 : c == '>' ? "&gt;"
			 : c == '&' ? "&amp;"
			 : c == '"' ? "&quot;"
				    : "&#39;");
	else
		escape_text(s, c, out); /* a reference would do what the character does */
}

static void escape_dot(const unsigned char *s, uint32_t c, char *out)
{
	if (c == '"' || c == '\\') {
		snprintf(out, PRINTABLE_ESCAPE_MAX, "\\%c", *s);
		return;
	}
	*out = '\\';
	escape_text(s, c, out + 1);
}

size_t printable_escape(const char *text, enum printable_form form, char out[PRINTABLE_ESCAPE_MAX])
{
	static void (*const escapes[])(const unsigned char *, uint32_t, char *) = {
		[PRINT_TEXT] = escape_text, [PRINT_WORD] = escape_text, [PRINT_JSON] = escape_json,
		[PRINT_XML] = escape_xml,   [PRINT_DOT] = escape_dot,
	};
	unsigned len;
	uint32_t c = decode((const unsigned char *)text, &len);

	escapes[form]((const unsigned char *)text, c, out);
	return len;
}

/* A word for a shell. \xNN is of bytes there: a character that is escaped is all of its bytes. */
static void print_word(FILE *file, const char *text)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789_-+=:,./@%";

	if (*text && !text[strspn(text, safe)]) {
		fputs(text, file);
		return;
	}
	bool plain = !text[printable_run(text, PRINT_SHELL)];
	fputs(plain ? "'" : "$'", file);
	while (*text) {
		size_t n = printable_run(text, PRINT_SHELL);
		for (; n; n--, text++)
			if (plain && *text == '\'')
				fputs("'\\''", file);
			else
				fprintf(file, !plain && strchr("'\\", *text) ? "\\%c" : "%c",
					*text);
		unsigned len;
		if (*text)
			for (decode((const unsigned char *)text, &len); len; len--)
				fprintf(file, "\\x%02x", (unsigned char)*text++);
	}
	fputc('\'', file);
}

void printable_print(FILE *file, const char *text, enum printable_form form)
{
	char escape[PRINTABLE_ESCAPE_MAX];

	if (form == PRINT_SHELL) {
		print_word(file, text);
		return;
	}
	while (*text) {
		size_t n = printable_run(text, form);
		fwrite(text, 1, n, file);
		text += n;
		if (*text) {
			text += printable_escape(text, form, escape);
			fputs(escape, file);
		}
	}
}

void printable_json(FILE *file, const char *text)
{
	if (!text) {
		fputs("null", file);
		return;
	}
	putc('"', file);
	printable_print(file, text, PRINT_JSON);
	putc('"', file);
}

void printable_copy(char *out, size_t room, const char *text, enum printable_form form)
{
	char escape[PRINTABLE_ESCAPE_MAX];

	while (*text) {
		size_t n = printable_run(text, form), fits = n < room ? n : room - 1;
		while (fits && fits < n && (text[fits] & 0xc0) == 0x80)
			fits--;
		memcpy(out, text, fits);
		out += fits;
		room -= fits;
		text += n;
		if (!*text || fits < n)
			break;
		text += printable_escape(text, form, escape);
		if (strlen(escape) >= room)
			break;
		out = stpcpy(out, escape);
		room -= strlen(escape);
	}
	*out = 0;
}

char *printable_dup(const char *text, enum printable_form form)
{
	char *copy = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&copy, &len);

	if (!f)
		return NULL;
	printable_print(f, text, form);
	if (fclose(f)) {
		free(copy);
		return NULL;
	}
	return copy;
}
