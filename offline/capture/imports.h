/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* imports.h: what a call out of the traced modules does to what they can see: the table of imported
 * functions of level values. Rows are data (imports.def); a user adds some in a file, one a line:
 *
 *   NAME KIND [OUTPUTS]      KIND: model, result, output, opaque; OUTPUTS as in outputs.h
 *
 * A row of the user's comes before one of the same name here. */
#ifndef OFFLINE_CAPTURE_IMPORTS_H
#define OFFLINE_CAPTURE_IMPORTS_H

#include <pugmark/diag.h>

#include <stdbool.h>
#include <stdint.h>

enum import_kind {
	IMPORT_MODEL,  /* recomputed from its arguments and memory: nothing is captured */
	IMPORT_RESULT, /* its result is captured; it writes no memory that the caller reads */
	IMPORT_OUTPUT, /* its result and the memory that the row names are captured */
	IMPORT_OPAQUE, /* its result is captured; what it may have written is assumed */
};

struct import_row {
	const char *name;
	uint8_t kind; /* enum import_kind */
	bool fresh;   /* the result is a block of memory whose contents nobody has told */
	bool clock;   /* it may read a clock by way of the vDSO, which makes no system call */
	const char *outputs;
};

struct imports;

/* The built-in table, and before it the rows of @file (NULL: none). Returns 0 and a table that the
 * caller frees, or -errno with @diag filled. */
int imports_open(const char *file, struct imports **out, struct pugmark_diag *diag);
void imports_free(struct imports *imports);
/* The row of the function @name; NULL: there is none, which is opaque. O(log n). */
const struct import_row *imports_find(const struct imports *imports, const char *name);
/* Row @index of the built-in table; NULL past its end. */
const struct import_row *imports_builtin(uint32_t index);

#endif
