#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# filtered_threads.sh: filters of system calls (seccomp) are of threads. A process one of whose threads has a
# filter that ends it for a call that patches make is not patched, and goes on. Where a thread gets a filter while
# it is recorded, another one makes the calls by which the process is left as it was; where each has one the memory
# stays, which is said.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}"
work_in_own_folder

cat >filtered.c <<'C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define FN __attribute__((noipa))
#define KILLED(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
static volatile int begun, over;
static volatile long sum;
FN static long leaf(long x) { return x * 3 + 1; }
FN static long some(long x)
{
	for (int i = 0; i < 2000; i++)
		x = leaf(x) ^ leaf(x >> 1);
	return x;
}
static void filter(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILLED(mmap), KILLED(munmap), KILLED(mprotect), KILLED(madvise), KILLED(memfd_create),
		KILLED(rt_sigprocmask), KILLED(sched_yield),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(3);
}
static void *thread(void *filtered)
{
	if (filtered)
		filter();
	for (begun = 1; !over;) {
		sum += some(begun);
		usleep(1000);
	}
	over = 2;
	for (;;)
		pause();
}
int main(int argc, char **argv)
{
	pthread_t t;
	char byte;
	for (int i = 0; i < strlen(argv[1]); i++) {
		begun = 0;
		pthread_create(&t, NULL, thread, argv[1][i] == 'f' ? argv : NULL);
		while (!begun)
			usleep(1000);
	}
	if (write(1, "ready\n", 6) < 0)
		return 2;
	while (read(0, &byte, 1) == 1 && byte != 'x') {
		sum += some(2);
		filter(); /* while it is recorded */
		if (write(1, "filtered\n", 9) < 0)
			return 2;
	}
	over = 1;
	while (over < 2)
		usleep(1000);
	if (write(1, "over\n", 5) < 0)
		return 2;
	_exit(0);
}
C
${CC:-cc} -O1 -w -pthread -o filtered filtered.c || skip 'no compiler'
mkfifo go
exec 9<>go

record() { # THREADS OPTION...: its own filter comes later if there is no other
	threads=$1
	shift
	: >printed # by the one before
	./filtered $threads <go >printed &
	pid=$!
	started+=("$pid")
	await grep -q ready printed
	: >err # of the one before
	timeout -s INT 60 "$PUGMARK" record "$@" -o rec -p $pid >out 2>err &
	recorder=$!
	await grep -q ': recording' err
	sleep 0.3
	if [ "$threads" = n ]; then
		printf f >&9
		await grep -q filtered printed
	fi
	kill -INT $recorder
	wait $recorder
	sleep 0.2
	cp /proc/$pid/maps maps
	printf x >&9
	wait $pid
	status=$?
	rm -rf rec
}
record nf --carrier patch
claim 'with a filter that another thread has it is not patched' grep -q 'not patched.*seccomp' err
claim 'and comes to its end' is "$status $(tail -n 1 printed)" '0 over'
record n --carrier patch
claim 'one whose first thread gets a filter was patched' grep -qE '[1-9][0-9]* of [0-9]+ witnesses patched' err
claim 'and is so no more' eval '! grep -q memfd:pugmark maps'
claim 'and comes to its end as well' is "$status $(tail -n 1 printed)" '0 over'
record nf --level values --carrier patch
claim 'values: its calls are seen by hooks' grep -q 'by the kernel.s hooks: it has a seccomp filter' err
claim 'values: and it comes to its end' is "$status $(tail -n 1 printed)" '0 over'
record n --level values --carrier patch
claim 'values: where the first thread gets one the memory is given back' eval '! grep -q memfd:pugmark maps'
claim 'values: and it comes to its end' is "$status $(tail -n 1 printed)" '0 over'
conclude
