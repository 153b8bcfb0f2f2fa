/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* record_check.h: what `record` checks before it begins, and again when it cannot begin, so that
 * the one line that it prints names the cause and what to do. */
#ifndef USER_RECORD_CHECK_H
#define USER_RECORD_CHECK_H

#include <pugmark/plan.h>

#include <sys/types.h>

/* All of these return 0, or -errno with @diag filled. */

/* Whether this user may record: before a minute is spent on planning. */
int record_check_rights(struct pugmark_diag *diag);
/* Before the first recording on a kernel: whether probes leave programs unharmed here
 * (shape_sample.h). Returns 0, also where that cannot be found out, or -ENOTSUP with @diag filled.
 */
int record_check_shapes(bool quiet, struct pugmark_diag *diag);
/* Whether @pid is a process with a program, and not ours. */
int record_check_process(pid_t pid, struct pugmark_diag *diag);
/* Whether @binary is (still) what @plan was made for. @plan_path: a plan of the user's own, or NULL
 * where it was made just now. */
int record_check_plan(const struct pugmark_plan *plan, const char *plan_path, const char *binary,
		      struct pugmark_diag *diag);
/* Where @err is that no more files can be opened: adds to @diag what to do about it. */
void record_explain_files(int err, struct pugmark_diag *diag);

/* To be called when a binary could not be planned because it is no ELF file: tells the user of a
 * script what to do. Returns @err. */
int record_explain_script(const char *path, int err, struct pugmark_diag *diag);
/* Recording did not begin because of @err: where this machine or this user lacks something that it
 * needs, @diag names that instead of what failed first. Returns @err. */
int record_explain_failure(int err, struct pugmark_diag *diag);

#endif
