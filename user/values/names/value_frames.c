// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_frames.c: see value_frames.h. */
#include "user/values/names/value_frames.h"

#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

void value_frames_print(FILE *out, const struct value_frame *frames, uint32_t n, uint32_t most,
			enum printable_form form)
{
	for (uint32_t i = 1; i < n; i++) {
		if (i > most) {
			fprintf(out, ", and %u more", n - i);
			return;
		}
		fputs(i == 1 ? "inlined at " : ", at ", out);
		printable_print(out, frames[i].file ? base_name(frames[i].file) : "?", form);
		fprintf(out, ":%u in ", frames[i].line);
		printable_print(out, frames[i].function ? frames[i].function : "?", form);
		fputs("()", out);
	}
}

void value_frames_json(FILE *out, const struct value_frame *frames, uint32_t n)
{
	fputc('[', out);
	for (uint32_t i = 1; i < n; i++) {
		fputs(i > 1 ? ",{\"function\":" : "{\"function\":", out);
		printable_json(out, frames[i].function);
		fputs(",\"file\":", out);
		printable_json(out, frames[i].file);
		fprintf(out, ",\"line\":%u}", frames[i].line);
	}
	fputc(']', out);
}

static int compare_texts(const char *a, const char *b)
{
	if (!a || !b)
		return !!a - !!b;
	return strcmp(a, b);
}

int value_frames_compare(const struct value_frame *a, uint32_t n_a, const struct value_frame *b,
			 uint32_t n_b)
{
	if (n_a != n_b)
		return n_a < n_b ? -1 : 1;
	for (uint32_t i = 0; i + 1 < n_a; i++) {
		int calls = compare_texts(a[i].function, b[i].function);
		calls = calls ? calls : compare_texts(a[i + 1].file, b[i + 1].file);
		if (calls)
			return calls;
		if (a[i + 1].line != b[i + 1].line)
			return a[i + 1].line < b[i + 1].line ? -1 : 1;
	}
	return 0;
}
