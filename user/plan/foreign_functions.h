/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* foreign_functions.h: what is said of functions of a planned file that are taken for another
 * module's (offline/program/foreign_code.h), and so are not traced. */
#ifndef USER_FOREIGN_FUNCTIONS_H
#define USER_FOREIGN_FUNCTIONS_H

#include <pugmark/plan.h>

#define FOREIGN_FUNCTIONS_WORDS                                                                    \
	"%u functions have no call frame information, and frames of a size that nothing tells or " \
	"a stack of their own: they are taken for another module's, and not traced"

static inline uint32_t foreign_functions_of(const struct pugmark_plan *plan)
{
	uint32_t n = 0;
	for (uint32_t f = 0; f < plan->n_funcs; f++)
		n += !!(plan->funcs[f].flags & PUGMARK_PLAN_FUNC_FOREIGN);
	return n;
}

#endif
