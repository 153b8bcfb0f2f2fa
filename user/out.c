// SPDX-License-Identifier: LGPL-2.1-or-later
/* out.c: see out.h; here is what need not be inline. */
#include "user/out.h"

#include <errno.h>
#include <stdarg.h>

static int stdout_error; /* of the first write to it that failed */

int out_stdout_error(void)
{
	return stdout_error;
}

void out_init(struct out *out, FILE *file)
{
	out->file = file;
	out->at = out->buf;
	out->failed = false;
}

bool out_flush(struct out *out)
{
	size_t len = out->at - out->buf;

	if (len && fwrite(out->buf, 1, len, out->file) != len) {
		out->failed = true;
		if (out->file == stdout && !stdout_error)
			stdout_error = errno;
	}
	out->at = out->buf;
	return !out->failed;
}

void out_bytes(struct out *out, const char *text, size_t len)
{
	while (len) {
		size_t n = len < 4096 ? len : 4096;

		out_room(out, n);
		memcpy(out->at, text, n);
		out->at += n;
		text += n;
		len -= n;
	}
}

/* The length of the UTF-8 character at @s, 0 where there is none. */
static unsigned utf8_length(const unsigned char *s)
{
	unsigned n = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 : 4;

	if ((*s >= 0x80 && *s < 0xc2) || *s > 0xf4)
		return 0;
	for (unsigned i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	bool overlong = (*s == 0xe0 && s[1] < 0xa0) || (*s == 0xf0 && s[1] < 0x90);
	bool surrogate = *s == 0xed && s[1] > 0x9f;
	bool beyond = *s == 0xf4 && s[1] > 0x8f;

	return overlong || surrogate || beyond ? 0 : n;
}

void out_json_text(struct out *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	for (;;) {
		const unsigned char *plain = s;

		while (*s >= 0x20 && *s < 0x7f && *s != '"' && *s != '\\')
			s++;
		out_bytes(out, (const char *)plain, s - plain);
		if (!*s)
			return;
		unsigned n = utf8_length(s);

		if (*s == '"' || *s == '\\') {
			out_char(out, '\\');
			out_char(out, (char)*s++);
		} else if (*s < 0x20 || *s == 0x7f) {
			out_format(out, "\\u%04x", *s++);
		} else if (!n) {
			out_text(out, "\xef\xbf\xbd");
			s++;
		} else {
			out_bytes(out, (const char *)s, n);
			s += n;
		}
	}
}

void out_safe_text(struct out *out, const char *text)
{
	for (const unsigned char *s = (const unsigned char *)text; *s; s++)
		if (*s < 0x20 || *s == 0x7f)
			out_format(out, "\\x%02x", *s);
		else
			out_char(out, (char)*s);
}

void out_format(struct out *out, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	int len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len > 0)
		out_bytes(out, text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

void out_spaces(struct out *out, unsigned n)
{
	while (n) {
		unsigned k = n < 256 ? n : 256;

		out_room(out, k);
		memset(out->at, ' ', k);
		out->at += k;
		n -= k;
	}
}

unsigned out_duration(struct out *out, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};
	unsigned u = 0;

	out_room(out, 32);
	char *start = out->at;
	while (u < 3 && ns < units[u].ns)
		u++;
	if (u == 3) {
		out_dec(out, ns);
		out_text(out, "ns");
		return out->at - start;
	}
	/* Four digits, cut and not rounded: "9.999ms" never becomes "10.00ms". */
	uint64_t whole = ns / units[u].ns, part = ns % units[u].ns * 1000 / units[u].ns;
	unsigned places = whole < 10 ? 3 : whole < 100 ? 2 : whole < 1000 ? 1 : 0;
	out_dec(out, whole);
	if (places) {
		for (unsigned i = places; i < 3; i++)
			part /= 10;
		out_char(out, '.');
		for (uint64_t unit = places == 3 ? 100 : places == 2 ? 10 : 1; unit; unit /= 10)
			out_char(out, '0' + part / unit % 10);
	}
	out_text(out, units[u].name);
	return out->at - start;
}
