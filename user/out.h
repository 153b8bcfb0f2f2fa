/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* out.h: buffered output for commands that print millions of lines: numbers and text go into one
 * large buffer, and from there to a FILE that keeps the error if there is one. */
#ifndef USER_OUT_H
#define USER_OUT_H

#include "user/cli/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { OUT_BYTES = 1 << 17, OUT_NUMBER_MAX = 20 };

struct out {
	FILE *file; /* borrowed */
	char *at;   /* where the next byte goes */
	bool failed;
	char buf[OUT_BYTES];
};

void out_init(struct out *out, FILE *file);
/* Hands the buffer on. Returns false where the file did not take it, now or earlier. */
bool out_flush(struct out *out);
/* Why standard output did not take a buffer, as errno says; 0: it has taken all. */
int out_stdout_error(void);
/* Text of any length. */
void out_bytes(struct out *out, const char *text, size_t len);
/* @text as @form of user/cli/printable.h, but PRINT_SHELL. */
void out_printable(struct out *out, const char *text, enum printable_form form);
/* PRINT_JSON: the inside of a string. */
void out_json_text(struct out *out, const char *text);
/* PRINT_TEXT. */
void out_safe_text(struct out *out, const char *text);
/* Like printf; for what is printed rarely. */
void out_format(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* @n spaces. */
void out_spaces(struct out *out, unsigned n);
/* @ns in a unit that fits it, four digits: "0ns", "12.34us", "1.500s". Returns how many bytes. */
unsigned out_duration(struct out *out, uint64_t ns);

/* Makes room for @len bytes, at most OUT_BYTES. */
static inline void out_room(struct out *out, size_t len)
{
	if ((size_t)(out->buf + OUT_BYTES - out->at) < len)
		out_flush(out);
}

/* Where out_room() has made room for it. */
static inline void out_append(struct out *out, const char *text, size_t len)
{
	memcpy(out->at, text, len);
	out->at += len;
}

static inline void out_char(struct out *out, char c)
{
	out_room(out, 1);
	*out->at++ = c;
}

/* A short text: its length is known where it is a literal. */
static inline void out_text(struct out *out, const char *text)
{
	size_t len = strlen(text);

	if (len > 256) {
		out_bytes(out, text, len);
		return;
	}
	out_room(out, len);
	out_append(out, text, len);
}

static inline void out_dec(struct out *out, uint64_t value)
{
	char digits[OUT_NUMBER_MAX], *p = digits + sizeof(digits);

	out_room(out, OUT_NUMBER_MAX);
	for (; value >= 100; value /= 100) {
		unsigned low = value % 100;
		*--p = '0' + low % 10;
		*--p = '0' + low / 10;
	}
	do
		*--p = '0' + value % 10;
	while (value /= 10);
	out_append(out, p, digits + sizeof(digits) - p);
}

static inline void out_hex(struct out *out, uint64_t value)
{
	unsigned digits = value ? (67 - __builtin_clzll(value)) / 4 : 1;

	out_room(out, OUT_NUMBER_MAX);
	for (unsigned i = digits; i-- > 0; value >>= 4)
		out->at[i] = "0123456789abcdef"[value & 15];
	out->at += digits;
}

#endif
