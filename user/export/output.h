/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* output.h: where the parts of an export are written: each under a name that nobody can know
 * before, in the folder that it is to be in. It has its own name once it is whole; of an export
 * that fails nothing is left. */
#ifndef USER_EXPORT_OUTPUT_H
#define USER_EXPORT_OUTPUT_H

#include "user/export/export.h"

/* Makes x->path that of a part: the output's, with the part's number before its last suffix. */
void export_output_name(struct export *x, uint32_t part);
/* Gives what was made last its own name; nothing where nothing was, or after a failure. Fails by
 * export_fail(). */
void export_output_keep(struct export *x);
/* Removes all parts: the one that is made, and those that have their names. */
void export_output_remove(struct export *x);

#endif
