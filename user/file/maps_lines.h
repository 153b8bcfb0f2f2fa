/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* maps_lines.h: /proc/PID/maps, a line at a time. The names in it are chosen by whoever made the
 * files: they may hold spaces and what looks like another line, and be longer than PATH_MAX. */
#ifndef USER_MAPS_LINES_H
#define USER_MAPS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct maps_line {
	uint64_t start, end, off; /* run-time addresses; offset in the file, in bytes */
	uint64_t inode;		  /* 0: of no file */
	int prot;		  /* PROT_READ ... */
	bool shared;
	const char *name; /* as it stands there; "": none. Borrowed from the text */
};

/* Reads the line at @text, whose newline becomes its end. False: it is none. */
bool maps_line_parse(char *text, struct maps_line *out);

struct maps_lines {
	FILE *file;
	char *text; /* of the last line */
	size_t cap;
};

/* Returns 0 or -errno. */
int maps_lines_open(struct maps_lines *lines, pid_t pid);
/* The next line; its name is borrowed until the next call. */
bool maps_lines_next(struct maps_lines *lines, struct maps_line *out);
void maps_lines_close(struct maps_lines *lines);

#endif
