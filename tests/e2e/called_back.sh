#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# called_back.sh: functions that a library calls back from far below the frame that called it, up to
# 120 kB: the last event before such a call is one of the call before, which lies as far below. They are
# called several times from the same frame, above which earlier calls have left what looks like a call
# in progress. And such that it jumps to as the last thing it does, when the program has jumped to the
# library: they return to the program. And such of another module that is traced. Modes casper and best
# tell what mode full tells of the same run, without a gap.
set -u
skip() { echo "SKIP: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip 'recording needs root here'
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir/cache PUGMARK_NO_TTY=1

cat >library.c <<'C'
#include <alloca.h>
int calls_back(int (*f)(int), int i, unsigned bytes)
{
	volatile char *room = alloca(bytes + 1);
	room[0] = room[bytes] = i;
	return f(i) + room[bytes];
}
int calls_back_often(int (*f)(int), int (*g)(int), int i, unsigned bytes)
{
	volatile char *room = alloca(bytes + 1);
	room[0] = room[bytes] = i;
	return f(i) + g(i) + f(i + 1) + room[bytes];
}
int jumps_back(int (*f)(int), int i)
{
	f(i);
	return f(i + 1);
}
C
cat >program.c <<'C'
#define FN __attribute__((noipa))
int calls_back(int (*f)(int), int i, unsigned bytes);
FN static int called(int i) { return i ^ 1; }
FN static int other(int i) { return i ^ 2; }
FN static int calls(int i, unsigned bytes)
{
	int n = calls_back(called, i, bytes);
	n += calls_back(other, i, bytes);
	return n + calls_back(called, i, 16);
}
int calls_back_often(int (*f)(int), int (*g)(int), int i, unsigned bytes);
FN static int leaves_traces(int deep) { return deep ? leaves_traces(deep - 1) + deep : 0; }
FN static int calls_often(int i, unsigned bytes)
{
	int n = leaves_traces(bytes / 64);
	return n + calls_back_often(called, other, i, bytes);
}
int jumps_back(int (*f)(int), int i);
FN static int jumps(int (*way)(int (*)(int), int), int i) { return way(called, i); }
static int (*volatile jumps_somewhere)(int (*)(int (*)(int), int), int) = jumps;
FN static int many(unsigned bytes)
{
	int n = 0;
	for (int i = 0; i < 4; i++) {
		n += calls(i, bytes);
		n += calls_often(i, bytes);
		n += jumps(jumps_back, i) + jumps_somewhere(jumps_back, i);
	}
	return n;
}
int main(void)
{
	int n = 0;
	for (unsigned bytes = 1; bytes < 61000; bytes += bytes / 2 + 100)
		n += many(bytes) + many(bytes);
	n += many(120000) + many(120000);
	return n < 0;
}
C
${CC:-cc} -O2 -shared -fPIC -o libfar.so library.c && ${CC:-cc} -O2 -o program program.c -L. -lfar ||
	skip 'no compiler'
export LD_LIBRARY_PATH=$dir
"$PUGMARK" record -q -o rec --mode full --twin casper --twin best -- ./program || exit 1
failed=0 m=0
# Two jumps in each of four rounds, made twice for each size: told once each, without a target.
jumps=$(awk 'BEGIN { for (b = 1; b < 61000; b += int(b / 2) + 100) n += 16; print n + 16 }')
for mode in full casper best; do
	"$PUGMARK" dump --module $m rec | cut -d ' ' -f 2- >$mode
	read -r _ events _ witnesses _ gaps < <("$PUGMARK" dump --module $m --count rec)
	echo "$mode: $events events from $witnesses witnesses, $gaps gaps"
	cmp full $mode && [ "$gaps" = 0 ] && [ "$events" -gt 1000 ] || failed=1
	told=$(grep -c '^tail program [0-9a-f]* -$' $mode)
	[ "$told" = "$jumps" ] || { echo "$mode: $told jumps to the library, not $jumps"; failed=1; }
	m=$((m + 1))
done

# What is called back is of another module that is traced: the frame of the program that called the
# library lies as far up, and the stack between is not of that module.
cat >near.c <<'C'
int near_leaf(int i) { return i ^ 3; }
int near_called(int i) { return near_leaf(i) + near_leaf(i + 1); }
C
cat >both.c <<'C'
int calls_back(int (*f)(int), int i, unsigned bytes);
int near_called(int i);
__attribute__((noipa)) static int calls(int i, unsigned bytes)
{
	return calls_back(near_called, i, bytes) + calls_back(near_called, i + 1, bytes / 2);
}
int main(void)
{
	int n = 0;
	for (unsigned bytes = 1; bytes < 61000; bytes += bytes / 2 + 100)
		for (int i = 0; i < 4; i++)
			n += calls(i, bytes);
	return n + calls(0, 120000) < 0;
}
C
${CC:-cc} -O2 -shared -fPIC -o libnear.so near.c && ${CC:-cc} -O2 -o both both.c -L. -lfar -lnear ||
	exit 1
near=$(nm -D libnear.so | sed -nE 's/^0*([0-9a-f]+) T near_called$/\1/p')
calls=$(awk 'BEGIN { for (b = 1; b < 61000; b += int(b / 2) + 100) n += 8; print n + 2 }')
for mode in full casper best; do
	"$PUGMARK" record -q -o rec --mode $mode --module 'libnear*' -- ./both || exit 1
	"$PUGMARK" dump rec >$mode
	gaps=$(grep -c ' gap ' $mode) entered=$(grep -c " enter libnear.so $near callback\$" $mode)
	echo "$mode, of another module: $entered callbacks, $gaps gaps"
	[ "$gaps" = 0 ] && [ "$entered" = "$calls" ] || failed=1
done

# A thread that a library began, which calls back from near its end and from far below in turn: whether
# the function that was called near it has returned is seen only by what lies there when the next call
# comes from far below, each time farther.
cat >begins.c <<'C'
#include <pthread.h>
int calls_back(int (*f)(int), int i, unsigned bytes);
static int (*nearest)(int), (*farthest)(int);
void begun_note(int i) { __asm__ volatile("" : : "r"(i)); }
static void *turns(void *bytes)
{
	for (int i = 0; i < 20; i++) {
		calls_back(farthest, i, (unsigned long)bytes + 64 * i);
		nearest(i);
	}
	return 0;
}
void begins(int (*near)(int), int (*far)(int), unsigned long bytes)
{
	pthread_t thread;
	nearest = near;
	farthest = far;
	pthread_create(&thread, 0, turns, (void *)bytes);
	pthread_join(thread, 0);
}
C
cat >begun.c <<'C'
#define FN __attribute__((noipa))
void begins(int (*near)(int), int (*far)(int), unsigned long bytes);
void begun_note(int i);
static int held[3];
FN static int leaf(int i) { return i ^ 5; }
FN static int let_go(int i) { return leaf(i) + leaf(i + 1); }
FN static int near(int i)
{
	begun_note(i);
	return __atomic_fetch_add(&held[0], i, __ATOMIC_SEQ_CST) == -1 ? let_go(i) : i;
}
FN static int far(int i) { return leaf(i) ^ i; }
int main(void)
{
	for (unsigned long bytes = 1; bytes < 61000; bytes += bytes / 2 + 100)
		begins(near, far, bytes);
	return 0;
}
C
${CC:-cc} -O2 -shared -fPIC -o libbegins.so begins.c -L. -lfar &&
	${CC:-cc} -O2 -o begun begun.c -L. -lbegins -lfar || exit 1
for mode in full casper best; do
	"$PUGMARK" record -q -o rec --mode $mode -- ./begun || exit 1
	"$PUGMARK" dump rec | cut -d ' ' -f 2- >$mode
	gaps=$(grep -c '^gap ' $mode) entered=$(grep -c '^enter ' $mode)
	echo "$mode, of a thread that a library began: $entered entered, $gaps gaps"
	cmp full $mode && [ "$gaps" = 0 ] && [ "$entered" -gt 400 ] || failed=1
done
[ $failed = 0 ]
