/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* values_print.h: what `pugmark values` shows of a recording: how much is known of each task; the
 * instances of a place with arguments, results or variables; who has written and read a range of
 * memory; what would have missed a cache. */
#ifndef USER_VALUES_PRINT_H
#define USER_VALUES_PRINT_H

#include "user/values/names/values_options.h"

#include <pugmark/diag.h>

/* Prints to standard output. Returns 0, 1 where a part is not known, or -errno with @diag filled.
 */
int values_print(const struct values_options *options, struct pugmark_diag *diag);

#endif
