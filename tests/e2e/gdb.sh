#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# gdb.sh: gdb on a recording of level values: it goes to a function and back, and finds by a
# watchpoint backwards who has written a variable. The truth is the program's own source.
set -u
PUGMARK=${PUGMARK:?} CC=${CC:-gcc}
skip() {
	printf 'SKIP %s\n' "$1"
	exit 0
}
[ "$(id -u)" = 0 ] || skip 'needs root'
command -v gdb >/dev/null || skip 'needs gdb'
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

cat >"$work/p.c" <<'C'
volatile long total, other;
__attribute__((noinline)) void add(long n) { total += n * n; }
__attribute__((noinline)) void spoil(long n) { if (n == 7) total = -1; other += n; }
__attribute__((noinline)) long last(void) { return total; }
int main(void)
{
	for (long i = 1; i <= 9; i++)
		add(i), spoil(i);
	return last() == 8 * 8 + 9 * 9 - 1 ? 0 : 1;
}
C
$CC -O1 -g -o "$work/p" "$work/p.c" || exit 1
"$PUGMARK" record --level values -o "$work/r" -- "$work/p" 2>"$work/err"
status=$?
if [ $status != 0 ]; then
	grep -qi 'bpf\|permitted' "$work/err" && skip 'no BPF here'
	cat "$work/err"
	exit 1
fi
timeout 60 gdb -q -batch -nx -ex 'set remotetimeout 60' -ex "target remote | '$PUGMARK' gdb --serve '$work/r'" \
	-ex 'break last' -ex continue -ex 'print total' -ex 'watch total' -ex reverse-continue \
	-ex reverse-continue -ex 'print total' -ex reverse-continue -ex 'print total' -ex 'info symbol $pc' \
	-ex 'delete' -ex 'break add' -ex 'reverse-continue' -ex 'print n' -ex kill "$work/p" \
	>"$work/out" 2>&1
failed=0
expect() { # WHAT TIMES PATTERN
	local n
	n=$(grep -c -- "$3" "$work/out")
	[ "$n" -ge "$2" ] && return
	printf 'FAIL %s: %d of %d\n' "$1" "$n" "$2"
	failed=1
}
printf 'break last\ncontinue\nprint total\n' | timeout 60 "$PUGMARK" gdb "$work/r" >>"$work/out" 2>&1
expect 'commands that come through a pipe' 1 '^(gdb) \$1 = 144$'
timeout 60 "$PUGMARK" gdb "$work/none" </dev/null >>"$work/out" 2>&1; echo "no recording: $?" >>"$work/out"
expect 'what is no recording: an error, and no gdb' 1 '^no recording: 1$'
expect 'the value in last()' 1 '^\$1 = 144$'
expect 'before the ninth and the eighth square' 1 '^\$2 = -1$'
expect 'before it was spoilt: 1 + 4 + ... + 49' 1 '^\$3 = 140$'
expect 'who has done it' 1 '^spoil'
expect 'the call before it' 1 '^\$4 = 7$'
[ $failed = 0 ] || cat "$work/out"
exit $failed
