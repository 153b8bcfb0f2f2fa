/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* record_reads.h: from --args, --time-of and --handle of `record` to the values that the plans are
 * to read. */
#ifndef USER_RECORD_READS_H
#define USER_RECORD_READS_H

#include "user/record/ask/record_args.h"
#include "user/record/ask/record_modules.h"

struct record_reads; /* what the rows point into */

/* Sets what @args->planning is to read. Returns 0 and what record_reads_free() frees after the last
 * planning (NULL: nothing is to be read), or -errno with @diag filled. */
int record_reads_make(struct record_args *args, struct record_reads **out,
		      struct pugmark_diag *diag);
/* Sets what is known of the arguments that the sites of @modules read, which lives as long as
 * @reads; says of which modules nothing is. Returns 0, or -errno with @diag filled. */
int record_reads_types(const struct record_args *args, struct record_reads *reads,
		       struct record_modules *modules, struct pugmark_diag *diag);
void record_reads_free(struct record_reads *reads);

#endif
