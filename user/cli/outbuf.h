/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* outbuf.h: buffered output for commands that print millions of lines: numbers and text go into one
 * large buffer, and from there to a FILE that keeps the error if there is one. */
#ifndef USER_OUTBUF_H
#define USER_OUTBUF_H

#include "user/cli/duration.h"
#include "user/cli/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { OUT_BYTES = 1 << 17, OUT_NUMBER_MAX = 20 };

struct outbuf {
	FILE *file; /* borrowed */
	char *at;   /* where the next byte goes */
	bool failed;
	struct outbuf_fit {
		unsigned width;	 /* columns; 0: lines are as long as they are */
		unsigned column; /* of the line so far */
		bool escape;	 /* within an escape sequence */
		unsigned n_held; /* the line's last column waits: is there more, it is cut there */
		char held[8];
	} fit;
	char buf[OUT_BYTES];
};

void outbuf_init(struct outbuf *out, FILE *file);
/* From now on a line that is longer than @width columns ends in "…" (0: none is cut). Colours take
 * no column, each other character takes one. */
void outbuf_fit(struct outbuf *out, unsigned width);
/* Hands the buffer on. Returns false where the file did not take it, now or earlier. */
bool outbuf_flush(struct outbuf *out);
/* Why standard output did not take a buffer, as errno says; 0: it has taken all. */
int outbuf_stdout_error(void);
/* Text of any length. */
void outbuf_bytes(struct outbuf *out, const char *text, size_t len);
/* @text as @form of user/cli/printable.h, but PRINT_SHELL. */
void out_printable(struct outbuf *out, const char *text, enum printable_form form);
/* PRINT_JSON: the inside of a string. */
void outbuf_json_text(struct outbuf *out, const char *text);
/* PRINT_TEXT. */
void outbuf_safe_text(struct outbuf *out, const char *text);
/* Like printf; for what is printed rarely. */
void outbuf_format(struct outbuf *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* @n spaces. */
void outbuf_spaces(struct outbuf *out, unsigned n);
/* As duration.h writes them. Return how many bytes. */
unsigned outbuf_duration(struct outbuf *out, uint64_t ns);
unsigned outbuf_bounds(struct outbuf *out, struct time_bounds t);

/* Makes room for @len bytes, at most OUT_BYTES. */
static inline void outbuf_room(struct outbuf *out, size_t len)
{
	if ((size_t)(out->buf + OUT_BYTES - out->at) < len)
		outbuf_flush(out);
}

/* Where outbuf_room() has made room for it. */
static inline void outbuf_append(struct outbuf *out, const char *text, size_t len)
{
	memcpy(out->at, text, len);
	out->at += len;
}

static inline void outbuf_char(struct outbuf *out, char c)
{
	outbuf_room(out, 1);
	*out->at++ = c;
}

/* A short text: its length is known where it is a literal. */
static inline void outbuf_text(struct outbuf *out, const char *text)
{
	size_t len = strlen(text);

	if (len > 256) {
		outbuf_bytes(out, text, len);
		return;
	}
	outbuf_room(out, len);
	outbuf_append(out, text, len);
}

/* Members of JSON: @before is the comma, if there is one before it, and the name with its colon.
 * @text as a string, or null; @value as a number, or as hexadecimal digits in a string. */
static inline void outbuf_json(struct outbuf *out, const char *before, const char *text)
{
	outbuf_text(out, before);
	if (!text) {
		outbuf_text(out, "null");
		return;
	}
	outbuf_char(out, '"');
	outbuf_json_text(out, text);
	outbuf_char(out, '"');
}

static inline void outbuf_dec(struct outbuf *out, uint64_t value)
{
	char digits[OUT_NUMBER_MAX], *p = digits + sizeof(digits);

	outbuf_room(out, OUT_NUMBER_MAX);
	for (; value >= 100; value /= 100) {
		unsigned low = value % 100;
		*--p = '0' + low % 10;
		*--p = '0' + low / 10;
	}
	do
		*--p = '0' + value % 10;
	while (value /= 10);
	outbuf_append(out, p, digits + sizeof(digits) - p);
}

static inline void outbuf_hex(struct outbuf *out, uint64_t value)
{
	unsigned digits = value ? (67 - __builtin_clzll(value)) / 4 : 1;

	outbuf_room(out, OUT_NUMBER_MAX);
	for (unsigned i = digits; i-- > 0; value >>= 4)
		out->at[i] = "0123456789abcdef"[value & 15];
	out->at += digits;
}

static inline void outbuf_json_dec(struct outbuf *out, const char *before, uint64_t value)
{
	outbuf_text(out, before);
	outbuf_dec(out, value);
}

static inline void outbuf_json_hex(struct outbuf *out, const char *before, uint64_t value)
{
	outbuf_text(out, before);
	outbuf_char(out, '"');
	outbuf_hex(out, value);
	outbuf_char(out, '"');
}

#endif
