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

void out_printable(struct out *out, const char *text, enum printable_form form)
{
	char escape[PRINTABLE_ESCAPE_MAX];

	while (*text) {
		size_t n = printable_run(text, form);

		out_bytes(out, text, n);
		text += n;
		if (*text) {
			text += printable_escape(text, form, escape);
			out_text(out, escape);
		}
	}
}

void out_json_text(struct out *out, const char *text)
{
	out_printable(out, text, PRINT_JSON);
}

void out_safe_text(struct out *out, const char *text)
{
	out_printable(out, text, PRINT_TEXT);
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
