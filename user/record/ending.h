/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ending.h: why a recording ends: what it was asked for has happened, or it costs more than was
 * allowed. */
#ifndef USER_RECORD_ENDING_H
#define USER_RECORD_ENDING_H

#include "user/record/recording_run.h"
#include "user/record/write/recorder_result.h"

/* Before ending_wait(). Returns 0 or -errno as forecast_new(). */
int ending_begin(struct recording_run *run);
/* Waits until the recording has to end. Says meanwhile what there is to be said. */
enum recorder_stop ending_wait(struct recording_run *run);
/* Takes in what signals say. Returns true where one asks for the end. */
bool ending_read_signals(struct recording_run *run);
/* A process that died is told of at once, each line as one (recording_writer_deaths()). */
void ending_say_deaths(struct recording_run *run, bool all);
/* On a terminal, twice a second; @last clears the line. */
void ending_show_progress(struct recording_run *run, uint64_t time_ns, bool last);

#endif
