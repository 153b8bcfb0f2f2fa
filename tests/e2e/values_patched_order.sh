#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_patched_order.sh: with --carrier patch a process counts the order of its calls in a word that the BPF
# programs read as well. Once there stands more in it than calls can be, as a program that writes over it leaves
# it. The order is none by that: what parent and child then write by turns, the one by calls that it
# notes itself, the other by calls that probes see, is in their replays in the order in which it came.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
[ -x "$BUILD/value/served" ] || skip 'build/value/served is not built (make value-tools)'
work_in_own_folder

cat >turns.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
enum { TURNS = 40, GO = 7 };
static int asks[2], tells[2];
static void say(const char *who, int i)
{
	char line[60];
	if (write(1, line, sprintf(line, "%s %d\n", who, i)) < 0)
		exit(1);
}
static void child(void)
{
	char byte;
	close(asks[1]);
	while (read(asks[0], &byte, 1) == 1) {
		say("child", byte);
		if (write(tells[1], &byte, 1) != 1)
			break;
	}
	_exit(6);
}
int main(void)
{
	char byte;
	if (pipe(asks) || pipe(tells))
		return 1;
	while (getpriority(PRIO_PROCESS, 0) != GO) /* seen by probes, which look at the word */
		usleep(1000);
	if (!fork())
		child();
	close(asks[0]);
	for (int i = 1; i <= TURNS; i++) {
		byte = i;
		say("parent", i);
		if (write(asks[1], &byte, 1) != 1 || read(tells[0], &byte, 1) != 1)
			return 3;
	}
	close(asks[1]);
	wait(NULL);
	return 0;
}
C
${CC:-cc} -O1 -g -w -o turns turns.c || skip 'no compiler'
cat >over.py <<'PY'
import os, re, sys, time
pid = int(sys.argv[1])
for line in open(f"/proc/{pid}/maps"):
    page = re.match(r"(\w+)-(\w+) rw-s .*pugmark-calls", line)
    if page and int(page[2], 16) - int(page[1], 16) == 4096:
        word = int(page[1], 16)
memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)
was = os.pread(memory, 8, word)
os.pwrite(memory, (1 << 39).to_bytes(8, "little"), word)
time.sleep(0.1)
print(int.from_bytes(os.pread(memory, 8, word), "little") == 1 << 39)
os.pwrite(memory, was, word)
os.setpriority(os.PRIO_PROCESS, pid, 7)
PY
./turns >printed &
target=$!
started+=("$target")
"$PUGMARK" record --level values --carrier patch -o rec -p $target >said 2>err &
recorder=$!
await grep -q ': recording' err
claim 'the word is written over, and nothing counts in it meanwhile' is "$(python3 over.py $target)" True
wait $recorder
claim 'both have written by turns' is "$(tail -n 2 printed | paste -sd ,)" 'parent 40,child 40'
claim 'the replays write that in its order' "$BUILD/value/served" rec printed
"$PUGMARK" verify rec >verified 2>err
claim 'all is known to its end' is "$(grep -c '^values of task.*up to its end' verified)" 2
conclude
