/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* debug_roots.h: the folders in which separate debug files lie by build-id:
 * ROOT/.build-id/xx/y.debug. The first is /usr/lib/debug; a command may add one, once, before it
 * reads any file and before it has threads. */
#ifndef OFFLINE_BASE_DEBUG_ROOTS_H
#define OFFLINE_BASE_DEBUG_ROOTS_H

#include <stdint.h>

#define DEBUG_ROOT "/usr/lib/debug"

/* @folder stays the caller's, and has to stay as it is. */
void debug_roots_add(const char *folder);
/* The root number @i, or NULL: there are no more. */
const char *debug_root(uint32_t i);

#endif
