/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* constant_strings.h: the texts that a file's constant data hold. Private to callers_by_name.c. */
#ifndef OFFLINE_CONSTANT_STRINGS_H
#define OFFLINE_CONSTANT_STRINGS_H

#include "offline/elf/private_elf.h"

/* What a text could be: the name of a symbol, or of a library or its path. */
enum needed_text { TEXT_SYMBOL, TEXT_LIBRARY };

/* Calls @take for each text in @file's constant data that ends with a NUL and could be @what: until
 * that returns, in the file's own memory. Returns 0, or -errno: not all were read. -EBADMSG: the
 * file does not have all of that data, or its sections together are larger than it is. */
int constant_strings(const struct private_elf *file, enum needed_text what,
		     void (*take)(void *ctx, const char *text), void *ctx);

#endif
