/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ld_cache.h: /etc/ld.so.cache in the format that glibc has since 2.2 (its
 * sysdeps/generic/dl-cache.h): which files a library's name may lead to. */
#ifndef OFFLINE_LD_CACHE_H
#define OFFLINE_LD_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Gives the paths of libraries of x86-64 that the cache of these bytes has for @name to @take,
 * until it returns true. Returns whether it did. What does not hold together has none. */
bool ld_cache_find(const uint8_t *bytes, size_t len, const char *name,
		   bool (*take)(void *ctx, const char *path), void *ctx);

#endif
