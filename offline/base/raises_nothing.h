/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* raises_nothing.h: functions of the C library that no exception comes out of. */
#ifndef OFFLINE_RAISES_NOTHING_H
#define OFFLINE_RAISES_NOTHING_H

#include <stdbool.h>

/* Whether the C library's function @name returns wherever it returns to its caller at all: it calls
 * no function of the program, and is no cancellation point, out of which a thread that is cancelled
 * is unwound. A handler of a signal that comes meanwhile may still leave it by an exception. */
bool raises_nothing(const char *name);

#endif
