/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* unknown_code.h: ranges of code sections that are in no function and may be code all the same. */
#ifndef OFFLINE_UNKNOWN_CODE_H
#define OFFLINE_UNKNOWN_CODE_H

#include "offline/code/builder.h"

/* Finds them, by address; those past a bound are one range with what lies between. Once functions
 * are known. Returns 0 with @out (heap) and @n set, or -ENOMEM. */
int unknown_code_find(const struct builder *b, struct pugmark_range **out, uint32_t *n);

#endif
