/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* open_regular.h: opens what is a file and nothing else. Every path that somebody else can name (a
 * needed library, a mapping of a process, a link in a folder of another) is opened by this: to open
 * a device, a FIFO or a socket may already do something, or wait for ever. */
#ifndef OFFLINE_BASE_OPEN_REGULAR_H
#define OFFLINE_BASE_OPEN_REGULAR_H

#include <stdio.h>
#include <sys/stat.h>

/* Opens the regular file that @path leads to (links are followed) for reading, close-on-exec, and
 * fills @st, which may be NULL, with what it is. Nothing is opened before its kind is known, and
 * what is opened is what was looked at, whatever @path leads to meanwhile.
 * Returns a descriptor, which the caller closes, or -errno: -EISDIR a folder, -ENXIO anything else
 * that is not a regular file. */
int open_regular(const char *path, struct stat *st);
/* The same of @name in the folder @dir_fd; a link in the place of @name itself is -ELOOP. */
int open_regular_at(int dir_fd, const char *name, struct stat *st);
/* The same of @found, a descriptor of O_PATH, which it closes (or returns). */
int open_regular_found(int found, struct stat *st);
/* As open_regular(), to be closed with fclose(). NULL: errno says why, as that does. */
FILE *open_regular_stream(const char *path);
/* Why, in words, of a negative value that the two return. Borrowed, until the next call. */
const char *open_regular_why(int err);

#endif
