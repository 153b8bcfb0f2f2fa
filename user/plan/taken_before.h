/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* taken_before.h: which functions a recording took out to keep what probes cost within bounds, so
 * that the next one of the same binary, scope and bound begins without them. A file in the cache,
 * of an ELF address a line, in hex. */
#ifndef USER_TAKEN_BEFORE_H
#define USER_TAKEN_BEFORE_H

#include <stdint.h>

/* Returns 0 and the addresses in the file at @path (the caller frees), or -errno: -ENOENT, or
 * -EINVAL where it is not such a file, or as own_cache_read(). */
int taken_before_read(const char *path, uint64_t **addrs, uint32_t *n);
/* Puts them in the place of those at @path. Returns 0 or -errno. */
int taken_before_write(const char *path, const uint64_t *addrs, uint32_t n);

#endif
