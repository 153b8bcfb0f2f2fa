#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_patched.sh: with --carrier patch a process notes its system calls itself, at level values. What it
# reads, asks and is told is known as by hooks: of a program that is started, and of one that is attached to
# while it sleeps in a call; in handlers whose signals come at any instruction and end calls or have them
# made again, in threads, children of fork and vfork, and a library that is loaded later. What nothing has
# seen (a call by code that is not patched) makes nothing wrong exact. Taken out while it runs, all is as it
# was; a recorder that is killed harms nothing; what cannot be patched is told.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cp "$tests/value/hard/note.h" . || exit 1
cat >target.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include "note.h"
static int fd, ends[2];
static volatile unsigned long handled;
static unsigned long mixed(unsigned long sum, const char *bytes, long n)
{
	for (long i = 0; i < n; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}
static unsigned long calls(int times)
{
	char bytes[700];
	struct stat st;
	struct timespec t;
	unsigned long sum = 0;
	for (int i = 0; i < times; i++) {
		sum = mixed(sum, bytes, pread(fd, bytes, i % 700, i * 7 % 4000));
		fstat(fd, &st);
		clock_gettime(CLOCK_MONOTONIC, &t);
		sum += st.st_mtime + t.tv_nsec + handled;
		if (i % 50 == 0)
			sum += getppid() + open("/nowhere/at/all", O_RDONLY) + errno;
	}
	return sum;
}
static void handle(int sig)
{
	char bytes[40];
	handled = mixed(handled, bytes, pread(fd, bytes, 40, handled % 1000)) + 1;
	if (handled % 5 == 0)
		handled += umask(022);
}
static void signals(int kind, int flags)
{
	struct sigaction a = {.sa_handler = handle, .sa_flags = flags};
	struct itimerval every = {{0, 700}, {0, 700}}, never = {0};
	struct timespec rest = {0, 2000000};
	unsigned long sum = 0;
	char bytes[8];
	int ended = 0;
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 10; i++) {
		sum += calls(300);
		ended += nanosleep(&rest, NULL) < 0;
	}
	if (!fork()) {
		signal(SIGALRM, SIG_IGN);
		usleep(4000);
		_exit(write(ends[1], "later", 5) != 5);
	}
	long got;
	while ((got = read(ends[0], bytes, 5)) < 0)
		ended += errno == EINTR;
	setitimer(ITIMER_REAL, &never, NULL);
	note(kind, mixed(sum, bytes, got));
	note(kind + 1, handled);
	note(kind + 2, ended);
	while (wait(NULL) > 0)
		;
}
static void *work(void *arg)
{
	note(20 + (int)(long)arg, calls(40));
	return NULL;
}
/* Whether the code of the C library is what its file has. */
static int is_whole(void)
{
	char line[512], name[256];
	unsigned long from, to, off;
	int same = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, "r-xp") || !strstr(line, "libc.so.6") ||
		    sscanf(line, "%lx-%lx %*s %lx %*s %*s %255s", &from, &to, &off, name) != 4)
			continue;
		int its = open(name, O_RDONLY);
		void *at = mmap(NULL, to - from, PROT_READ, MAP_PRIVATE, its, off);
		same = at != MAP_FAILED && !memcmp(at, (void *)from, to - from);
		munmap(at, to - from);
		close(its);
	}
	fclose(f);
	return same;
}
int main(int argc, char **argv)
{
	char byte;
	int status;
	fd = open("/proc/self/exe", O_RDONLY);
	if (pipe(ends))
		return 1;
	note(1, argc > 1 && is_whole()); /* while it is recorded its code is not what it is replayed by */
	read(0, &byte, 1);
	for (int i = 0; i < 100; i++)
		note(2, calls(10));
	signals(10, 0);
	signals(13, SA_RESTART);
	for (long i = 0; i < 4; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, work, (void *)i);
		pthread_join(thread, NULL);
	}
	if (!fork()) {
		note(30, calls(100));
		_exit(7);
	}
	wait(&status);
	note(31, calls(20) + status);
	if (!vfork())
		execl("/bin/true", "true", NULL);
	wait(&status);
	note(32, calls(20) + status + system("exit 3"));
	long (*own)(void) = (long (*)(void))dlsym(dlopen("./own.so", RTLD_NOW), "own");
	note(40, calls(20));
	note(41, own() > 0); /* by an instruction that nobody has patched */
	note(42, calls(20));
	write(1, "done\n", 5);
	if (argc > 1) {
		fcntl(3, F_SETFL, O_NONBLOCK);
		while (read(3, &byte, 1) < 1) /* makes calls until it is told */
			note(50, calls(2000));
		note(51, is_whole());
	}
	write(1, "end\n", 4);
	return 0;
}
C
cat >own.c <<'C'
#include <sys/syscall.h>
long own(void)
{
	long result;
	__asm__ volatile("mov %1, %%rax; nop; nop; syscall; nop; nop; nop"
			 : "=&a"(result)
			 : "i"((long)SYS_getpid)
			 : "rcx", "r11", "memory");
	return result;
}
C
${CC:-cc} -O1 -shared -fPIC -o own.so own.c && ${CC:-cc} -O1 -g -w -pthread -o target target.c -ldl || skip 'no compiler'

