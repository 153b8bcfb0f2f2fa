/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* printable.h: the one way by which names are printed. Names of files, functions, processes and
 * arguments are whatever their owner chose: bytes that move a terminal's cursor, that turn the
 * direction of writing, or that are no text at all. What is printed of them shows itself, stays on
 * its line, and is what it looks like.
 *
 * Escaped: C0, DEL and C1 controls; what turns or hides text (bidirectional marks and overrides,
 * zero-width and invisible characters, line and paragraph separators, tags); bytes that are not
 * UTF-8. All other UTF-8 passes. */
#ifndef USER_CLI_PRINTABLE_H
#define USER_CLI_PRINTABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum printable_form {
	PRINT_TEXT,  /* \x1b, a byte; \u{202e}, a character */
	PRINT_WORD,  /* the same, and a space is \x20: one field of a line */
	PRINT_JSON,  /* the inside of a string: \u202e; a byte that is not UTF-8 is \ufffd */
	PRINT_XML,   /* XML and HTML, text or quoted value: &lt; &#x202e; what XML cannot say is
		      * as in PRINT_TEXT */
	PRINT_DOT,   /* the inside of a quoted string of Graphviz: as PRINT_TEXT, with \" and \\ */
	PRINT_SHELL, /* a word to paste into a shell: as it is where that is safe, 'quoted', or
		      * $'\x1b' where there is something to escape */
};

/* How much of @text, which ends with a NUL, passes in @form as it is. */
size_t printable_run(const char *text, enum printable_form form);
enum { PRINTABLE_ESCAPE_MAX = 24 };
/* What stands for the first character of @text, which does not pass: *@out, with a NUL. Returns how
 * many bytes of @text that is. Not for PRINT_SHELL. */
size_t printable_escape(const char *text, enum printable_form form, char out[PRINTABLE_ESCAPE_MAX]);

/* All of @text to @file. */
void printable_print(FILE *file, const char *text, enum printable_form form);
/* @text as a JSON value: a quoted string, or null where it is NULL. */
void printable_json(FILE *file, const char *text);
/* As printable_print(), into @out, cut where there is no room, between two characters; not for
 * PRINT_SHELL. */
void printable_copy(char *out, size_t room, const char *text, enum printable_form form);
/* The same into a string that the caller frees; NULL: out of memory. */
char *printable_dup(const char *text, enum printable_form form);

#endif
