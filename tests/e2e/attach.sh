#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# attach.sh: attaching to what runs. The trace starts inside the functions that are open, and is exact
# from its first event on: against what the program itself writes down. What can go wrong with a
# process goes wrong here, each with its own message; detaching leaves the text as it was.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
source=$tests/programs/modules.c
work_in_own_folder

record() { "$PUGMARK" record -q -o rec "$@" >out 2>err </dev/null; }
refused() { # TEXT MESSAGE ARGS...: record ARGS fails with one line that says MESSAGE
	record "${@:3}"
	claim "$1: an error" is $? 1
	claim "$1: says so, in one line" is "$(grep -c . err) $(grep -cE "$2" err)" '1 1'
}

cc=("${CC:-cc}" -g0 -O2 -fno-optimize-sibling-calls -fno-stack-clash-protection)
"${cc[@]}" -fPIC -shared -DLOG "$source" -o liblog.so 2>err &&
	"${cc[@]}" -fPIC -shared -finstrument-functions -DPART "$source" -o libpart.so.1 -L. -llog \
		-Wl,-rpath,'$ORIGIN' &&
	"${cc[@]}" -fPIC -shared -finstrument-functions -DPLUGIN "$source" -o plugin.so &&
	"${cc[@]}" -finstrument-functions -rdynamic -pthread -DPROGRAM "$source" -o program \
		./libpart.so.1 -L. -llog -Wl,-rpath,'$ORIGIN' ||
	skip "no compiler for the program: $(head -n 1 err)"

pid=
start() { # COMMAND...: its pid in $pid
	"$@" >log 2>/dev/null &
	pid=$!
	started+=("$pid")
	sleep 0.3
}
end() {
	kill -TERM $pid
	wait $pid 2>/dev/null
}

# Each thread's part of the log must hold what was recovered of it, in one piece, and the functions
# that were open there must be those that the trace says were. Prints how many threads and lines.
agrees() { # DUMP LOG
	awk 'FNR == NR { said[$1, n_said[$1]++] = $2 " " $3 ":" $4; known[$3 ":" $4]; next }
	function add(what, at) { if (at in known) { got[$1, n_got[$1]++] = what " " at; n++ } }
	$2 == "gap" { print "gap: " $0; bad = 1 }
	$2 == "enter" && $5 == "attach" {
		if ($3 ":" $4 in known) open[$1] = open[$1] $3 ":" $4 " "
		attached[$1]
		next
	}
	$2 == "call" || $2 == "tail" { add(">", $5) }
	$2 == "enter" { add(">", $3 ":" $4) }
	$2 == "ret" { add("<", $3 ":" $4) }
	END {
		for (t in n_got) {
			for (at = 0; at + n_got[t] <= n_said[t]; at++) {
				for (k = 0; k < n_got[t] && said[t, at + k] == got[t, k]; k++)
					;
				if (k == n_got[t]) break
			}
			if (k < n_got[t]) { print "thread " t ": not in the log"; bad = 1; continue }
			depth = 0
			for (i = 0; i < at; i++)
				if (said[t, i] ~ />/) stack[depth++] = substr(said[t, i], 3)
				else depth--
			was = ""
			for (i = 0; i < depth; i++) was = was stack[i] " "
			if (was != open[t]) {
				print "thread " t ": open were " was ", not " open[t]
				bad = 1
			}
			threads++
		}
		for (t in attached) old++
		print threads " threads, " old " of them attached, " n " entries and exits"
		exit bad || old < 2 || n < 200
	}' "$2" "$1"
}

for modules in '' '--module libpart* --module ./plugin.so'; do
	start ./program ./plugin.so forever
	# shellcheck disable=SC2086
	record $modules --duration 0.15 -p $pid
	claim "-p $modules: recorded" is $? 0
	end
	"$PUGMARK" dump rec >dump 2>err
	if [ -z "$modules" ]; then
		grep -v 'lib\|plugin' log >part
	else
		mv log part
	fi
	claim "-p $modules: exact from its first event on" agrees dump part
done
claim 'complete, says verify' grep -q '^complete' <("$PUGMARK" verify rec)

# Uninstrumented, nothing in the program itself takes the address of what only the plugin calls.
"${cc[@]}" -rdynamic -pthread -DPROGRAM "$source" -o plain ./libpart.so.1 -L. -Wl,-rpath,'$ORIGIN'
start ./plain ./plugin.so forever
record --duration 0.3 -p $pid
"$PUGMARK" dump -F program_thrice rec >dump
claim 'a plugin that is loaded already: its calls are seen' [ "$(grep -c ' enter ' dump)" -gt 10 ]
claim 'a plugin that is loaded already: complete' grep -q '^complete' <("$PUGMARK" verify rec)
record --duration 0.3 -a ./plain
"$PUGMARK" dump -F program_thrice rec >dump
claim 'the same with -a: its calls are seen' [ "$(grep -c ' enter ' dump)" -gt 10 ]
claim 'the same with -a: complete' grep -q '^complete' <("$PUGMARK" verify rec)
end

