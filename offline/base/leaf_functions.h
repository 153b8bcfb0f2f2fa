/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* leaf_functions.h: functions of the C library that do not call back: they take no callback and run
 * no handler that the program registered. Which of them raise nothing is told besides. */
#ifndef OFFLINE_LEAF_FUNCTIONS_H
#define OFFLINE_LEAF_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct leaf_function {
	const char *name;
	/* No exception comes out of it, nor is it a cancellation point, out of which a thread that
	 * is cancelled is unwound. A signal's handler that runs meanwhile may still leave it by
	 * one. */
	bool raises_nothing;
};

/* The function @name, or NULL where it may call a function of its caller. Where a leaf does so all
 * the same (for a stream of the program's own, or with an allocator that is), the parser finds by
 * the stack how far the thread came to it (recover/explain/callback.c). */
const struct leaf_function *leaf_function(const char *name);

/* Function @index of the table; NULL behind its end. */
const struct leaf_function *leaf_function_at(uint32_t index);

#endif
