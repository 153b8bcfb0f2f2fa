/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* private_files.h: the file systems, with what is written kept in memory. */
#ifndef USER_AGAIN_PRIVATE_FILES_H
#define USER_AGAIN_PRIVATE_FILES_H

#include <stddef.h>
#include <stdint.h>

/* In a mount namespace of its own: makes a tree of overlays over all that is mounted, at @stage (an
 * empty folder that is there), goes into it, and back to the working directory. What cannot have
 * an overlay can only be read. @path (NULL: none) becomes a copy of what @input has. 0, or -errno
 * with @why (of @room bytes) filled. */
int private_files_enter(const char *stage, uint64_t bytes, const char *path, int input, char *why,
			size_t room);

#endif
