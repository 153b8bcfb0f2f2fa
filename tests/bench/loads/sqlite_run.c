// SPDX-License-Identifier: LGPL-2.1-or-later
/* sqlite_run.c: runs the SQL of a file on a database in memory: `sqlite_run FILE`. What is
 * recorded is the library, which it is linked with. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static int print_row(void *ctx, int n, char **values, char **names)
{
	(void)ctx, (void)names;
	for (int i = 0; i < n; i++)
		printf("%s%c", values[i] ? values[i] : "", i + 1 < n ? '|' : '\n');
	return 0;
}

int main(int argc, char **argv)
{
	static char sql[1 << 20];
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
	sqlite3 *db;
	char *error;

	if (!file) {
		fputs("usage: sqlite_run FILE\n", stderr);
		return 2;
	}
	sql[fread(sql, 1, sizeof(sql) - 1, file)] = 0;
	fclose(file);
	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		return 1;
	if (sqlite3_exec(db, sql, print_row, NULL, &error) != SQLITE_OK) {
		fprintf(stderr, "%s\n", error);
		return 1;
	}
	sqlite3_close(db);
	return 0;
}
