/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* parquet_file.h: a table as an Apache Parquet file: rows are taken one by one, and written a group
 * at a time. What the columns mean is the caller's. Version 1 pages, not compressed; integers are
 * DELTA_BINARY_PACKED, words (text of few values) by a dictionary. See the specification at
 * parquet.apache.org, and parquet.thrift there for the numbers. */
#ifndef USER_EXPORT_PARQUET_FILE_H
#define USER_EXPORT_PARQUET_FILE_H

#include <stdint.h>

enum parquet_kind {
	PARQUET_INT,  /* INT64 */
	PARQUET_WORD, /* text; at most PARQUET_WORDS_MAX of them, which outlive the file */
	PARQUET_TEXT, /* text; it is copied */
};
enum { PARQUET_WORDS_MAX = 255 };

/* Any column may hold nulls. */
struct parquet_column {
	const char *name;
	uint8_t kind; /* enum parquet_kind */
};

struct parquet_file;

/* Makes the file @name in the folder @dir, which must not be there. @columns outlive it. Returns 0
 * or -errno; the caller frees *@out with parquet_free(). */
int parquet_new(int dir, const char *name, const struct parquet_column *columns, uint32_t n,
		struct parquet_file **out);
/* The columns of a row, in any order; those that are not said are null, and so is a NULL. */
void parquet_int(struct parquet_file *file, uint32_t column, int64_t value);
void parquet_word(struct parquet_file *file, uint32_t column, const char *word);
void parquet_text(struct parquet_file *file, uint32_t column, const char *text);
/* All columns of the row have been said. Returns 0 or -errno. */
int parquet_row_end(struct parquet_file *file);
/* Writes what is left, and what makes it a Parquet file. Returns 0 or -errno. */
int parquet_finish(struct parquet_file *file);
void parquet_free(struct parquet_file *file);

#endif
