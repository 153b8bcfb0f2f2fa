// SPDX-License-Identifier: LGPL-2.1-or-later
/* outbuf.c: see outbuf.h; here is what need not be inline. */
#include "user/cli/outbuf.h"

#include <errno.h>
#include <stdarg.h>

static int stdout_error; /* of the first write to it that failed */

int outbuf_stdout_error(void)
{
	return stdout_error;
}

void outbuf_init(struct outbuf *out, FILE *file)
{
	out->file = file;
	out->at = out->buf;
	out->failed = false;
}

bool outbuf_flush(struct outbuf *out)
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

void outbuf_bytes(struct outbuf *out, const char *text, size_t len)
{
	while (len) {
		size_t n = len < 4096 ? len : 4096;

		outbuf_room(out, n);
		memcpy(out->at, text, n);
		out->at += n;
		text += n;
		len -= n;
	}
}

void out_printable(struct outbuf *out, const char *text, enum printable_form form)
{
	char escape[PRINTABLE_ESCAPE_MAX];

	while (*text) {
		size_t n = printable_run(text, form);

		outbuf_bytes(out, text, n);
		text += n;
		if (*text) {
			text += printable_escape(text, form, escape);
			outbuf_text(out, escape);
		}
	}
}

void outbuf_json_text(struct outbuf *out, const char *text)
{
	out_printable(out, text, PRINT_JSON);
}

void outbuf_safe_text(struct outbuf *out, const char *text)
{
	out_printable(out, text, PRINT_TEXT);
}

void outbuf_format(struct outbuf *out, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	int len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len > 0)
		outbuf_bytes(out, text,
			     (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

void outbuf_spaces(struct outbuf *out, unsigned n)
{
	while (n) {
		unsigned k = n < 256 ? n : 256;

		outbuf_room(out, k);
		memset(out->at, ' ', k);
		out->at += k;
		n -= k;
	}
}

unsigned outbuf_duration(struct outbuf *out, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};
	unsigned u = 0;

	outbuf_room(out, 32);
	char *start = out->at;
	while (u < 3 && ns < units[u].ns)
		u++;
	if (u == 3) {
		outbuf_dec(out, ns);
		outbuf_text(out, "ns");
		return out->at - start;
	}
	/* Four digits, cut and not rounded: "9.999ms" never becomes "10.00ms". */
	uint64_t whole = ns / units[u].ns, part = ns % units[u].ns * 1000 / units[u].ns;
	unsigned places = whole < 10 ? 3 : whole < 100 ? 2 : whole < 1000 ? 1 : 0;
	outbuf_dec(out, whole);
	if (places) {
		for (unsigned i = places; i < 3; i++)
			part /= 10;
		outbuf_char(out, '.');
		for (uint64_t unit = places == 3 ? 100 : places == 2 ? 10 : 1; unit; unit /= 10)
			outbuf_char(out, '0' + part / unit % 10);
	}
	outbuf_text(out, units[u].name);
	return out->at - start;
}
