#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# costs.sh: what a probe costs is processor time of the thread that runs into it and nothing else: measured
# while every clock on the wall stands still it costs as much as ever, and while the thread's own stands
# still it costs nothing. So a machine that others keep busy measures the same costs, less precisely.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs jq
work_in_own_folder

# clock_gettime() for which the clocks of $STOPPED ("wall": all but that of a thread; "own": that) stand still.
cat >clocks.c <<'C'
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now)
{
	const char *stopped = getenv("STOPPED");
	int own = clock == CLOCK_THREAD_CPUTIME_ID;
	if (stopped && !strcmp(stopped, own ? "own" : "wall")) {
		now->tv_sec = 1000;
		now->tv_nsec = 0;
		return 0;
	}
	return (int)syscall(SYS_clock_gettime, clock, now);
}
C
${CC:-cc} -O1 -fPIC -shared clocks.c -o clocks.so || skip 'no compiler for the clocks'

measure() { # STOPPED: into $costs, emulated and stepped
	rm -rf cache
	STOPPED=$1 LD_PRELOAD=$dir/clocks.so ASAN_OPTIONS=verify_asan_link_order=0 "$PUGMARK" doctor >out 2>err ||
		skip "nothing can be measured here: $(grep missing out)"
	costs=$(jq -r '"\(.emulated) \(.stepped)"' cache/pugmark/costs.json)
}
# A probe that the kernel emulates spares the second trap that single-stepping takes: whatever else runs,
# it is the cheaper one.
measure wall
claim "by a thread's own clock alone, a probe costs $costs ns (emulated, stepped): the second more" \
	awk '{ exit !(0 < $1 && $1 < $2) }' <<<"$costs"
measure own
claim 'by all other clocks it costs nothing' is "$costs" '0 0'
conclude
