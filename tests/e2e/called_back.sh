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
[ $failed = 0 ]
