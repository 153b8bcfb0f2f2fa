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

# How many threads have ended at the address of a probe or, of others, in the code of the program at all.
where() {
	"$PUGMARK" raw rec | awk '
		NR == FNR { site[substr($1, length($1) - 2)] = 1; next }
		$1 == "#" && $2 == "module" { base = substr($5, 1, length($5) - 3); next }
		$3 == "end" && /stopped/ {
			sub(/.*ip=/, "")
			inside += index($1, substr(base, 1, length(base) - 1)) == 1
			at += index($1, substr(base, 1, length(base) - 1)) == 1 && substr($1, length($1) - 2) in site
		}
		END { print at + 0, inside + 0 }' sites -
}
at=0 inside=0
for mode in full casper best; do
	gaps=0
	"$PUGMARK" plan --mode $mode --list program >sites 2>err
	for _ in 1 2 3 4 5 6 7 8; do
		rm -rf rec
		run 0 record -q --mode $mode -o rec -- ./program
		"$PUGMARK" verify rec >verified 2>err
		gaps=$((gaps + $(grep -c '^  gap' verified)))
		read -r more among < <(where)
		at=$((at + more)) inside=$((inside + among))
	done
	claim "mode $mode: no gap" is "$gaps" 0
done
claim "threads were killed in the functions, some at a probe: $inside, $at" [ "$at" -gt 0 ]
conclude
