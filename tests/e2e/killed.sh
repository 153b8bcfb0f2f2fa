#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# killed.sh: threads that are killed while the kernel steps a copy of a probed instruction: they are put
# back to it, behind its event. So are those that are killed behind the event of a function's end, before
# it has returned. Neither is a gap, in any mode.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder
cat >program.c <<'C'
#include <pthread.h>
#include <unistd.h>
__attribute__((noinline)) static long leaf(long x) { return x * 7 + 1; }
__attribute__((noinline)) static long twice(long (*f)(long), long x) { return f(f(x)) + 1; }
static long (*volatile leaf_of)(long) = leaf;
static volatile long sum;
static volatile int running;
static void *spin(void *arg)
{
	for (;; running = 1)
		sum += twice(leaf_of, (long)arg);
	return NULL;
}
int main(void)
{
	pthread_t threads[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, spin, (void *)i);
	while (!running)
		usleep(100);
	usleep(2000);
	_exit(0);
}
C
${CC:-cc} -O2 -pthread program.c -o program 2>err || skip "does not compile: $(head -n 1 err)"

stopped_at_last() { # how many threads end at the instruction of their last event
	"$PUGMARK" raw rec | awk '
		NR == FNR { if ($2 == "block" || $2 == "return") site[n++] = $1; next }
		$1 == "#" && $2 == "module" { base = substr($5, length($5) - 3); next }
		$3 == "witness" { last = $0 }
		$3 == "end" && /stopped/ {
			split($6, ip, "=")
			at = substr(ip[2], length(ip[2]) - 2)
			for (i in site)
				if (substr(site[i], length(site[i]) - 2) == at) { n_at++; break }
		}
		END { print n_at + 0 }' sites -
}
for mode in full casper best; do
	gaps=0 at=0 ended=0
	"$PUGMARK" plan --mode $mode --list program >sites 2>err
	for _ in 1 2 3 4 5 6 7 8; do
		rm -rf rec
		run 0 record -q --mode $mode -o rec -- ./program
		"$PUGMARK" verify rec >verified 2>err
		gaps=$((gaps + $(grep -c '^  gap' verified)))
		at=$((at + $(stopped_at_last)))
		ended=$((ended + $("$PUGMARK" raw rec | grep -c ' end .* stopped$')))
	done
	claim "mode $mode: of $ended threads that were killed, $at were at a probed instruction" [ "$at" -gt 0 ]
	claim "mode $mode: no gap" is "$gaps" 0
done
conclude
