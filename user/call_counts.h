/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* call_counts.h: how often functions were called, by a recording that is still being made. */
#ifndef USER_CALL_COUNTS_H
#define USER_CALL_COUNTS_H

#include "user/recorder.h"

/* Recovers what is written so far of the recording @now->output, and counts the calls of each
 * function of the modules that are probed now: those of module m from @counts[first[m]] on. Returns
 * 0, or -errno: -EFBIG where that is so much that it would take long. */
int call_counts_read(const struct recorder_options *now, const uint32_t *first, uint64_t *counts);

#endif
