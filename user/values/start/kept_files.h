/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* kept_files.h: the files that a process has mapped, each kept once: by device and inode, with
 * those ranges that some mapping has shown; and whether a file was written meanwhile. */
#ifndef USER_KEPT_FILES_H
#define USER_KEPT_FILES_H

#include "user/values/write/capture_writer.h"

#include <jansson.h>
#include <sys/stat.h>

struct kept_files;

/* Bytes of files go to @writer, which is borrowed. NULL: out of memory. */
struct kept_files *kept_files_new(struct capture_writer *writer);
void kept_files_free(struct kept_files *files);

/* Those below may be called by several threads. */

/* The number of the file behind @fd, which is closed, or CAPTURE_UNKNOWN: it could not be opened
 * (@fd < 0), or out of memory. @st is its stat(), @name what it is called. Its @bytes from @off on
 * are kept as far as they were not yet, unless they are too many. @mapped_ns: when it was mapped
 * (CLOCK_MONOTONIC), or where it was before anybody looked, when the process stood still. */
uint32_t kept_files_take(struct kept_files *files, int fd, const struct stat *st, const char *name,
			 uint64_t off, uint64_t bytes, uint64_t mapped_ns);
/* How many there are by now. */
uint32_t kept_files_count(struct kept_files *files);
/* Whether one of them was written while it was mapped, or right before, or that cannot be told. */
bool kept_files_changed(struct kept_files *files);
/* A new reference to what the recording says of each: path, build-id, whether it has changed. */
json_t *kept_files_list(struct kept_files *files);

#endif