# --- the file under a running process -------------------------------------------------------------
start ./program ./plugin.so forever
cp program other && printf x >>other && mv other program
record --duration 0.2 -p $pid
claim 'a binary that was replaced: recorded' is $? 0
claim 'a binary that was replaced: what runs is what is traced' \
	[ "$("$PUGMARK" dump rec | grep -c ' ret program ')" -gt 100 ]
rm program
record --duration 0.2 -p $pid
claim 'a binary that was deleted: recorded' is $? 0
claim 'a binary that was deleted: traced' [ "$("$PUGMARK" dump rec | grep -c ' ret program ')" -gt 100 ]

# --- the text after it -----------------------------------------------------------------------------
# What is mapped executable of the program and its library, as it is in memory.
text_of() {
	awk '$2 ~ /x/ && $6 ~ /program|libpart/ { print $1 }' /proc/$pid/maps | while IFS=- read -r from to; do
		dd if=/proc/$pid/mem bs=4096 skip=$((0x$from / 4096)) \
			count=$(((0x$to - 0x$from) / 4096)) 2>/dev/null | sha256sum
	done
}
text_of >before
"$PUGMARK" record -q -o rec3 --module 'libpart*' -p $pid >out 2>err </dev/null &
recorder=$!
started+=("$recorder")
until [ -s rec3/events ] || ! kill -0 $recorder 2>/dev/null; do sleep 0.05; done
sleep 0.2
text_of >during
kill -INT $recorder
wait $recorder
text_of >after
claim 'there is text, and probes in it' eval '[ "$(wc -l <before)" = 2 ] && ! cmp -s before during'
claim 'detaching leaves the text as it was' cmp before after
end

# --- several, and one that ends --------------------------------------------------------------------
cp plugin.so spare.so
"${cc[@]}" -finstrument-functions -rdynamic -pthread -DPROGRAM "$source" -o program \
	./libpart.so.1 -L. -llog -Wl,-rpath,'$ORIGIN'
start ./program ./plugin.so forever
first=$pid
cp program program2
start ./program2 ./plugin.so forever
record --duration 0.3 -p $first -p $pid
claim 'two processes of two programs: recorded' is $? 0
"$PUGMARK" dump rec >dump
claim 'both are there' eval "grep -q '^$first ret program ' dump && grep -q '^$pid ret program2 ' dump"
kill -9 $first
(until [ -s rec4/events ]; do sleep 0.05; done; kill -9 $pid) &
timeout 30 "$PUGMARK" record -q -o rec4 -p $pid >out 2>err </dev/null
claim 'the end of the process is the end of the recording' is $? 0
claim 'and its trace is complete' grep -q '^complete' <("$PUGMARK" verify rec4)
for pause in 0 0.01 0.02 0.03 0.05 0.08 0.1; do
	./program ./plugin.so forever >/dev/null &
	pid=$!
	started+=("$pid")
	(sleep $pause; kill -9 $pid) &
	timeout 20 "$PUGMARK" record -q -o rec -p $pid >out 2>err </dev/null
	status=$?
	claim "one that ends $pause s after it was asked for: recorded, or named" eval \
		"[ $status = 0 ] || { [ $status = 1 ] && grep -q $pid err; }"
done
wait 2>/dev/null
# While its plan is made it becomes another program: no plan is in the cache.
find cache -name "*.plan" -delete
bash -c 'sleep 0.2; exec sleep 20' &
pid=$!
started+=("$pid")
record -p $pid
claim 'one that becomes another program meanwhile: an error' is $? 1
claim 'that says so' grep -qE 'become another program|has no program' err
kill -9 $pid

# --- workers: those that a process has forked before, and those that it forks later -----------------
cat >workers.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile sig_atomic_t asked = 1;
static volatile int sum;
__attribute__((noipa)) void work(int n) { sum += n; }
static void ask(int signal) { asked = 1; }
int main(void)
{
	signal(SIGHUP, ask);
	for (;; pause())
		for (int i = 0; asked; i++) {
			asked = i == 0;
			int pid = fork();
			if (!pid) {
				for (int k = 0; k < 1000; k++)
					work(k);
				for (;;)
					pause();
			}
			printf("%d\n", pid);
			fflush(stdout);
		}
}
C
"${cc[@]}" -w workers.c -o workers
start ./workers
mapfile -t old <log
started+=("${old[@]}")
"$PUGMARK" record -o rec5 -p $pid >out 2>err </dev/null &
recorder=$!
started+=("$recorder")
until [ -s rec5/reserve ] || ! kill -0 $recorder 2>/dev/null; do sleep 0.05; done
sleep 0.2
kill -HUP $pid
sleep 0.5
kill -INT $recorder
wait $recorder
mapfile -t new < <(tail -n +3 log)
started+=("${new[@]}")
claim 'it has had two workers, and forked two more' is "${#old[@]} ${#new[@]}" '2 2'
claim 'that the two are not traced is said, and what to do' grep -qxE \
	"pugmark: note: 2 processes .* not traced \(add( -p (${old[0]}|${old[1]})){2}, or take -a $PWD/workers\)" err
