/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* recording_run.h: one recording while it runs: what the files of this room share. */
#ifndef USER_RECORDING_RUN_H
#define USER_RECORDING_RUN_H

#include "user/kernel/idle_thread.h"
#include "user/kernel/probes.h"
#include "user/patch/carrier.h"
#include "user/patch/file_turns.h"
#include "user/proc/caught_signals.h"
#include "user/proc/launch.h"
#include "user/record/cost/forecast.h"
#include "user/record/probed/probed_now.h"
#include "user/values/record/capturing.h"

struct recording_run {
	const struct recorder_options *options;
	struct voice voice;
	struct probed_now now;
	struct forecast *forecast; /* NULL: has been made, or is not asked for (yet) */
	double factor;		   /* what it found */
	struct callers *callers;   /* NULL: whatever is loaded, the plans hold */
	struct probes *probes;
	struct recording_writer *writer;
	struct collector *collector;
	struct carrier *carrier;     /* NULL: probes carry everything */
	struct capturing *capturing; /* NULL: not at level values */
	struct launch child;
	struct file_turns turns; /* while probes and patches are placed */
	char *path;
	struct caught_signals signals;
	int notify_fd;
	uint64_t start_ns, shown_ns, shown_events, weighed_ns;
	uint32_t heavy; /* looks in a row that found too much memory */
	bool gave_back; /* has been noted */
	uint64_t attach_ns, detach_ns;
	bool child_ended, progress, forecast_later;
	bool deaths; /* were told of */
	struct idle_thread coding;
	int child_status;
	int nice; /* what this thread began with */
};

#endif
