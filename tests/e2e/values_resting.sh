#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_resting.sh: at level values the recorder takes the processor time that others leave, once a program
# has mapped what it needs. Where none is left, what it captures is not lost all the same, and exact.
set -u
. "$(dirname "$0")/../support/claims.sh"
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

reads=700000 most=0 SCHED_IDLE=5
record() { # FOLDER READS: its process is $recorder
	"$PUGMARK" record --level values -o "$1" -- ./reads "$2" >printed 2>err &
	recorder=$!
	started+=("$recorder")
}
count_resting() { # of the recorder's threads: $resting
	local stat fields
	resting=0
	for stat in /proc/"$recorder"/task/*/stat; do
		read -ra fields <"$stat" && [ "${fields[40]}" = $SCHED_IDLE ] && resting=$((resting + 1))
	done 2>/dev/null
	[ $resting -le $most ] || most=$resting
}
rests() { count_resting; [ $resting != 0 ]; }
is_exact() { # FOLDER
	"$PUGMARK" values "$1" | grep -qE ', 0 with something assumed, 0 unknown; up to its end' &&
		"$PUGMARK" values "$1" done | grep -qF -- " = $(cat printed)"
}

record short 1000
wait "$recorder"
claim 'what is over soon is known' is_exact short

# It rests and hurries in turn where a processor is scarce: so each look may see it do either.
record long $reads
until rests || ! kill -0 "$recorder" 2>/dev/null; do sleep 0.01; done
for ((i = 0; i < $(nproc); i++)); do
	sh -c 'while :; do :; done' &
	hogs[i]=$!
done
started+=("${hogs[@]}")
while kill -0 "$recorder" 2>/dev/null; do
	count_resting
	sleep 0.01
done
wait "$recorder"
claim 'beside what never rests it gets to the end' is $? 0
claim 'and loses nothing' is "$(grep -c 'captures were lost' err)" 0
claim 'once it was calm, the thread that writes rested, and at no time another one as well' is $most 1
kill "${hogs[@]}"
# 400 bytes each, four times what the ring holds: so they cannot have waited for the end.
claim 'which is far more than waits in the ring' test "$(sed -nE 's/.*: ([0-9]+) captures,.*/\1/p' err)" -ge $reads
claim 'and all of it is exact' is_exact long
conclude
