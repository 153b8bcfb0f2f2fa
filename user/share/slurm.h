/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* slurm.h: the runs of `distribute` as a job array of Slurm, one task a machine. What the nodes
 * need lies in a folder that all of them see (staged.h), and so do the parts that come back. */
#ifndef USER_SHARE_SLURM_H
#define USER_SHARE_SLURM_H

#include "user/share/distribute.h"

/* Submits, waits, and submits what failed or was on a node that died again, up to @retries times.
 * @parts: where each part is, in a folder *@folder that the caller removes by slurm_clean_up();
 * it frees both. Returns 0, or -errno with @diag filled: -ENOENT, Slurm is not installed; -EINTR,
 * it was asked to stop. */
int slurm_run(const struct distribute_request *request, struct distribute_result *out, char **parts,
	      char **folder, struct pugmark_diag *diag);
void slurm_clean_up(char *folder);

#endif
