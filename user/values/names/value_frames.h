/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_frames.h: what an instruction's function was inlined into, as text and as JSON. */
#ifndef USER_VALUE_FRAMES_H
#define USER_VALUE_FRAMES_H

#include "user/cli/printable.h"
#include "user/values/names/value_names.h"

/* Of @n frames, as value_names_frames() has them: "inlined at a.c:3 in f(), at b.c:7 in main()", of
 * at most @most calls; nothing where nothing was inlined. */
void value_frames_print(FILE *out, const struct value_frame *frames, uint32_t n, uint32_t most,
			enum printable_form form);
/* A list of all frames but the first. */
void value_frames_json(FILE *out, const struct value_frame *frames, uint32_t n);
/* Whether two instructions of one line are of the same calls. The name of the real function is no
 * part of that: compilers split functions, and make them again. As strcmp(). */
int value_frames_compare(const struct value_frame *a, uint32_t n_a, const struct value_frame *b,
			 uint32_t n_b);

#endif
