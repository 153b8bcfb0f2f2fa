/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* handles.h: which functions work on a handle, and where they take it: Reiss and Renieris' FILE *
 * example ("Encoding Program Executions", ICSE 2001, section 3.2) as data. */
#ifndef USER_HANDLES_H
#define USER_HANDLES_H

#include <pugmark/diag.h>

#include <stdbool.h>
#include <stdint.h>

/* A function's use of the handle. */
struct handle_row {
	const char *pattern; /* of the function's name */
	uint8_t arg;	     /* 1 to 6: it takes the handle there; 0: it does not */
	uint8_t outs;	     /* a bit for each argument through which it gives one out */
	bool returns;	     /* it returns a handle, a new one */
	bool ends;	     /* the handle is no more after it */
};

struct handle {
	const char *name;
	struct handle_row *rows;
	uint32_t n_rows;
	bool is_number; /* of 32 bits, none if negative; else an address */
	char *text;	/* private: what the patterns point into */
};

/* Reads @spec: the name of a known handle (handles_known), or a file with lines of
 * `FUNCTION WHERE [end]`, WHERE being `return`, an argument's number from 1, or `*` and the number
 * of an argument that points to where the function leaves a handle; a line `number` says
 * that handles are numbers; # begins a comment. Returns 0 and a handle that handle_deinit() frees,
 * or -errno with @diag filled. */
int handle_read(const char *spec, struct handle *out, struct pugmark_diag *diag);
/* The same of a text in memory. */
int handle_parse(const char *text, const char *spec, struct handle *out, struct pugmark_diag *diag);
/* The names of those that are known: "stdio, sockets, ...". */
extern const char handles_known[];
/* Line @index, from 0, of a text that says the same: into @out; false: it has fewer. */
enum { HANDLE_LINE_MAX = 1024 };
bool handle_line(const struct handle *handle, uint32_t index, char out[HANDLE_LINE_MAX]);
void handle_deinit(struct handle *handle);
/* Whether @value is a handle, and not the value for none. */
bool handle_valid(const struct handle *handle, uint64_t *value);

#endif
