/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_watched.h: what `--watch` names, found in the symbols and the DWARF of what was traced:
 *
 *   watched = "0x" ADDRESS [":" LENGTH] | path | FUNCTION ":" path      (path: value_paths.h)
 *
 * Of a path that goes through pointers the first part is found, which is in a variable; where the
 * rest is depends on what the pointers are at a time. */
#ifndef USER_VALUE_WATCHED_H
#define USER_VALUE_WATCHED_H

#include "user/values/vars/value_locals.h"
#include "user/values/names/value_names.h"

enum value_watched_kind {
	WATCHED_MEMORY, /* at @at, run-time */
	WATCHED_THREAD, /* @at bytes from the thread pointer (FS base) of each thread */
	WATCHED_LOCAL,	/* @locals */
};

struct value_watched {
	enum value_watched_kind kind;
	uint64_t at, len;
	bool typed;		/* @part says of which type it is */
	struct value_part part; /* without its value; its offset is in @at already */
	struct value_walk rest; /* of the path, if @part is a pointer to go through */
	bool points;
	struct value_locals locals;
};

/* Returns 0 and what the caller gives to value_watched_deinit(), or -errno with @diag filled by
 * what was looked for, and what there is. Types are borrowed from @names. */
int value_watched_find(struct value_names *names, const char *text, struct value_watched *out,
		       struct pugmark_diag *diag);
void value_watched_deinit(struct value_watched *watched);
/* The next part of a path through pointers, which points() from where @watched is to *@off bytes
 * behind what the pointer holds. */
void value_watched_next(struct value_watched *watched, uint64_t *off);

#endif
