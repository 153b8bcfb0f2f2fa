/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* values_calls.h: every call of traced functions of a recording of level values, as a tree, with
 * arguments and results (`pugmark replay --values`). */
#ifndef USER_VALUES_CALLS_H
#define USER_VALUES_CALLS_H

#include <pugmark/diag.h>

#include <stdbool.h>

/* Prints to standard output. Returns 0, 1 where a part is not known, or -errno with @diag filled
 * (-ENODATA: it was recorded without values). */
int values_calls_print(const char *dir, bool json, struct pugmark_diag *diag);

#endif
