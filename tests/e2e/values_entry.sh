#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_entry.sh: a program that is started at level values stops once at its entry point. Constructors of
# libraries run before: whatever they do, begin or fork, it goes on as it would without a recorder, also where that
# is killed meanwhile; and what their threads do is seen, or what they may have written is not exact.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cat >early.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t trapped;
static volatile long counter;
long count(void) { return counter; }
static void on_trap(int s) { trapped = s; }
static void *spin(void *arg)
{
	for (;;)
		counter++;
	return arg;
}
static void *wait_for_child(void *arg)
{
	counter++; /* vfork(): the thread is in a call that nothing interrupts, until its child has ended */
	if (!vfork()) {
		sleep(3);
		_exit(0);
	}
	return arg;
}
__attribute__((constructor)) static void early(void)
{
	const char *how = getenv("EARLY");
	pthread_t t;
	if (!strcmp(how, "daemon") && fork())
		_exit(0);
	if (!strcmp(how, "trap")) {
		signal(SIGTRAP, on_trap);
		raise(SIGTRAP);
		if (!trapped)
			_exit(9);
	}
	if (!strcmp(how, "never")) {
		if (write(1, "never\n", 6) != 6)
			_exit(9);
		for (char c; read(0, &c, 1) == 1;)
			;
	}
	if (!strcmp(how, "thread")) {
		pthread_create(&t, NULL, spin, NULL);
		while (!counter)
			;
	}
	if (!strcmp(how, "again")) {
		setenv("EARLY", "nothing", 1);
		execl("/proc/self/exe", "late", NULL);
	}
	if (!strcmp(how, "waits")) {
		pthread_create(&t, NULL, wait_for_child, NULL);
		while (!counter)
			;
	}
}
C
cat >late.c <<'C'
#include <stdio.h>
#include <sys/auxv.h>
extern char _start;
long count(void);
__attribute__((noinline)) static long seen(long n) { __asm__ volatile("" ::: "memory"); return n; }
int main(void)
{
	printf("entry %d\n", getauxval(AT_ENTRY) == (unsigned long)&_start);
	for (int i = 0; i < 3; i++) {
		for (volatile int k = 0; k < 100000; k++)
			;
		printf("%ld\n", seen(count()));
	}
	return 0;
}
C
"${CC:-cc}" -O1 -g -shared -fPIC -o libearly.so early.c -lpthread || exit 1
"${CC:-cc}" -O1 -g -o late late.c -L. -learly -Wl,-rpath,"$dir" || exit 1
early() { # HOW ARGUMENT...
	EARLY=$1 "$PUGMARK" record --level values -q -o "$1" "${@:2}" -- ./late >printed 2>err
}

claim 'a program whose constructors do nothing is recorded' early nothing
claim 'and finds its entry point where it is' grep -qx 'entry 1' printed
claim 'all of it is exact' eval '"$PUGMARK" values nothing | grep -q ", 0 with something assumed, 0 unknown; up to its end"'
claim 'a trap that a constructor raises is its own' early trap

claim 'a program that a constructor executes anew is recorded' early again
claim 'and finds its entry point where it is' grep -qx 'entry 1' printed
claim 'all of it is exact' eval '"$PUGMARK" values again | grep -q ", 0 with something assumed, 0 unknown; up to its end"'

# The process ends that was started; its child comes to the entry point, and stops nowhere.
claim 'one that goes on in a child cannot be recorded' eval '! early daemon'
claim 'which is said' grep -q 'it ended before' err
claim 'the child comes to its end' await eval '[ "$(wc -l <printed)" = 4 ]'

# What such a thread writes while nobody sees it would be read as what stood there at the start.
claim 'a program with a thread that a constructor began is recorded' early thread
"$PUGMARK" values thread >values 2>err
"$PUGMARK" values thread seen >seen 2>>err
claim 'and both are known from the entry point on' is "$(grep -c 'up to its end' values)" 2
claim 'no count is exact that is another one' eval 'grep -q seen seen && ! grep -vE "~" seen'

# Not even its other threads are stopped.
claim 'a program whose constructor has begun a thread that cannot be stopped is not recorded' eval '! early waits'
claim 'which is said, and that it was killed' eval 'grep -q "was not stopped for a moment" err && grep -q "was killed" err'
claim 'nothing of it is executed behind its entry point' eval '! grep -q . printed'

never() { # ARGUMENT...: its process is $recorder, and `hold` keeps its program waiting
	mkfifo hold 2>/dev/null
	EARLY=never "$PUGMARK" record --level values -q -o never "$@" -- ./late <hold >printed 2>err &
	recorder=$!
	started+=("$recorder")
	exec 7>hold
	await grep -q never printed
}
ends() { await eval "! kill -0 $recorder 2>/dev/null"; }
never
kill -TERM "$recorder"
claim 'a recorder whose program never comes to its entry point ends when it is asked to' ends
claim 'and says why there is nothing' grep -q 'was to end before the program had come to its entry point' err
exec 7>&-
never --duration 1
claim 'and when its time is over' ends
exec 7>&-
never
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
exec 7>&-
claim 'where it is killed, the program goes on from its entry point' await eval '[ "$(tail -n +2 printed | wc -l)" = 4 ]'
conclude
