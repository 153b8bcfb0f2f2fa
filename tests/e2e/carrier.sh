#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# carrier.sh: patched instructions carry the events that probes do. A program of calls, recursion,
# branches, calls by pointer, threads whose stacks others had, fork, vfork, posix_spawn, exceptions by
# longjmp and signals is recorded both ways: the traces are the same to the last event, and with
# signals, which come when they like, there is no gap. With registers that are not live destroyed it is
# the same; with a random half of the witnesses left to probes as well. What stops in the middle is whole up to there
# and its text is as it was; who finds no room loses events, and says how many.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" nm python3
work_in_own_folder

cat >program.c <<'C'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define FN __attribute__((noipa))
extern char **environ;
static volatile long ticks;
static jmp_buf back;
static __thread long table[64];
FN static void tick(int n) { ticks += n; }
FN static void on_alarm(int signal) { tick(signal); }
FN static long leaf(long x) { return x * 3 + 1; }
FN static long other(long x) { return table[x & 63] + (x ^ 5); }
static long (*volatile by[])(long) = {leaf, other};
FN static long middle(long x)
{
	long r = 0;
	for (int i = 0; i < 3; i++)
		r += by[(x + i) & 1](x + i);
	switch (x % 7) {
	case 0: return leaf(r);
	case 1: return other(r) + leaf(1);
	case 2: r ^= other(2); break;
	case 5: table[x & 63] = r; break;
	}
	return x & 1 ? r + leaf(r) : r;
}
FN static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
FN static void jumps(int n)
{
	leaf(n);
	if (!n)
		longjmp(back, 1);
	jumps(n - 1);
}
FN static long work(long n)
{
	long r = 0;
	for (long i = 0; i < n; i++) {
		r += middle(i);
		if ((r & 7) == 3)
			r ^= leaf(i);
	}
	return r;
}
static void *thread(void *n) { return (void *)work((long)n); }
int main(int argc, char **argv)
{
	struct sigaction on = {.sa_handler = on_alarm};
	struct itimerval often = {{0, 1500}, {0, 1500}}, never = {{0, 0}, {0, 0}};
	char *child[] = {argv[0], "child", NULL};
	int full = argc > 1 ? atoi(argv[1]) : 0;
	pid_t pid;

	if (argc > 1 && !strcmp(argv[1], "child"))
		return work(300) & 1;
	sigaction(SIGALRM, &on, NULL);
	if (argc > 2)
		setitimer(ITIMER_REAL, &often, NULL);
	printf("%ld %ld\n", work(full ? full : 3000), fib(15));
	setitimer(ITIMER_REAL, &never, NULL);
	if (!setjmp(back))
		jumps(9);
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		pid = fork();
		if (!pid)
			_exit(work(200) & 1);
		work(50);
		waitpid(pid, NULL, 0);
	}
	pid = vfork();
	if (!pid) {
		leaf(3);
		middle(4);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	middle(9);
	posix_spawn(&pid, argv[0], NULL, NULL, child, environ);
	waitpid(pid, NULL, 0);
	for (int round = 0; round < 3; round++) {
		pthread_t threads[4];
		void *result;
		for (long i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, thread, (void *)(100 + i));
		for (int i = 0; i < 4; i++) {
			pthread_join(threads[i], &result);
			printf("%ld\n", (long)result);
		}
	}
	return 0;
}
C

told() { # NAME OPTION... -- COMMAND...: the trace without thread numbers in NAME
	local name=$1
	shift
	"$PUGMARK" record -q -o rec --no-times "$@" >"$name.out" 2>err
	"$PUGMARK" dump rec 2>>err | sed 's/^[0-9]* //' >"$name"
	"$PUGMARK" verify rec >"$name.verdict" 2>&1
}

