#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_resting.sh: at level values the recorder takes the processor time that others leave, once a program
# has mapped what it needs. Where none is left, what it captures is not lost all the same, and exact.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs chrt
needs_recording
work_in_own_folder

cat >reads.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) long done(long sum) { return sum; }
int main(int argc, char **argv)
{
	unsigned char bytes[128];
	int fd = open(argv[0], O_RDONLY);
	long sum = 0;
	for (long i = 0; i < atol(argv[1]); i++) {
		if (pread(fd, bytes, sizeof(bytes), i % 64 * 128) != sizeof(bytes))
			return 1;
		sum = sum * 31 + bytes[i % 128];
	}
	printf("%ld\n", done(sum));
	return 0;
}
C
"${CC:-cc}" -O1 -g -o reads reads.c || exit 1

record() { # FOLDER READS: its process is $recorder
	"$PUGMARK" record --level values -o "$1" -- ./reads "$2" >printed 2>err &
	recorder=$!
	started+=("$recorder")
}
policies() { # of the recorder's threads
	local thread
	for thread in /proc/"$recorder"/task/*; do
		chrt -p "$(basename "$thread")" 2>/dev/null | sed -n 's/.*policy: //p'
	done
}
rests() { policies | grep -q SCHED_IDLE; }
is_exact() { # FOLDER
	"$PUGMARK" values "$1" | grep -qE ', 0 with something assumed, 0 unknown; up to its end' &&
		"$PUGMARK" values "$1" done | grep -qF -- " = $(cat printed)"
}

record short 1000
wait "$recorder"
claim 'what is over soon is known' is_exact short

record long 1500000
claim 'once it is calm, the thread that writes rests' await rests
claim 'and no other' is "$(policies | grep -c SCHED_IDLE)" 1
for ((i = 0; i < $(nproc); i++)); do
	sh -c 'while :; do :; done' &
	hogs[i]=$!
done
started+=("${hogs[@]}")
wait "$recorder"
claim 'beside what never rests it gets to the end' is $? 0
claim 'and loses nothing' is "$(grep -c 'captures were lost' err)" 0
kill "${hogs[@]}"
# 400 bytes each, nine times what the ring holds: so they cannot have waited for the end.
claim 'which is far more than waits in the ring' test "$(sed -nE 's/.*: ([0-9]+) captures,.*/\1/p' err)" -ge 1500000
claim 'and all of it is exact' is_exact long
conclude
