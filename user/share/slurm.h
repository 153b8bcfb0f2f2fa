/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* slurm.h: the runs of `distribute` as a job array of Slurm, one task a machine. What the nodes
 * need lies in the job's folder (user/cluster), with the plans:
 *
 *   share     SUM K MACHINE     a plan, its number from 1, and who runs it
 *
 * part-K appears there when a run was recorded whole, beside status-K and output-1. */
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
