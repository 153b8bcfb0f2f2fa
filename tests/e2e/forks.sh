#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# forks.sh: a process becomes two, or runs another program, in the middle of calls that nothing has
# shown yet: by the C library inside of a static program, by a system call of its own, or by a library
# that is not traced. What came before was done by the parent alone, and is told before an exec. Plans
# of modes casper and best tell of the same run what that of mode full tells, for every process. And
# the threads of a static program, which begin in the middle of a function of the program itself.
# Handlers that come as vfork returns are told from what follows.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}"
work_in_own_folder

cat >library.c <<'C'
#include <unistd.h>
__attribute__((noinline)) static int inner(void) { return fork(); }
int divides(void) { return inner() ? 1 : 0; }
int becomes(char **argv) { return execv(argv[0], argv); }
C
cat >program.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define FN __attribute__((noipa))
FN static int leaf(int i) { return i ^ 5; }
FN static int work(int n) { return n ? leaf(n) + work(n - 1) : 0; }
FN static int raw_clone(void)
{
	long nr = SYS_clone, result;
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(nr), "D"((long)SIGCHLD), "S"(0L), "d"(0L), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
}
FN static int by_number(void) { return syscall(SYS_fork); }
#ifdef DYNAMIC
int divides(void);
int becomes(char **argv);
#else
FN static int divides(void) { return leaf(0) ? fork() : 0; }
FN static int becomes(char **argv)
{
	work(1);
	return syscall(SYS_execve, argv[0], argv, environ);
}
#endif
static int (*const ways[])(void) = {fork, raw_clone, by_number, divides};
FN static int one(int way)
{
	switch (way) { /* direct calls, too */
	case 0: return fork();
	case 1: return raw_clone();
	case 2: return by_number();
	case 3: return divides();
	}
	return ways[way - 4]();
}
FN static int splits(int way, int depth)
{
	int n = work(2), pid, status;
	if (depth)
		return splits(way, depth - 1) + leaf(n);
	leaf(1);
	pid = one(way);
	if (pid) {
		waitpid(pid, &status, 0);
		return n + leaf(status);
	}
	return leaf(leaf(n));
}
FN static int goes_on(int top, int i)
{
	int n = splits(i % 8, i / 8);
	work(1);
	if (getpid() != top)
		_exit(work(n & 1));
	return leaf(n);
}
static void *thread(void *i) { return (void *)(long)work((long)i); }
FN static void threads(void)
{
	pthread_t ids[4];
	for (long i = 0; i < 4; i++)
		pthread_create(&ids[i], NULL, thread, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
}
int main(int argc, char **argv)
{
	int top = getpid(), n = 0;
	if (argc > 1)
		return work(3) < 0;
	threads();
	for (int i = 0; i < 24; i++)
		n += goes_on(top, i);
	char *again[] = {argv[0], "again", NULL};
	if (!fork()) {
		work(2);
		leaf(3);
		becomes(again);
	}
	wait(NULL);
	return work(n & 3) < 0;
}
C
"${CC:-cc}" -O2 -g0 -shared -fPIC -o libsplit.so library.c 2>err &&
	"${CC:-cc}" -O2 -g0 -DDYNAMIC -pthread -o dynamic program.c -L. -lsplit 2>err ||
	skip "no compiler for the program: $(head -n 1 err)"
programs=(dynamic)
for level in 0 2; do
	"${CC:-cc}" -O$level -g0 -static -pthread -o static$level program.c 2>err && programs+=(static$level)
done
[ ${#programs[@]} = 3 ] || echo "static programs are left out: $(head -n 1 err)"
export LD_LIBRARY_PATH=$dir
# Before 6.10 the calls right before an exec are not told where it is not called by its name.
early=0
[ "$(printf '%s\n' 6.10 "$(uname -r)" | sort -V | head -n 1)" = 6.10 ] || early=1

for program in "${programs[@]}"; do
	"$PUGMARK" record -q --ring 64 -o rec --mode full --twin casper --twin best -- \
		"./$program" >out 2>err
	claim "$program: recording works" is $? 0
	for module in 0 1 2; do
		"$PUGMARK" dump --module $module rec | sort -s -n -k 1,1 >$module 2>err
		claim "$program: plan $module has no gap" is "$(grep -c ' gap ' $module)" 0
	done
	claim "$program: there is something to tell" [ "$(wc -l <0)" -gt 1000 ]
	claim "$program: every thread is there" is "$(cut -d ' ' -f 1 0 | sort -u | wc -l)" 30
	if [ $early = 1 ]; then
		skipped=$((skipped + 2))
		continue
	fi
	claim "$program: casper tells what full tells" same 0 1
	claim "$program: best tells what full tells" same 0 2
	echo "$program: $(wc -l <0) events of 26 processes and 4 threads, the same by three plans"
done
# --- a handler that finds the parent on its way out of vfork -------------------------------------------
# The child has run on the same stack: where the parent returns to is in a register only.
cat >reaper.c <<'C'
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int sum;
__attribute__((noipa)) void work(int n) { sum += n; }
static void on_child(int signal) { work(signal); }
__attribute__((noipa)) int spawn(void)
{
	int pid = vfork();
	if (!pid) {
		work(2);
		_exit(0);
	}
	work(3);
	return pid;
}
int main(void)
{
	signal(SIGCHLD, on_child);
	for (int i = 0; i < 20; i++) {
		spawn();
		while (wait(0) < 0)
			;
	}
	sleep(2); /* the recorder looks at what is mapped while the process is there */
	return 0;
}
C
${CC:-cc} -O2 -w reaper.c -o reaper || skip 'no compiler'
for mode in full best; do
	"$PUGMARK" record -q -o rec --mode $mode -- ./reaper >out 2>err
	claim "$mode: each handler between vfork and what follows it: complete" \
		grep -q '^complete' <("$PUGMARK" verify rec)
	claim "$mode: as many handlers as children" is "$("$PUGMARK" dump rec | grep -c ' enter .* signal$')" 20
done
conclude
