/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* switching_calls.h: which calls of other modules may go on on another stack, by the code of the
 * libraries that define what is called: libraries for coroutines and threads of their own switch
 * stacks in functions with any name. */
#ifndef OFFLINE_SWITCHING_CALLS_H
#define OFFLINE_SWITCHING_CALLS_H

#include <pugmark/model.h>

/* Sets @sites (one byte a site of @model) for each call or jump to an import that one of @files
 * defines and whose code may lead to a switch of stacks there, and for each call of a function of
 * @model that jumps to such an import. The C library's functions are known by name and not looked
 * at. What cannot be read switches nothing. Returns 0 or -ENOMEM. */
int switching_calls_mark(const struct pugmark_model *model, const char *const *files, uint32_t n,
			 uint8_t *sites);

#endif
