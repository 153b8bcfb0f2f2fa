/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* parallel.h: many independent jobs on as many threads as there are processors. */
#ifndef USER_PARALLEL_H
#define USER_PARALLEL_H

#include <stdint.h>

/* What one worker does with job @index. @worker is from 0 to below parallel_workers(); a worker
 * does one job at a time. Returns 0 or -errno, which ends the work. */
typedef int parallel_job(void *ctx, uint32_t worker, uint32_t index);

/* How many workers there are for @n jobs: at least 1, at most one a processor. */
uint32_t parallel_workers(uint32_t n);
/* Does jobs 0 to @n - 1, the first ones first. Returns 0, or what the first failed job returned. */
int parallel_do(uint32_t n, parallel_job *job, void *ctx);

#endif
