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
char word[16] = "a word";
/* The zero behind the word is found, and read, at rdi, upwards; the word is cleared downwards. */
__attribute__((noinline)) void find(char *at, long n) { __asm__ volatile("repne scasb" : "+D"(at), "+c"(n) : "a"(0)); }
__attribute__((noinline)) void clear(char *at, long n) { __asm__ volatile("std; rep stosb; cld" : "+D"(at), "+c"(n) : "a"(0) : "memory"); }
__attribute__((noinline)) void add(long n) { total += n * n; }
__attribute__((noinline)) void spoil(long n) { if (n == 7) total = -1; other += n; }
__attribute__((noinline)) long last(void) { return total; }
int main(void)
{
	for (long i = 1; i <= 9; i++)
		add(i), spoil(i);
	find(word, sizeof(word)), clear(word + 7, 8);
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
timeout 60 gdb -q -batch -nx -ex 'set remotetimeout 60' -ex "target remote | '$PUGMARK' gdb --serve '$work/r'" \
	-ex 'break find' -ex continue -ex 'delete' -ex 'rwatch *(char *)(word + 3)' -ex continue -ex 'info symbol $pc' -ex 'delete' \
	-ex 'watch *(char *)(word + 1)' -ex 'break *$pc' -ex continue -ex 'info symbol $pc' -ex kill "$work/p" >>"$work/out" 2>&1
# A watched place that is set before a breakpoint of the instruction that writes it.
cat >"$work/z.c" <<'C'
volatile long place;
__attribute__((noinline)) void once(void) { __asm__ volatile(".globl store\nstore: movq $5, place(%%rip)" ::: "memory"); }
int main(void)
{
	once(), once(), once();
	return 0;
}
C
cat >"$work/packets.py" <<'PYTHON'
# What each move stops for.
import subprocess, sys
pugmark, recording, place, store = sys.argv[1:]
server = subprocess.Popen([pugmark, "gdb", "--serve", recording], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def ask(packet):
    server.stdin.write(f"+${packet}#{sum(packet.encode()) % 256:02x}".encode())
    server.stdin.flush()
    while server.stdout.read(1) != b"$":
        pass
    answer = b""
    while (byte := server.stdout.read(1)) != b"#":
        answer += byte
    server.stdout.read(2)
    return answer.decode()
def why(packet):
    answer = ask(packet)
    return "watch" if "watch" in answer else answer[:3]
assert ask(f"Z2,{place},8") == ask(f"Z0,{store},1") == "OK"
print(*[why(p) for p in ("c", "c", "c", "c", "bc", "bc")])
server.stdin.write(b"+")
server.stdin.close()
server.wait()
PYTHON
address() { nm "$work/z" | awk -v n="$1" '$3 == n { print $1 }' | sed 's/^0*//'; }
$CC -O1 -no-pie -o "$work/z" "$work/z.c" && "$PUGMARK" record -q --level values -o "$work/z.rec" -- "$work/z" 2>"$work/err" &&
	timeout 60 python3 "$work/packets.py" "$PUGMARK" "$work/z.rec" "$(address place)" "$(address store)" >>"$work/out" 2>&1
# The program is built again: it is another.
cp "$work/p.c" "$work/q.c" && echo 'int more;' >>"$work/q.c" && mv "$work/p" "$work/was" &&
	$CC -O1 -g -o "$work/p" "$work/q.c" || exit 1
timeout 60 gdb -q -batch -nx -ex 'set remotetimeout 60' -ex "target remote | '$PUGMARK' gdb --serve '$work/r'" \
	-ex 'info files' -ex kill >"$work/stale" 2>&1
mv "$work/was" "$work/p"
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
# Each thread has its own of what is thread-local.
cat >"$work/l.c" <<'C'
#include <pthread.h>
__thread char pad;
__thread long mine __attribute__((aligned(64))) = 5;
__attribute__((noinline)) long bump(long x) { mine += x; return mine; }
static void *run(void *a) { for (int i = 0; i < 3; i++) bump((long)a); return 0; }
int main(void)
{
	pthread_t t;
	bump(1);
	pthread_create(&t, 0, run, (void *)10);
	pthread_join(t, 0);
	return bump(2) != 8;
}
C
$CC -O1 -g -pthread -o "$work/l" "$work/l.c" && "$PUGMARK" record -q --level values -o "$work/rl" -- "$work/l" 2>"$work/err"
printf '%s\n' 'break bump if x == 10' continue continue 'thread apply all print mine' 'print errno' |
	timeout 60 "$PUGMARK" gdb "$work/rl" >>"$work/out" 2>&1
expect "a thread's own variable" 1 '^\$[0-9]* = 15$'
expect "the other thread's" 1 '^\$[0-9]* = 6$'
expect "a library's is refused" 1 'failed to process qGetTLSAddr'
# A system call that no table knows may have written anything: what is assumed is told, as gdb has no mark for it.
cat >"$work/a.c" <<'C'
#define _GNU_SOURCE
#include <sys/socket.h>
__attribute__((noinline)) int show(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int exact = 5;
int main(void)
{
	int fds[2], got = 0, sent = 42;
	struct iovec at = {&got, sizeof(got)};
	struct mmsghdr m = {.msg_hdr = {.msg_iov = &at, .msg_iovlen = 1}};
	socketpair(AF_UNIX, SOCK_DGRAM, 0, fds);
	send(fds[0], &sent, sizeof(sent), 0);
	recvmmsg(fds[1], &m, 1, 0, 0);
	exact = 6;
	return show(got) != 43;
}
C
$CC -O0 -g -o "$work/a" "$work/a.c" && "$PUGMARK" record -q --level values -o "$work/ra" -- "$work/a" 2>"$work/err"
cat >"$work/commands" <<'G'
monitor exactness
eval "monitor exactness %lu %lu", &exact, sizeof(exact)
break show
continue
monitor exactness
up
eval "monitor exactness %lu %lu", &got, sizeof(got)
print got
monitor where
monitor nonsense
continue
G
timeout 60 "$PUGMARK" gdb "$work/ra" <"$work/commands" >>"$work/out" 2>&1
# The first instruction of a handler comes behind the one that the signal has found.
cat >"$work/s.c" <<'C'
#include <signal.h>
#include <unistd.h>
volatile int got;
__attribute__((noinline)) void handle(int n) { got = n; }
int main(void)
{
	signal(SIGALRM, handle);
	for (ualarm(3000, 0); !got;)
		;
	return got != SIGALRM;
}
C
$CC -O1 -g -o "$work/s" "$work/s.c" && "$PUGMARK" record -q --level values -o "$work/rs" -- "$work/s" 2>"$work/err" &&
	printf '%s\n' 'break *handle' continue 'info symbol $pc' 'print $edi' 'reverse-stepi' 'info symbol $pc' stepi 'print $pc == handle' |
	timeout 60 "$PUGMARK" gdb "$work/rs" | sed 's/^(gdb) /handler: /' >>"$work/out" 2>&1
# Registers of the x87 unit that are in use, empty, zero and special, as in the program itself.
cat >"$work/x.c" <<'C'
volatile long double third = 1 / 3.0L, zero, huge = __builtin_infl();
__attribute__((noinline)) void full(void)
{
	__asm__ volatile("fldt %0; fldt %1; fldt %2; fld1; fstp %%st(0)\n.globl here\nhere: nop\n"
			 "fstp %%st(0); fstp %%st(0); fstp %%st(0)" : : "m"(third), "m"(zero), "m"(huge));
}
int main(void) { full(); return 0; }
C
printf '%s\n' 'break *here' 'PLACE' 'info float' 'print $fs_base != 0' >"$work/x.commands"
$CC -O1 -g -o "$work/x" "$work/x.c" && "$PUGMARK" record -q --level values -o "$work/rx" -- "$work/x" 2>"$work/err" &&
	sed 's/PLACE/continue/; $a set var third = 2' "$work/x.commands" | timeout 60 "$PUGMARK" gdb "$work/rx" >"$work/x.out" 2>&1
sed 's/PLACE/run/' "$work/x.commands" | gdb -q -nx "$work/x" >"$work/x.live" 2>&1
for i in out live; do
	sed -nE 's/^(\(gdb\) )?(=>| *)(R[0-7]: |Tag Word|Status Word)/x87: \3/p' "$work/x.$i" >"$work/x87.$i"
done
cmp -s "$work/x87.out" "$work/x87.live" && cat "$work/x87.out" >>"$work/out"
sed -n 's/^(gdb) \$1 = /fs_base: /p' "$work/x.out" >>"$work/out"
grep 'this is a recording' "$work/x.out" >>"$work/out"
timeout 60 "$PUGMARK" gdb "$work/none" </dev/null >>"$work/out" 2>&1; echo "no recording: $?" >>"$work/out"
expect 'what is no recording: an error, and no gdb' 1 '^no recording: 1$'
expect 'the value in last()' 1 '^\$1 = 144$'
expect 'before the ninth and the eighth square' 1 '^\$2 = -1$'
expect 'before it was spoilt: 1 + 4 + ... + 49' 1 '^\$3 = 140$'
expect 'who has done it' 1 '^spoil'
expect 'the call before it' 1 '^\$4 = 7$'
expect 'a breakpoint is hit before what its instruction writes' 1 '^T05 watch T05 watch watch watch$'
expect 'what scas has read' 1 '^find'
expect 'what stos has written downwards' 1 '^clear'
grep -q "not the file that was recorded: gdb is not given it" "$work/stale" && ! grep -q "Symbols from" "$work/stale" || {
	echo 'FAIL a program that was built again is given to gdb'
	cat "$work/stale"
	failed=1
}
expect 'what is assumed is told' 1 '^.*pugmark: assumed, not exact: rax, '
expect 'of memory as well' 1 'pugmark: assumed, not exact: memory at 0x'
expect 'at first nothing was' 1 '^assumed: none$'
expect 'then registers' 1 '^assumed: rax, .*rdi'
expect 'memory too' 1 '^(gdb) 0x[0-9a-f]*, 4 bytes: exact$'
expect 'what may have been written is not' 1 '^(gdb) 0x[0-9a-f]*, 4 bytes: assumed$'
expect 'a handler begins with its first instruction' 1 '^handler: handle in '
expect 'with its argument' 1 '^handler: \$1 = 14$'
expect 'before it the task was where the signal came' 1 '^handler: main + '
expect 'from where one step leads there' 1 '^handler: \$2 = 1$'
expect 'which x87 registers are in use, as gdb tells of the program itself' 5 '^x87: R[0-7]: Empty'
expect 'what a zero is' 1 '^x87: R[0-7]: Zero'
expect 'what an infinity is' 1 '^x87: R[0-7]: Special'
expect 'what a number is' 1 '^x87: R[0-7]: Valid'
expect 'where the thread has its own memory' 1 '^fs_base: 1$'
expect 'why nothing can be changed' 1 'pugmark: this is a recording: memory and registers cannot be changed'
expect 'where it is' 1 '^(gdb) task 1, behind [0-9]* of its instructions$'
expect 'what there is' 1 '^monitor exactness '
[ $failed = 0 ] || cat "$work/out"
exit $failed
