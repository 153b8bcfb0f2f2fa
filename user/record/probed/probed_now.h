/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* probed_now.h: what is probed at present. It changes while a recording goes on: functions go that
 * cost too much (--max-overhead), modules come that are loaded later, and all of it goes where a
 * probed file is written to. Plans are made in a thread of their own (replanner.h); what is here is
 * called by the thread that waits for the recording's end. */
#ifndef USER_PROBED_NOW_H
#define USER_PROBED_NOW_H

#include "user/file/text_span.h"
#include "user/record/probed/late_modules.h"
#include "user/record/cost/overhead.h"
#include "user/record/write/recording_writer.h"
#include "user/record/probed/replanner.h"
#include "user/record/write/voice.h"

struct probed_now {
	struct recorder_options modules; /* the options, with what is probed at present */
	struct text_span spans[BATCH_MODULES];
	/* Borrowed; the last two are there once the recording has begun. */
	const struct voice *voice;
	struct probes *probes;
	struct recording_writer *writer;
	uint64_t start_ns;
	/* Its own. */
	struct overhead *overhead;   /* NULL: nobody limits it */
	struct late_modules *later;  /* NULL: what is loaded later is not asked for */
	struct replanner *replanner; /* NULL: what is probed is to stay */
	bool replanning_out;	     /* without functions that cost too much */
	bool file_changed;	     /* that is probed: nothing is probed any more */
	bool asked_at_end;	     /* whether one is, when recording had ended */
	uint64_t checked_ns;
	uint64_t found_ns, gone_ns; /* that something must go; and when no probe of it was left */
};

/* Begins to watch what may change it. Returns 0 or -errno. */
int probed_now_watch(struct probed_now *now);
/* No change is made from here on: what is being planned is given up. */
void probed_now_settle(struct probed_now *now);
/* The probes are gone: settles, and asks of the files what could not be asked at the end while
 * something was planned. */
void probed_now_ended(struct probed_now *now);
void probed_now_deinit(struct probed_now *now);
/* It follows what it costs, and what is loaded. Returns 0, or -errno, which has been said: no plan
 * could be put in the place of one that is gone. */
int probed_now_follow(struct probed_now *now, uint64_t time_ns);
/* Where a file that is probed was written to, or is about to be, the probes go, for they would
 * stand in the middle of other instructions; then whoever waits may go on. What runs is not traced
 * from then on. @at_end: for the last time. Returns whether that is so. */
bool probed_now_check_files(struct probed_now *now, bool at_end);

#endif
