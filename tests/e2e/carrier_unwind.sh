#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# carrier_unwind.sh: whoever unwinds a patched process finds what is behind a trampoline: a profiler by
# signals that walks its own stack, exceptions that a handler of a signal throws where a load in a
# trampoline failed, threads that are cancelled while they run, and gdb. When the patches are taken out
# nothing that leads to them is left.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" "${CXX:-c++}" gdb python3
work_in_own_folder

# Calls that are patched, and a walk of the stack every 2 ms. Says how many reached main(), and how many
# of all were interrupted in a trampoline.
cat >walk.c <<'C'
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <unwind.h>
#include "brought_code.h"
#define FN __attribute__((noipa))
static volatile long walks, whole, inside;
static volatile sig_atomic_t stop;
int main(int argc, char **argv);
FN static long leaf(long x) { return x * 3 + 1; }
FN static long other(long x) { return x ^ (x >> 3); }
static long (*volatile by[])(long) = {leaf, other};
FN static long middle(long x)
{
	long r = 0;
	for (int i = 0; i < 3; i++)
		r += by[(x + i) & 1](x + i);
	return x & 1 ? r + leaf(r) : r;
}
FN static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
struct walk { int main, inside; };
static _Unwind_Reason_Code frame(struct _Unwind_Context *c, void *context)
{
	struct walk *w = context;
	uintptr_t ip = _Unwind_GetIP(c);
	w->inside |= ip >= from && ip < to;
	w->main |= _Unwind_GetRegionStart(c) == (uintptr_t)main;
	return _URC_NO_REASON;
}
static void on_alarm(int s)
{
	struct walk w = {0};
	(void)s;
	_Unwind_Backtrace(frame, &w);
	walks++;
	whole += w.main;
	inside += w.inside;
}
static void on_term(int s) { (void)s; stop = 1; }
int main(int argc, char **argv)
{
	struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0}};
	long want = atol(argv[1]), r = 0;
	signal(SIGALRM, on_alarm);
	signal(SIGTERM, on_term);
	find_brought_code("pugmark");
	if (argc == 2) /* or without walks */
		setitimer(ITIMER_REAL, &often, NULL);
	for (long i = 0; !stop && walks < want; i++) {
		r += middle(i) + fib(8);
		if (argc > 2 && i % 2000 == 0)
			usleep(2000);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%ld of %ld, %ld inside\n", whole, walks, inside);
	return r == 7;
}
C
"${CC:-cc}" -O2 -I"$tests/support" -o walk walk.c || exit 1
all_whole() { # LEAST [INSIDE]
	awk -v least="$1" -v inside="${2:-0}" '{ exit !($1 == $3 + 0 && $1 >= least && $4 >= inside) }' out
}
"$PUGMARK" record -q -o rec --carrier patch -- ./walk 300 >out 2>err
claim 'a profiler that walks by libgcc sees whole stacks' all_whole 300
claim 'many of them from within a trampoline' all_whole 300 30
claim 'and nothing but the recording is left in its folder' eval '! ls rec/*.elf 2>/dev/null'

