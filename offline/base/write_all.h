/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* write_all.h: bytes written in full, however many calls that takes. */
#ifndef OFFLINE_WRITE_ALL_H
#define OFFLINE_WRITE_ALL_H

#include <stddef.h>
#include <stdint.h>

/* All of @len bytes to @fd, or to its offset @off. Returns 0 or -errno (-ENOSPC: nothing more is
 * taken). */
int write_all(int fd, const void *bytes, size_t len);
int pwrite_all(int fd, const void *bytes, size_t len, uint64_t off);

#endif
