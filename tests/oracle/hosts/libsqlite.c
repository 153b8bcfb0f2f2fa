// SPDX-License-Identifier: LGPL-2.1-or-later
/* libsqlite.c: runs a file of SQL on the static library, one statement after the other, whether or
 * not one fails, and prints the rows. */
#include <sqlite3.h>

#include <stdio.h>
#include <stdlib.h>

static char *read_file(const char *name)
{
	FILE *in = fopen(name, "rb");
	if (!in || fseek(in, 0, SEEK_END))
		return NULL;
	size_t bytes = ftell(in);
	char *text = calloc(bytes + 1, 1);
	rewind(in);
	if (text && fread(text, 1, bytes, in) != bytes)
		return NULL;
	fclose(in);
	return text;
}

static void print_row(sqlite3_stmt *statement)
{
	int n = sqlite3_column_count(statement);
	for (int i = 0; i < n; i++) {
		const unsigned char *text = sqlite3_column_text(statement, i);
		printf("%s%s", i ? "|" : "", text ? (const char *)text : "");
	}
	putchar('\n');
}

int main(int argc, char **argv)
{
	const char *at = argc == 3 ? read_file(argv[2]) : NULL;
	sqlite3 *db;
	if (!at || sqlite3_open(argv[1], &db))
		return 2;
	while (*at) {
		sqlite3_stmt *statement = NULL;
		const char *tail = at;
		int err = sqlite3_prepare_v2(db, at, -1, &statement, &tail);
		if (err && tail == at)
			break;
		while (statement && (err = sqlite3_step(statement)) == SQLITE_ROW)
			print_row(statement);
		if (err && err != SQLITE_DONE)
			fprintf(stderr, "%s\n", sqlite3_errmsg(db));
		sqlite3_finalize(statement);
		at = tail;
	}
	return sqlite3_close(db) != SQLITE_OK;
}