# What the recording knows of note(), held against what was printed. Of threads all memory is assumed.
compare() { # RECORDING PRINTED
	"$PUGMARK" values "$1" note --limit 3000 >got 2>err
	sed -nE 's/^[0-9]+ [0-9]+ (note\([^)]*\)).*/\1/p' got >said.notes
	grep -v '[~?]' said.notes | sort >sure
	sed 's/~//g' said.notes | sort >told
	grep ^note "$2" | sort >printed.notes
	claim "$1: what is not marked is what was printed" is "$(comm -13 printed.notes sure | wc -l)" 0
}
known() { comm -12 sure printed.notes | grep -cE "kind=($1),"; }
agree() { comm -12 told printed.notes | grep -cE "kind=($1),"; }
tell_of_all() { # RECORDING HOW: `known`, or `agree`, as a signal that finds a clock's code makes memory assumed
	claim "$1: reads, files, clocks are known" is "$(known 2)" 100
	claim "$1: so is what signals did that came meanwhile, and which calls they ended" is "$("$2" '1[0-5]')" 6
	claim "$1: threads agree, one behind the other" is "$(agree '2[0-3]')" 4
	claim "$1: so do a child, and its parent behind that, and behind one that had its memory" \
		is "$(agree '3[0-2]')" 3
	claim "$1: so does what follows a library that was loaded" is "$(agree 40)" 1
}

echo | "$PUGMARK" record --level values --carrier patch -o started -- ./target >printed 2>err
claim 'a program is recorded from its start, and ends as ever' is "$? $(tail -n 1 printed)" '0 end'
claim 'no hooks were needed' is "$(grep -c captures err) $(grep -c hooks err)" '1 0'
compare started printed
tell_of_all started known
claim 'a call that nothing has seen is told' \
	is "$("$PUGMARK" verify started | grep '^values of task 1:' | grep -cE 'a gap|assumed, the first')" 1

# Attached to while it sleeps; and let go of while it makes calls.
mkfifo go ask
exec 8<>ask
start() { # PRINTED
	stdbuf -o0 ./target more <go 3<ask >"$1" &
	target=$!
	exec 9>go
	until grep -q note "$1"; do sleep 0.05; done
}
maps() { awk '{ print $1, $2, $6 }' /proc/$target/maps | grep pugmark; }
finish() { # PRINTED
	printf y >&8
	wait $target
	claim 'the process goes on and ends as ever' is "$? $(tail -n 1 "$1")" '0 end'
}
start printed.attached
attach_patching attached
echo >&9
for _ in $(seq 600); do
	grep -q done printed.attached && break
	sleep 0.1
done
claim 'while it is recorded it has memory for that' is "$(maps | wc -l)" 4
sleep 0.3
kill -INT $recorder
wait $recorder
ended=$?
claim 'before that its C library was as its file' is "$(grep -c 'kind=1, value=1' printed.attached)" 1
claim 'the recorder ends, and no hooks were needed' is "$ended $(grep -c captures attach.said) $(grep -c hooks attach.said)" '0 1 0'
claim 'the memory is gone' is "$(maps | wc -l)" 0
finish printed.attached
claim 'its C library is as it was' is "$(grep -c 'kind=51, value=1' printed.attached)" 1
compare attached printed.attached
tell_of_all attached agree
exec 9>&-

