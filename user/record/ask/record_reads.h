/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* record_reads.h: from --args, --time-of and --handle of `record` to the values that the plans are
 * to read. */
#ifndef USER_RECORD_READS_H
#define USER_RECORD_READS_H

#include "user/record/ask/record_args.h"

struct record_reads; /* what the rows point into */

/* Sets what @args->planning is to read. Returns 0 and what record_reads_free() frees after the last
 * planning (NULL: nothing is to be read), or -errno with @diag filled. */
int record_reads_make(struct record_args *args, struct record_reads **out,
		      struct pugmark_diag *diag);
void record_reads_free(struct record_reads *reads);

#endif
