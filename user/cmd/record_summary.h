/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* record_summary.h: the sentences at the end of a recording. */
#ifndef USER_CMD_RECORD_SUMMARY_H
#define USER_CMD_RECORD_SUMMARY_H

#include "user/record/ask/record_args.h"
#include "user/record/recorder.h"

/* Prints to stderr: with --quiet only what is missing in the recording. */
void record_summary(const struct record_args *args, const struct recorder_result *result);

#endif
