/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memory_file.h: the memory of a process is a file too, /proc/PID/mem, which is written past all
 * mappings. The recorder tells which call opens such a file to be written, by whatever path (as
 * map_file CAPTURE_UNKNOWN). Which descriptor leads there is not followed: from then on whatever
 * writes to a file may write to it. */
#ifndef OFFLINE_CAPTURE_MEMORY_FILE_H
#define OFFLINE_CAPTURE_MEMORY_FILE_H

#include "offline/capture/captures.h"

#include <stdbool.h>

/* Whether the call of @c has opened one to be written. */
bool memory_file_opened(const struct capture *c);
/* Whether the call of @c may write to one that was opened before. */
bool memory_file_written(const struct capture *c);

#endif
