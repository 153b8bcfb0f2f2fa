/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* recorder_result.h: what came of a recording: why it ended, what is in it, what it took. */
#ifndef USER_RECORDER_RESULT_H
#define USER_RECORDER_RESULT_H

#include <stdbool.h>
#include <stdint.h>

enum recorder_stop {
	STOP_EXIT,
	STOP_SIGNAL,
	STOP_DURATION,
	STOP_DISK,
	STOP_OVERHEAD,
	STOP_CHANGED,
	STOP_REFUSED,
	STOP_MEMORY
};

struct recorder_result {
	int exit_status; /* of the command: as a shell says it; 0 without one */
	enum recorder_stop why;
	bool not_whole; /* something was not seen that no gap of a thread tells of: noted */
	int write_err;	/* STOP_DISK: -errno: why it could not be written */
	uint64_t events, lost, tasks, segments, bytes;
	uint64_t probed;      /* --carrier patch: of the events, those by probes where a process is
				 patched */
	double factor;	      /* STOP_REFUSED: what was found */
	char probed_why[128]; /* how many for which reason */
	uint64_t captures, capture_bytes; /* records, and what they took of the disk */
	uint64_t
		unplanned; /* of those lost: in processes that a library's plan does not hold for */
	uint64_t probed_from_ns, probed_to_ns;	 /* CLOCK_MONOTONIC: when all probes were on */
	uint64_t n_probes, attach_ns, detach_ns; /* what it took to place and to remove them */
};

/* Takes over what was counted while it was written. */
struct recording_totals;
void recorder_result_take(struct recorder_result *result, const struct recording_totals *totals);

#endif
