// SPDX-License-Identifier: LGPL-2.1-or-later
/* command.c: how a command says what went wrong: one line on stderr. */
#include "user/cli/command.h"

#include "user/cli/printable.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void command_print_safe(FILE *out, const char *text)
{
	printable_print(out, text, PRINT_TEXT);
}

void command_say(FILE *out, const char *before, const char *text, const char *after)
{
	fputs(before, out);
	command_print_safe(out, text);
	fputs(after, out);
}

int command_fail(const struct pugmark_diag *diag)
{
	fputs("pugmark: ", stderr);
	if (*diag->file) {
		command_print_safe(stderr, diag->file);
		fputs(": ", stderr);
	}
	command_print_safe(stderr, diag->text);
	if (diag->offset != PUGMARK_NO_OFFSET)
		fprintf(stderr, " (at offset %llu)", (unsigned long long)diag->offset);
	fputc('\n', stderr);
	return EXIT_ERROR;
}

int command_no_memory(void)
{
	fputs("pugmark: out of memory\n", stderr);
	return EXIT_ERROR;
}

int command_usage(const char *name, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	const char *space = name ? " " : "";
	name = name ? name : "";
	fprintf(stderr, "pugmark%s%s: ", space, name);
	command_print_safe(stderr, text);
	fprintf(stderr, " (see: pugmark%s%s --help)\n", space, name);
	return EXIT_USAGE;
}

char *command_program(const char *name)
{
	const char *path = getenv("PATH");
	if (strchr(name, '/') || !path)
		return strdup(name);
	for (const char *at = path; *at;) {
		size_t len = strcspn(at, ":");
		char *file;
		if (asprintf(&file, "%.*s%s%s", (int)len, at, len ? "/" : "./", name) < 0)
			return NULL;
		if (!access(file, X_OK))
			return file;
		free(file);
		at += len + (at[len] == ':');
	}
	return strdup(name);
}
