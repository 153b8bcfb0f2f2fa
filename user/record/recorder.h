/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* recorder.h: records the witness events of some modules in a directory. Everything that is asked
 * for comes in the options; nothing is decided here about which instructions are probed. */
#ifndef USER_RECORDER_H
#define USER_RECORDER_H

#include "user/kernel/record_options.h"
#include "user/record/write/recorder_result.h"

/* Records until the command and all that it started have ended, or the processes, or SIGINT,
 * SIGTERM, the duration, or what cannot be written any more (a full disk). Returns 0 and fills
 * @result, or -errno with @diag filled: -EPERM (which capability is missing), -ENOENT, -ENOTSUP
 * (the kernel is too old: for what), -ECANCELED (of go_fd came nothing). A full disk returns 0:
 * what is written stays readable. */
int recorder_run(const struct recorder_options *options, struct recorder_result *result,
		 struct pugmark_diag *diag);

#endif
