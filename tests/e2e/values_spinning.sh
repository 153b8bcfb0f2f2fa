#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_spinning.sh: threads that spin on one processor when the recording ends: that is one moment for
# both, and all that they did up to there is known. Also where the one that has the processor keeps it then.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs taskset nproc
work_in_own_folder

cat >spins.c <<'C'
#include <pthread.h>
static pthread_mutex_t lock[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static void *spin(void *arg)
{
	for (volatile long i = 0;; i++)
		if (i % 1000 == 0) {
			pthread_mutex_lock(&lock[(long)arg]);
			pthread_mutex_unlock(&lock[(long)arg]);
		}
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, spin, (void *)1);
	spin(NULL);
}
C
${CC:-cc} -O1 -g -w -pthread -o spins spins.c || skip 'no compiler'
# On one processor, with a recorder that is not there.
mapfile -t here < <(for i in $(seq 0 63); do taskset -c "$i" true 2>/dev/null && echo "$i"; done | head -n 2)
[ ${#here[@]} = 2 ] || skip 'two processors are needed'
attempt() { # NAME NICE OPTION...: what its threads do at the end is more urgent than others by NICE
	taskset -c "${here[0]}" ./spins &
	local program=$! recorder
	started+=("$program")
	await test "/proc/$program/exe" -ef spins
	: >attaching
	taskset -c "${here[1]}" "$PUGMARK" record --level values "${@:3}" -p $program -o "$1" >attaching 2>&1 &
	recorder=$!
	started+=("$recorder")
	await grep -q ': recording' attaching
	sleep 0.2
	for task in "/proc/$program/task"/*; do
		renice -n "$2" -p "${task##*/}" >/dev/null
	done
	sleep 0.1
	kill -INT $recorder
	wait $recorder
	kill -9 $program
	wait $program 2>/dev/null
	"$PUGMARK" values "$1" >said.values 2>err
	claim "$1: both threads are known up to the end" is \
		"$(grep -c '^task [12]: .*; up to its end$' said.values)" 2
}
nothing_assumed() {
	claim "$1: and nothing is assumed" is \
		"$(grep -c ', 0 with something assumed, 0 unknown; up' said.values)" 2
}
attempt as_it_is 0 --one-processor
nothing_assumed as_it_is
attempt urgent -20 --one-processor
nothing_assumed urgent
# Of what one does beside the other nothing is known, but what was recorded; behind that it is not executed.
attempt apart 0
conclude
