#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# carrier_two.sh: a process that one recorder patches is not probed by another one, whose probes in the same file
# would tear patches: it is refused, with the process named, and the process goes on with what its file has. One
# recorder at a time places probes or patches in a file: another one waits for some seconds. Who comes to patch a
# process that is probed leaves those probes where they are.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" python3 flock
work_in_own_folder

cat >works.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define FN __attribute__((noipa))
static volatile int over;
FN static long leaf(long x) { return x * 3 + 1; }
FN static long fib(long n) { return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2); }
FN static void on_term(int s) { over = s; }
int main(int argc, char **argv)
{
	long wrong = 0, rounds = argc > 1 ? atol(argv[1]) : 1L << 40;
	signal(SIGTERM, on_term);
	if (write(1, "ready\n", 6) < 0)
		return 2;
	for (; !over && rounds--; usleep(2000))
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
mkfifo told
./works >told &
pid=$!
started+=("$pid")
exec 5<told
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

# A lock that others take of their program's file, as `flock ./works ./works` does, is no turn.
exec 9<works
flock 9
for carrier in probe patch; do
	claim "a file that is locked by others is recorded, --carrier $carrier" \
		timeout 60 "$PUGMARK" record -q -p $pid --carrier $carrier --duration .2 -o locked.$carrier
done
exec 9<&-

# Nor is one of the whole file, which reaches each of its bytes.
cat >reads.py <<'P'
import fcntl, sys, time
file = open(sys.argv[1])
fcntl.lockf(file, fcntl.LOCK_SH)
print("held", flush=True)
time.sleep(300)
P
: >held
python3 reads.py works >held &
reader=$!
started+=("$reader")
await grep -q held held
for carrier in probe patch; do
	claim "a file that another one reads under a lock is recorded, --carrier $carrier" \
		timeout 60 "$PUGMARK" record -q -p $pid --carrier $carrier --duration .2 -o read.$carrier
done

# Somebody else's turn, which is a lock of one byte of the file: for a moment, or for long.
cat >holds.py <<'P'
import fcntl, struct, sys, time
file = open(sys.argv[1])
fcntl.fcntl(file, 37, struct.pack("hhqqi", fcntl.F_RDLCK, 0, 1 << 62, 1, 0))  # F_OFD_SETLK
print("held", flush=True)
time.sleep(300)
P
hold() {
	: >held
	python3 holds.py works >held &
	holder=$!
	started+=("$holder")
	await grep -q held held
}
hold
claim 'and nobody else is in the way of their locks' flock -n works true
timeout 100 "$PUGMARK" record -q -p $pid --carrier probe --duration .2 -o waits >waits.out 2>&1 &
waits=$!
sleep 4
claim "who waits for a turn has begun no recording" [ ! -e waits ]
claim "nor placed a probe" is "$(python3 differs.py $pid works)" 0
kill $holder
wait $waits
claim "and records when it comes" [ $? = 0 ]
hold
never=()
for carrier in probe patch; do
	timeout 100 "$PUGMARK" record -q -p $pid --carrier $carrier --duration .2 -o never.$carrier \
		>never.$carrier.out 2>&1 &
	never+=("$!")
done
timeout 100 "$PUGMARK" record -q --carrier patch -o never.start ./works >never.start.out 2>&1 &
never+=("$!")
for one in "${never[@]}"; do
	wait "$one"
	claim "who waits for long gives up" [ $? = 1 ]
done
for how in probe patch start; do
	claim "and says so, and who has it ($how)" \
		grep -q "works: process $holder places probes or patches there,.* since.*(try again" never.$how.out
done
kill $holder $reader

# Probes are there when somebody comes to patch; they go before its patches, or after.
declare -A recorder
attach_by() { # CARRIER WHO RECORDING
	timeout 60 "$PUGMARK" record -p $pid --carrier "$1" -o "$3" >"$3.err" 2>&1 &
	recorder[$2]=$!
	for _ in $(seq 200); do
		grep -q ': recording' "$3.err" && break
		sleep .05
	done
}
for first in prober patcher; do
	[ $first = prober ] && second=patcher || second=prober
	attach_by probe prober probes.$first
	probed=$(python3 differs.py $pid works)
	attach_by patch patcher patches.$first
	claim "probes of another recorder stay" grep -qE ' [1-9][0-9]* since somebody else has a breakpoint there' patches.$first.err
	claim "and others are patched" grep -qE ' [1-9][0-9]* of [0-9]+ witnesses patched' patches.$first.err
	kill "${recorder[$first]}"
	wait "${recorder[$first]}"
	claim "the $first ends first, as it should" [ $? = 0 ]
	[ $first = prober ] ||
		claim "the probes are as they were" is "$(python3 differs.py $pid works)" "$probed"
	if [ "$second" = prober ]; then # nobody patches now
		run 0 record --carrier patch -o starts.it ./works 300
		cp out starts.out
		cp err starts.err
	fi
	kill "${recorder[$second]}"
	wait "${recorder[$second]}"
	claim "the $second ends as it should" [ $? = 0 ]
	claim "the text is as in its file" is "$(python3 differs.py $pid works)" 0
	for one in probes patches; do
		run 0 verify $one.$first
		claim "what came by $one is complete" grep -q '^complete' out
	done
done
claim "what is started while another recorder probes its file is patched elsewhere" \
	grep -qE ' [1-9][0-9]* of .*somebody else has a breakpoint at [1-9]' starts.err
claim "and ends with the right results" grep -q '^0 wrong' starts.out
run 0 verify starts.it
claim "recorded completely" grep -q '^complete' out
kill $pid
read -r last <&5
wait $pid
claim "the program ends by itself" [ $? = 0 ]
claim "with the right results" is "$last" '0 wrong'
conclude
