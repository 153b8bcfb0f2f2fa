#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_hidden.sh: threads without locks that write one variable, and read what the kernel writes for
# one another. What is printed without a mark is what the program has printed, RUNS times (6); and so
# it is where a byte of the recording is another one, or missing.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
work_in_own_folder
runs=${RUNS:-6}
# Every other run is on one processor: where threads truly run side by side nothing may be certain.
one=$(taskset -pc $$ | sed -E 's/.*: ([0-9]+).*/\1/')

cat >target.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile long shared, stop;
static volatile long told[64]; /* the kernel writes there, for a thread that sleeps meanwhile */
static int ends[2];
__attribute__((noinline)) void note(int who, int i, long value)
{
	char line[99];
	write(1, line, snprintf(line, sizeof(line), "note(who=%d, i=%d, value=%ld)\n", who, i, value));
}
static void *racer(void *arg)
{
	long who = (long)arg, mine = who, copies[600];
	for (int i = 0; i < 12; i++) {
		/* Stores of its own at many places of a page, then a load of what others write. */
		for (int k = 0; k < 600; k++)
			copies[k] = mine * k + i;
		for (int k = 0; k < 3000; k++)
			shared = shared * 3 + who + copies[k % 600];
		note(who, i, shared);
		note(10 + who, i, mine = copies[i * 7 % 600] + i);
	}
	return 0;
}
static void *listener(void *arg)
{
	for (int i = 0; read(ends[0], (void *)told, sizeof(told)) > 0 && !stop; i++)
		;
	return 0;
}
int main(void)
{
	pthread_t t[3];
	long sum = 0;
	pipe(ends);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, racer, (void *)(i + 1));
	pthread_create(&t[2], 0, listener, 0);
	for (int i = 0; i < 12; i++) {
		long out[64];
		for (int k = 0; k < 64; k++)
			out[k] = i * 100 + k;
		write(ends[1], out, sizeof(out));
		for (int k = 0; k < 2000; k++)
			sum = sum * 5 + k;
		note(3, i, told[i]);
		note(4, i, sum);
		note(5, i, shared);
	}
	stop = 1;
	write(ends[1], "x", 1);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	close(ends[1]);
	note(6, 0, shared);
	note(7, 0, told[5]);
	return 0;
}
C
${CC:-cc} -O1 -g -w -pthread -o target target.c || skip 'no compiler'

# Lines of note() that carry no mark, and are not among those that were printed.
not_printed() { # RECORDING
	timeout 120 "$PUGMARK" values "$1" note --limit 1000 >told 2>&1
	[ $? -lt 128 ] || crashed=$((crashed + 1))
	grep -v '[~?]' told | sed -nE 's/^[0-9]+ [0-9]+ (note\([^)]*\)).*/\1/p' | sort >sure
	comm -13 <(sort printed) sure
}

# One bit of what was captured is another one, one byte is missing, or all from one byte on.
cat >change.py <<'PY'
import sys, random
recording, how, seed = sys.argv[1:4]
random.seed(int(seed))
data = bytearray(open(recording + '/captures', 'rb').read())
at = random.randrange(64, len(data))
if how == 'flip':
    data[at] ^= 1 << random.randrange(8)
elif how == 'remove':
    del data[at]
else:
    del data[at:]
open(recording + '/captures', 'wb').write(data)
PY

wrong=0 recorded=0 sure_at_all=0 hurt=0 crashed=0
for run in $(seq "$runs"); do
	rm -rf rec
	on=()
	[ $((run % 2)) = 0 ] || on=(taskset -c "$one")
	"${on[@]}" "$PUGMARK" record -q --level values -o rec -- ./target >printed 2>err || continue
	recorded=$((recorded + 1))
	not_printed rec >bad
	[ ! -s bad ] || { wrong=$((wrong + 1)); sed "s/^/run $run: /" bad | head -n 3; }
	sure_at_all=$((sure_at_all + $(wc -l <sure)))
	for how in flip remove cut; do
		rm -rf changed
		cp -r rec changed
		python3 change.py changed $how $((run * 3))
		not_printed changed >bad
		[ ! -s bad ] || { hurt=$((hurt + 1)); sed "s/^/run $run, $how: /" bad | head -n 3; }
	done
done
claim 'the program is recorded' is $recorded "$runs"
claim 'what is not marked is what was printed, with threads that race' is $wrong 0
claim 'something is certain nevertheless' test $sure_at_all -gt 0
claim 'nor does damage make anything certain that is not so' is $hurt 0
claim 'and nothing ends by a signal' is $crashed 0
conclude
