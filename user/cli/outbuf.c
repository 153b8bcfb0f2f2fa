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
	out->fit = (struct outbuf_fit){0};
}

void outbuf_fit(struct outbuf *out, unsigned width)
{
	out->fit.width = width;
}

static void put_held(struct outbuf_fit *fit, FILE *file)
{
	fwrite_unlocked(fit->held, 1, fit->n_held, file);
	fit->n_held = 0;
}

/* One byte of a line that may have to be cut. */
static void put_fitted(struct outbuf_fit *fit, char c, FILE *file)
{
	bool goes_on = ((unsigned char)c & 0xc0) == 0x80; /* in UTF-8, a character */
	if (c == '\n') {
		put_held(fit, file);
		fit->column = 0;
	} else if (c == '\033' || fit->escape) {
		fit->escape = c == '\033' || c == '[' || c == ';' || (c >= '0' && c <= '9');
		putc_unlocked(c, file);
		return;
	} else if (!goes_on) {
		fit->column++;
	}
	if (fit->column < fit->width) {
		putc_unlocked(c, file);
	} else if (fit->column == fit->width && fit->n_held < sizeof(fit->held)) {
		fit->held[fit->n_held++] = c;
	} else if (fit->n_held) {
		fit->n_held = 0;
		fputs_unlocked("…", file);
	}
}

/* False: not all of it was taken. */
static bool hand_on(struct outbuf *out, size_t len)
{
	if (!out->fit.width)
		return fwrite(out->buf, 1, len, out->file) == len;
	for (size_t i = 0; i < len; i++)
		put_fitted(&out->fit, out->buf[i], out->file);
	return !ferror(out->file);
}

bool outbuf_flush(struct outbuf *out)
{
	size_t len = out->at - out->buf;

	if (len && !hand_on(out, len)) {
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
	outbuf_room(out, DURATION_TEXT);
	unsigned len = duration_text(out->at, ns);
	out->at += len;
	return len;
}

unsigned outbuf_bounds(struct outbuf *out, struct time_bounds t)
{
	outbuf_room(out, TIME_BOUNDS_TEXT);
	unsigned len = time_bounds_text(out->at, t);
	out->at += len;
	return len;
}
