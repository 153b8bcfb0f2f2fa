/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_task.h: what one node of a cluster does for `distribute`: makes the runs of its machine in
 * a folder of its own (user/cluster/node.h), and leaves the parts. */
#ifndef USER_SHARE_SHARE_TASK_H
#define USER_SHARE_SHARE_TASK_H

#include <pugmark/diag.h>

#include <stdint.h>

/* Makes the runs of machine @machine, from 1, that have no part yet. @sum: of the list of the job.
 * Returns 0, or -errno with @diag filled. */
int share_task(const char *folder, const char *sum, uint32_t machine, struct pugmark_diag *diag);

#endif