work=$(nm workers | awk '$3 == "work" { sub(/^0+/, "", $1); print $1 }')
"$PUGMARK" dump rec5 | awk -v work="workers:$work" '$2 == "call" && $5 == work { n[$1]++ } END { for (t in n) print t, n[t] }' | sort -n >got
printf '%s 1000\n' "${new[@]}" | sort -n >expected
claim 'those that it forks from then on are, with all their calls' same expected got
claim 'without a gap' grep -q '^complete' <("$PUGMARK" verify rec5)
"$PUGMARK" record -o rec5 --duration 0.1 $(printf " -p %s" $pid "${old[@]}" "${new[@]}") >out 2>err </dev/null
claim 'nothing to say where all are traced' eval '[ $? = 0 ] && ! grep "not traced" err'
"$PUGMARK" record -o rec5 --duration 0.1 --no-follow -p $pid >out 2>err </dev/null
claim 'nor where none shall be' eval '! grep "not traced" err'
end
kill -9 "${old[@]}" "${new[@]}"

# --- a stack that is too much for the ring ---------------------------------------------------------
cat >deep.c <<'C'
#include <unistd.h>
static volatile int sum;
__attribute__((noipa)) void work(int n) { sum += n; }
__attribute__((noipa)) int deep(int n)
{
	if (n)
		return deep(n - 1) + sum;
	for (;; usleep(1000))
		work(n);
}
int main(void) { return deep(40000); }
C
"${cc[@]}" -w deep.c -o deep
start ./deep
PUGMARK_RING_BYTES=524288 "$PUGMARK" record -o rec6 --duration 0.2 -p $pid >out 2>err </dev/null
claim 'a stack that a small ring has no room for: said' grep -q 'of 1 thread the stack was not copied' err
claim 'and in the recording' grep -q 'was not copied to its end' <("$PUGMARK" verify rec6)
"$PUGMARK" record -o rec6 --duration 0.2 -p $pid >out 2>err </dev/null
claim 'one that there is room for: nothing to say' eval '[ $? = 0 ] && ! grep "not copied" err'
claim 'and every call in progress is known' \
	[ "$("$PUGMARK" dump rec6 | grep -c ' enter deep .* attach\| call deep .*deep:')" -gt 40000 ]
end

# --- what cannot be ----------------------------------------------------------------------------------
refused 'no such process' 'no process 4194303' -p 4194303
[ "$(cat /proc/2/comm 2>/dev/null)" != kthreadd ] || refused 'a kernel thread' 'process 2 has no program: it is a kernel thread' -p 2
cat >headless.c <<'C'
#include <pthread.h>
#include <unistd.h>
static void *wait(void *arg) { return (void *)(long)pause(); }
int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, wait, 0);
	pthread_exit(0);
}
C
if "${cc[@]}" -w -pthread headless.c -o headless; then
	./headless &
	pid=$!
	started+=("$pid")
	await grep -q zombie /proc/$pid/status
	refused 'a process whose first thread has ended' 'its first thread has ended' -p $pid
	kill $pid
fi
bash -c 'exec "$0" record -q -o rec -p $$' "$PUGMARK" >out 2>err </dev/null
claim 'itself: an error' is $? 1
claim 'itself: says so' grep -q 'is this recorder itself' err
cat >small.s <<-'ASM'
	.globl _start
	_start: mov $29, %eax
	int $0x80
	jmp _start
ASM
if as --32 small.s -o small.o 2>/dev/null && ld -m elf_i386 small.o -o small 2>/dev/null; then
	./small &
	pid=$!
	started+=("$pid")
	sleep 0.1
	if kill -0 $pid 2>/dev/null && grep -q small /proc/$pid/comm; then
		refused 'a 32-bit program' 'runs a 32-bit program' -p $pid
	fi
	kill -9 $pid 2>/dev/null
fi
start ./program ./plugin.so forever
thread=$(ls -v /proc/$pid/task | sed -n 2p)
refused 'a thread' "$thread is a thread of process $pid" -p "$thread"
if command -v setpriv >/dev/null; then
	chmod 711 "$dir"
	setpriv --reuid 65534 --clear-groups "$PUGMARK" record -q -o /tmp/never -p $pid >out 2>err </dev/null
	claim 'without permission: an error' is $? 1
	claim 'without permission: names what is missing' grep -qE 'CAP_|root|not allowed|permission' err
fi
mkdir small_disk
if unshare -m true 2>/dev/null; then
	unshare -m sh -c 'mount -t tmpfs -o size=400k none small_disk &&
		"$0" record -q -o small_disk/rec --module "libpart*" -p $1 >out 2>err </dev/null; echo $? >status
		"$0" dump small_disk/rec >dump' "$PUGMARK" $pid
	claim 'a full disk: an error' is "$(cat status)" 1
	claim 'a full disk: says so' grep -q 'the disk is full' err
	claim 'a full disk: what is written reads back' [ "$(grep -c ' ret ' dump)" -gt 1000 ]
	text_of >after
	claim 'a full disk: detached' eval 'cmp before after || [ "$(wc -l <after)" = 2 ]'
	claim 'a full disk: the process goes on' kill -0 $pid
fi
end
conclude