# With LONG=1 one level more, another seed, and five times as many signals.
levels=('-O2 -no-pie' '-O3 -fno-plt -fcf-protection=full') long=30000
[ -z "${LONG:-}" ] || levels+=(-O0) long=150000
for level in "${levels[@]}"; do
	# shellcheck disable=SC2086 # several words
	"${CC:-cc}" $level -pthread -o program program.c || exit 1
	told probe -- ./program
	told patch --carrier patch --on-full wait -- ./program
	claim "$level: it does the same" same probe.out patch.out
	claim "$level: its trace is the same" same probe patch
	claim "$level: most witnesses are patched" grep -qE 'note .* [0-9]+ of [0-9]+ witnesses patched' \
		patch.verdict
	PUGMARK_PATCH_POISON=1 told poison --carrier patch --on-full wait -- ./program
	claim "$level: what is not live is not missed" same probe.out poison.out
	claim "$level: nor in the trace" same probe poison
	for ((seed = 1; seed <= ${SEEDS:-${#levels[@]} - 1}; seed++)); do
		PUGMARK_PATCH_SEED=$seed told mixed --carrier mixed --on-full wait -- ./program
		claim "$level: mixed by seed $seed, its trace is the same" same probe mixed
	done
	told patch --carrier patch --on-full wait -- ./program $long signals
	claim "$level: with signals, exact" grep -q '^complete' patch.verdict
	told probe -- ./program 3000 signals
	claim "$level: and by probes" grep -q '^complete' probe.verdict
done

# A library whose functions call one another by way of the linker: its plan holds where they come to
# itself, which is looked at in the process.
cat >work.c <<'C'
long part(long x) { return x * 3 + 1; }
long rest(long x) { return x > 9 ? rest(x / 2) + part(x) : part(x); }
long work(long n)
{
	long r = 0;
	for (long i = 0; i < n; i++)
		r += i & 1 ? rest(i) : part(r);
	return r;
}
C
cat >caller.c <<'C'
#include <stdio.h>
long work(long n);
int main(void) { return printf("%ld\n", work(20000)) < 0; }
C
"${CC:-cc}" -O1 -shared -fPIC -o libwork.so work.c &&
	"${CC:-cc}" -O1 -o caller caller.c -L. -lwork -Wl,-rpath,"$PWD" || exit 1
told probe --module libwork.so -- ./caller
told patch --module libwork.so --carrier auto --on-full wait -- ./caller
claim 'a library: its trace is the same' same probe patch
claim 'and it does the same' same probe.out patch.out
"$PUGMARK" record -o rec --no-times --module libwork.so --carrier auto --on-full wait -- ./caller >out 2>err
claim 'auto says what it is' grep -q -- '--carrier patch$' err
claim 'a library is patched' eval '! grep -qE " [0-9]{3,} of them .*by probes" err'
"$PUGMARK" record -o rec --carrier auto --time-of work -- ./caller >out 2>err
claim 'auto with times of calls is by probes, and says why' grep -q -- '--carrier probe: .*--time-of' err

# What is patched before it begins needs no probes there, and has none: a program of thousands of
# functions (what it pays for them is measured by bench_carrier.sh). One that its linker calls before
# that is probed until then.
{
	echo '#include <stdio.h>'
	echo 'long f0(long x) { return x; }'
	for ((i = 1; i < 4000; i++)); do echo "long f$i(long x) { return x > $i ? f$((i - 1))(x - 1) + $i : x; }"; done
	echo 'long chosen(void);'
	echo 'int main(void) { return printf("%ld\n", f3999(4002) + chosen()) < 0; }'
} >many.c
echo 'long chosen(void) { return 1; }' >plain.c
cat >resolved.c <<'C'
static long one(void) { return 1; }
__attribute__((noipa)) static long part(long x) { return x + 1; }
static long (*resolve(void))(void) { return part(1) == 2 ? one : 0; }
long chosen(void) __attribute__((ifunc("resolve")));
C
"${CC:-cc}" -O2 -shared -fPIC -o breakpoints.so "$tests/programs/breakpoints.c" &&
	"${CC:-cc}" -O1 -c many.c && "${CC:-cc}" -O1 -o many many.o plain.c &&
	"${CC:-cc}" -O1 -o resolving many.o resolved.c || exit 1
export LD_PRELOAD=$PWD/breakpoints.so
for program in many resolving; do
	export BREAKPOINTS_OF=$program
	BREAKPOINTS=$PWD/$program.probe told probe -- ./$program
	BREAKPOINTS=$PWD/$program.patch told patch --carrier patch -- ./$program
	claim "$program: it does the same" same probe.out patch.out
	claim "$program: its trace is the same" same probe patch
done
unset LD_PRELOAD BREAKPOINTS_OF
claim 'probes are in the text before the program begins' [ "$(cat many.probe)" -gt 1000 ]
for program in many resolving; do
	claim "$program: of what is patched by then there are none" [ "$(cat $program.patch)" -lt 50 ]
done
part=$(nm resolving | awk '$3 == "part" { sub(/^0*/, "", $1); print $1 }')
claim 'what the linker calls is in the trace' grep -q "call .* resolving:$part\$" patch

# In the middle: the text of what goes on is that of the file, but for other people's probes.
"$PUGMARK" record -q -o rec --no-times --carrier patch --on-full wait --duration 0.5 -- ./program 2000000000 2>err
claim 'what is stopped in the middle is whole' eval '"$PUGMARK" verify rec | grep -q "^complete"'
for pid in $(pgrep -x program); do # this folder's, and no other test's
	[ "$(readlink "/proc/$pid/cwd")" = "$(pwd -P)" ] && break
done
started+=("$pid")
claim 'the program goes on' kill -0 "$pid"
cat >text.py <<'PY'
import sys
pid, path = sys.argv[1], sys.argv[2]
data = open(path, 'rb').read()
different = others = 0
for line in open(f'/proc/{pid}/maps'):
    f = line.split()
    lo, hi = (int(x, 16) for x in f[0].split('-'))
    others += 'memfd:pugmark' in line and 'x' in f[1]
    if 'x' not in f[1] or len(f) < 6 or not f[5].endswith('/program'):
        continue
    with open(f'/proc/{pid}/mem', 'rb') as m:
        m.seek(lo)
        have = m.read(hi - lo)
    want = data[int(f[2], 16):][:hi - lo].ljust(hi - lo, b'\0')
    different += sum(a != b for a, b in zip(have, want))
print(different, others)
PY
claim 'every byte is restored, and no code left' is "$(python3 text.py "$pid" program)" '0 0'
kill -9 "$pid"

# The recorder is killed: the program comes to its end, and the right one.
./program 40000000 >plain
"$PUGMARK" record -q -o rec --no-times --carrier patch -- ./program 40000000 >killed 2>err &
recorder=$!
for ((i = 0; i < 400; i++)); do # until it is patched
	pid=$(pgrep -P $recorder -x program) && grep -q memfd:pugmark "/proc/$pid/maps" && break
	sleep 0.02
done
sleep 0.1
kill -9 $recorder
wait $recorder 2>/dev/null
for ((i = 0; i < 200; i++)); do
	[ "$(wc -l <killed)" -ge 13 ] && break
	sleep 0.05
done
claim 'a program whose recorder was killed does what it would' same plain killed

# Coded as it comes, or later: the same. Other work keeps all processors busy, so that nothing is coded
# before the end.
told now --live-coding now --carrier patch --on-full wait -- ./program 100000
hogs=()
for ((i = 0; i < $(nproc) + 1; i++)); do
	(trap - EXIT && exec timeout 60 sh -c 'while :; do :; done') &
	hogs+=($!)
done
started+=("${hogs[@]}")
told later --live-coding later --carrier patch --on-full wait -- ./program 100000
kill "${hogs[@]}"
wait "${hogs[@]}" 2>/dev/null
claim 'what is coded later is what is coded at once' same now later
claim 'and whole' grep -q '^complete' later.verdict
run 2 record --live-coding soon -o rec -- ./program
claim 'when it is to be coded is now or later' grep -q 'live-coding takes now or later' err

# No room: what is lost is told.
"$PUGMARK" record -q -o rec --no-times --carrier patch --lane-memory 0.5 -- ./program 300000 >out 2>err
claim 'what is lost is said' grep -q 'events were lost' err
"$PUGMARK" verify rec >verdict 2>&1
claim 'and is in the trace' grep -qi 'lost' verdict
claim 'of what does not fit before it is told, the loss is the cause' is "$(grep -c 'fits nothing' verdict)" 0
run 2 record --carrier patch --time-of leaf -o rec -- ./program
claim 'times of calls by themselves are refused' grep -q 'no --time-of' err
run 2 record --carrier other --no-times -o rec -- ./program
"${CC:-cc}" -O1 -static -pthread -o static program.c &&
	"$PUGMARK" record -q -o rec --no-times --carrier patch -- ./static >out 2>err
claim 'a static program is probed, and why' \
	eval '"$PUGMARK" verify rec | grep -q "not patched.*dynamic linker"'
conclude
