/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* whole_file.h: files that are written at once, and what must not be replaced by them. */
#ifndef OFFLINE_WHOLE_FILE_H
#define OFFLINE_WHOLE_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Makes @path, or what it links to by links of this user and of root (-EPERM: another's is on the
 * way), a file of these bytes: replaced atomically, with its owner and
 * mode kept, where it is a regular file or absent; written straight where it is a device or a pipe.
 * Returns 0 or -errno; a file that was there is then as it was. -ENXIO: a FIFO without a reader. */
int whole_file_write(const char *path, const void *bytes, size_t len);
/* Why, in words. Borrowed, until the next call. */
const char *whole_file_why(int err);

#endif