# A recorder that is killed while calls are made, and one that comes behind it.
start printed.killed
attach_patching killed
echo >&9
for _ in $(seq 600); do
	grep -q done printed.killed && break
	sleep 0.1
done
kill -KILL $recorder
wait $recorder 2>/dev/null
sleep 0.5
lines=$(wc -l <printed.killed)
sleep 0.5
claim 'the process goes on when its recorder was killed' test "$(wc -l <printed.killed)" -gt "$lines"
attach_patching behind
kill -INT $recorder
wait $recorder
finish printed.killed
exec 9>&-

# What cannot be.
cat >still.c <<'C'
int main(void) { return 5; }
C
if ${CC:-cc} -static -o still still.c 2>err; then
	run 5 record --level values --carrier patch -o static -- ./still
	claim 'of a static program that is told' grep -q "the kernel's hooks" err
fi
cat >libgone.c <<'C'
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static long wake(void *at)
{
	register long more asm("r10") = 0;
	long result;
	asm volatile("mov %1, %%eax\n\tsyscall\n\ttest %%rax, %%rax"
		     : "=&a"(result)
		     : "i"(SYS_futex), "D"(at), "S"(FUTEX_WAKE), "d"(1), "r"(more)
		     : "rcx", "r11", "memory");
	return result;
}
int wakes(void)
{
	char *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long there = wake(word);
	munmap(word, 4096);
	return there == 0 && wake(word) == -14 ? 7 : 1;
}
C
${CC:-cc} -O1 -shared -fPIC -o libgone.so libgone.c
echo 'int wakes(void); int main(void) { return wakes(); }' >gone.c
${CC:-cc} -o gone gone.c -L. -lgone -Wl,-rpath,"$PWD"
run 7 record --level values --carrier patch -o woken -- ./gone
claim 'a futex may be gone when it is woken' is "$(grep -c hooks err)" 0
cat >locks.c <<'C'
#include <stddef.h>
#include <sys/mman.h>
int main(int argc, char **argv) { return argc > 1 ? mlockall(MCL_FUTURE) : argv == NULL; }
C
${CC:-cc} -o locks locks.c
run 0 record --level values --carrier patch -o locked -- ./locks
claim 'of a program that may lock all of its memory that is told' grep -q 'mlockall' err
# Memory that two processes have: the one that is not stopped may be anywhere in it.
cat >shares.c <<'C'
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static char stack[65536];
static volatile int ends;
static volatile long made;
static int work(void *arg)
{
	struct stat st;
	struct timespec t;
	while (!ends)
		made += !stat("/", &st) && !clock_gettime(CLOCK_MONOTONIC, &t);
	return 9;
}
static void turn(const char *now, const char *when)
{
	char byte;
	if (!strcmp(now, when))
		clone(work, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	puts(now);
	fflush(stdout);
	read(0, &byte, 1);
}
int main(int argc, char **argv)
{
	int status = 0;
	turn("early", argv[1]);
	turn("late", argv[1]);
	long before = made;
	usleep(100000);
	int goes_on = made > before;
	ends = 1;
	wait(&status);
	printf("end %d %d\n", WEXITSTATUS(status), goes_on);
	return 0;
}
C
${CC:-cc} -O1 -w -o shares shares.c
share() { # WHEN
	./shares "$1" <go >printed.shares &
	target=$!
	exec 9>go
	until grep -q early printed.shares; do sleep 0.05; done
	attach_patching "shares.$1"
	echo >&9
	until grep -q late printed.shares; do sleep 0.05; done
	sleep 0.2
	kill -INT $recorder
	wait $recorder
	cp attach.said shares.said
	echo >&9
	wait $target
	claim "a process whose memory another one has from $1 on goes on, and that one" \
		is "$? $(tail -n 1 printed.shares)" '0 end 9 1'
	exec 9>&-
}
share early
claim 'before it is recorded: that is told' is "$(grep -c 'another process has the same memory' shares.said)" 1
share late
claim 'while it is recorded: so is that the stubs stay' is "$(grep -c 'made by stays in 2 processes' shares.said)" 1
fails 2 'does not go with --redact' record --level values --carrier patch --redact 0 -- ./target
fails 2 'does not go with --redact and --one-processor' \
	record --level values --carrier patch --one-processor -- ./target
conclude
