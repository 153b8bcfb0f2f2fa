#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# gdb_threads.sh: gdb on a recording of level values of a program with four threads, recorded with
# and without --one-processor: it lists them, goes to one and back, and stops in whichever comes to a
# breakpoint or a watched place first. And on one of C++ objects in which some bytes are not known.
# The truth is the programs' own source.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs gdb gcc g++
needs_recording
work_in_own_folder

cat >t.c <<'C'
#include <pthread.h>
volatile long total[4];
__attribute__((noinline)) void add(long who, long n) { total[who] += n; }
__attribute__((noinline)) long done(long who) { return total[who]; }
static void *work(void *p)
{
	long who = (long)p;
	for (long i = 1; i <= 100 * (who + 1); i++)
		add(who, i);
	done(who);
	return 0;
}
int main(void)
{
	pthread_t t[4];
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], 0, work, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	return 0;
}
C
cat >o.cc <<'C'
#include <map>
#include <optional>
#include <string>
struct gap { char c; long n; };
__attribute__((noinline)) void look(std::string &s, std::map<int, int> &m, std::optional<long> &o, gap &g)
{
	asm volatile("vpcmpeqd %%ymm3, %%ymm3, %%ymm3" ::"r"(&s), "r"(&m), "r"(&o), "r"(&g)
		     : "memory", "xmm3");
	asm volatile("nop");
}
int main()
{
	std::string s = "hello";
	std::map<int, int> m{{1, 2}, {3, 4}};
	std::optional<long> o = 7;
	gap g;
	g.c = 'x';
	g.n = 5;
	look(s, m, o, g);
	return 0;
}
C
gcc -O1 -g -pthread -o t t.c && g++ -std=c++17 -mavx2 -O1 -g -o o o.cc || exit 1

record() { "$PUGMARK" record --level values "$@" 2>err; } # ARGUMENT...
debug() { # OUTPUT DIR PROGRAM COMMAND...
	local out=$1 dir=$2 program=$3 commands=() command
	shift 3
	for command; do commands+=(-ex "$command"); done
	timeout 120 gdb -q -batch -nx -ex 'set confirm off' -ex 'set remotetimeout 60' -ex "target remote | '$PUGMARK' gdb --serve '$dir'" \
		"${commands[@]}" "$program" >"$out" 2>&1
}
says() { # FILE TIMES PATTERN
	[ "$(grep -cE -- "$3" "$1")" = "$2" ] || { cat "$1"; return 1; }
}

# Each thread comes to done() once, with its own sum, in both directions.
all_come() { # NAME
	claim "$1: each of the four stops in done(), forward and back" says "$1.all" 8 'hit Breakpoint 1, done'
	for sum in 5050 20100 45150 80200; do
		claim "$1: forward and back, a thread has summed up $sum" says "$1.all" 2 "^\\\$[0-9]+ = $sum\$"
	done
	claim "$1: then what was recorded ends, and begins" says "$1.all" 2 'No more reverse-execution history'
}
# Where one has come to the breakpoint, all that are there can be shown, and moved.
one_moves() { # NAME
	claim "$1: the threads are listed by task, and named" says "$1.one" 1 '^\* [0-9] +Thread [2-5] \(t, tid [0-9]+\) +done'
	claim "$1: the first waits for one, or makes one" grep -qE '^#[0-9] .*main \(\)' "$1.one"
	claim "$1: a thread's own frames" says "$1.one" 1 '^#1 .* work \(p=0x1\)'
	claim "$1: back to the last sum, and the one before" says "$1.one" 1 '^\$2 = 19900$'
	claim "$1: and so on" says "$1.one" 1 '^\$3 = 19701$'
	claim "$1: forward in that thread alone, past the other threads' breakpoint" says "$1.one" 1 '^\$4 = 1$'
	claim "$1: the moment of another thread's start: that one has not added" says "$1.one" 1 '^\$5 = 0$'
}
for how in together apart; do
	flag=()
	[ $how = apart ] || flag=(--one-processor)
	record "${flag[@]}" -o "$how" -- ./t || { cat err; grep -qi 'bpf\|permitted' err && skip 'no BPF here'; exit 1; }
	sums=()
	for ((i = 0; i < 4; i++)); do sums+=(continue 'print total[who]'); done
	back=()
	for ((i = 0; i < 4; i++)); do back+=(reverse-continue 'print total[who]'); done
	debug $how.all $how t 'break done' "${sums[@]}" continue "${back[@]}" reverse-continue
	debug $how.one $how t 'break done if who == 1' continue 'print who' 'info threads' 'set $mine = $_thread' 'thread 1' bt \
		'thread $mine' bt 'delete' 'watch total[1]' reverse-continue 'print total[1]' reverse-continue \
		'print total[1]' 'delete' 'set scheduler-locking on' 'break done' continue 'print who' \
		'delete' 'break work' reverse-continue 'print total[1]'
	all_come $how
	one_moves $how
done

record -o objects -- ./o || { cat err; exit 1; }
debug objects.out objects o 'break look' continue 'stepi' 'print s' 'print m' 'print o' 'print g' 'print g.n' \
	'print/x *(long *)&g.c' 'print $ymm3.v4_int64' 'print $ymm15.v4_int64'
claim 'a string of which not all bytes are known' says objects.out 1 '= "hello"$'
claim 'a map' says objects.out 1 '= std::map with 2 elements = \{\[1\] = 2, \[3\] = 4\}$'
claim 'an optional' says objects.out 1 'contained value\] = 7\}$'
claim 'a structure with a gap, and what of it is not known' says objects.out 1 "\{c = 120 'x', n = 5\}\$"
claim 'is named' says objects.out 1 'pugmark: not known, zeros stand for it: 0x[0-9a-f]+, 7 bytes'
claim 'a number of which not all bytes are known is refused' says objects.out 1 '^Cannot access memory'
debug registers.out objects o 'break look' continue 'nexti' 'print $ymm3.v4_int64'
claim 'a wide register' says registers.out 1 '= \{-1, -1, -1, -1\}$'
conclude