# What a handler throws where a load has failed; and threads that are cancelled in the midst.
cat >leave.cc <<'C'
#include <atomic>
#include <csignal>
#include <cstdio>
#include <pthread.h>
#include <unistd.h>
#define FN __attribute__((noipa))
struct far { char before[4096]; long value; };
static std::atomic<int> left;
static volatile int begun;
struct guard { ~guard() { left++; } };
FN static long value_of(const far *f) { return f->value + 1; }
static long (*volatile by)(const far *) = value_of;
FN static long try_it(const far *f)
{
	guard g;
	try {
		return by(f);
	} catch (int n) {
		return n;
	}
}
static void on_fault(int) { throw 7; }
FN static long leaf(long x) { return x * 3 + 1; }
FN static long other(long x) { return leaf(x) ^ (x >> 3); }
static long (*volatile any[])(long) = {leaf, other};
FN static void run()
{
	begun = begun + 1;
	for (long i = 0;; i++)
		any[i & 1](i);
}
FN static void clean(void *) { left++; }
static void *thread(void *)
{
	int was;
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &was);
	pthread_cleanup_push(clean, nullptr);
	run();
	pthread_cleanup_pop(0);
	return nullptr;
}
int main()
{
	struct sigaction on = {};
	on.sa_handler = on_fault;
	on.sa_flags = SA_NODEFER;
	sigaction(SIGSEGV, &on, nullptr);
	static far f;
	long sum = 0;
	for (int i = 0; i < 20; i++)
		sum += try_it(i & 1 ? &f : reinterpret_cast<const far *>(8));
	printf("%ld, %d left\n", sum, left.load());
	int cancelled = 0;
	for (int i = 0; i < 40; i++) {
		pthread_t t;
		void *result;
		pthread_create(&t, nullptr, thread, nullptr);
		while (begun <= i)
			usleep(100);
		usleep(100 * (i % 5));
		pthread_cancel(t);
		pthread_join(t, &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	printf("%d cancelled\n", cancelled);
	printf("%d left\n", left.load());
	fflush(stdout);
	_exit(0);
}
C
"${CXX:-c++}" -O2 -pthread -fnon-call-exceptions -o leave leave.cc || exit 1
./leave >plain.out
claim 'a program of exceptions and cancelled threads does what it does' is "$(tail -n 1 plain.out)" '60 left'
"$PUGMARK" record -q -o rec --no-times --carrier patch -- ./leave >patch.out 2>err
claim 'an exception of a load in a trampoline is caught by its function, threads are cancelled' \
	same plain.out patch.out
"$PUGMARK" dump rec >dumped 2>&1
claim 'and the function of the load is in the trace' grep -qc ' call leave ' dumped

# Attached, and what gdb sees meanwhile.
patched() { # ARGUMENT...: the program runs as $pid, and is recorded by $recorder
	./walk "$@" >out &
	pid=$!
	started+=("$pid")
	sleep 0.2
	: >err
	"$PUGMARK" record -o rec --no-times --carrier patch -p "$pid" --duration 60 2>err &
	recorder=$!
	started+=("$recorder")
	await grep -q 'witnesses patched' err
}
unpatched() {
	kill -INT "$recorder"
	wait "$recorder"
}
patched 1000000
sleep 0.3
unpatched
sleep 0.1
kill -TERM "$pid"
wait "$pid"
claim 'walks are whole before it is patched, meanwhile, and behind it' all_whole 20

cat >stops.py <<'PY'
import gdb
whole = inside = 0
for n in range(1, 13):
    frames, frame = [], gdb.newest_frame()
    pc = frame.pc()
    while frame is not None:
        frames.append(frame.name())
        frame = frame.older()
    whole += 'main' in frames
    inside += any(int(l.split()[0], 16) <= pc < int(l.split()[1], 16)
                  for l in gdb.execute('info proc mappings', to_string=True).splitlines() if 'memfd:pugmark' in l)
    gdb.execute('stepi 37', to_string=True)
print(f'{whole} of {n}, {inside} inside')
PY
stops() {
	timeout -k 5 60 gdb -q -batch -iex 'set debuginfod enabled off' -p "$pid" -x stops.py \
		-ex 'info sharedlibrary' >gdb.out 2>gdb.err
}
patched 1 quiet
stops
claim 'gdb sees whole stacks' grep -q '^12 of 12, ' gdb.out
claim 'some of them from within a trampoline' eval '! grep -q "^12 of 12, 0 inside" gdb.out'
claim 'which it has an object of' grep -q 'patched-.*\.elf' gdb.out
unpatched
stops
claim 'and afterwards, with nothing of a trampoline' grep -q '^12 of 12, 0 inside' gdb.out
claim 'and no object of ours' eval '! grep -q patched- gdb.out'
kill -TERM "$pid"
wait "$pid"
claim 'it is unharmed' is $? 0
conclude
