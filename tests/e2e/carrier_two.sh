#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# carrier_two.sh: a process that one recorder patches is not probed by another one, whose probes in the same file
# would tear patches: it is refused, with the process named, and the process goes on with what its file has.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" python3
work_in_own_folder

cat >works.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#define FN __attribute__((noipa))
static volatile int over;
FN static long leaf(long x) { return x * 3 + 1; }
FN static long fib(long n) { return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2); }
FN static void on_term(int s) { over = s; }
int main(void)
{
	long wrong = 0;
	signal(SIGTERM, on_term);
	if (write(1, "ready\n", 6) < 0)
		return 2;
	for (; !over; usleep(2000))
		wrong += fib(12) != 665;
	printf("%ld wrong\n", wrong);
	return 0;
}
C
cat >differs.py <<'P'
import sys
pid, path = sys.argv[1:]
file, mem, n = open(path, "rb").read(), open(f"/proc/{pid}/mem", "rb"), 0
for line in open(f"/proc/{pid}/maps"):
    words = line.split()
    if words[-1].endswith("/works") and "x" in words[1]:
        start, end = (int(x, 16) for x in words[0].split("-"))
        mem.seek(start)
        was = file[int(words[2], 16):][:end - start]
        n += sum(a != b for a, b in zip(mem.read(end - start), was))
print(n)
P
"${CC:-cc}" -O2 works.c -o works 2>err || skip "does not compile: $(head -n 1 err)"
mkfifo out
./works >out &
pid=$!
started+=("$pid")
exec 5<out
read -r ready <&5
timeout 300 "$PUGMARK" record -p $pid --carrier patch -o first >first.out 2>first.err &
first=$!
for _ in $(seq 200); do
	[ "$(python3 differs.py $pid works)" -gt 0 ] && break
	sleep .05
done
claim "it is patched" [ "$(python3 differs.py $pid works)" -gt 0 ]
for carrier in probe patch; do
	run 1 record -q -p $pid --carrier $carrier --duration .3 -o second
	claim "a second recorder, --carrier $carrier, is refused, with the process named" grep -q "process $pid is patched by another" err
done
kill "$first"
wait $first
claim "the first one ends as it should" [ $? = 0 ]
claim "the text is as in its file" is "$(python3 differs.py $pid works)" 0
claim "and then it can be recorded" "$PUGMARK" record -q -p $pid --carrier probe --duration .3 -o third
kill $pid
read -r last <&5
wait $pid
claim "the program ends by itself" [ $? = 0 ]
claim "with the right results" is "$last" '0 wrong'
conclude
