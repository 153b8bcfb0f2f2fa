#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_unwound.sh: whoever unwinds a process that makes its system calls by stubs (--level values --carrier
# patch) comes through them: a walk of the stack by a signal's handler, wherever the signal has found the
# thread; threads that are cancelled in calls and amid code, with the cleanups of their frames; an exception
# that a handler throws. Where the C library asks for frames is as it was behind that, also if the recorder
# was killed. An unwinder that does not ask there is told.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" "${CXX:-c++}"
work_in_own_folder

cat >walk.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <unwind.h>
#include "brought_code.h"
static volatile long walks, whole, inside;
static unsigned char seen[1 << 20];
int main(int argc, char **argv);
struct walk { int main, inside; };
static _Unwind_Reason_Code frame(struct _Unwind_Context *c, void *context)
{
	struct walk *w = context;
	uintptr_t ip = _Unwind_GetIP(c);
	if (ip >= from && ip < to)
		w->inside = seen[ip - from] = 1;
	w->main |= _Unwind_GetRegionStart(c) == (uintptr_t)main;
	return _URC_NO_REASON;
}
static void again(void)
{
	struct itimerval later = {{0, 0}, {0, 100 + rand() % 300}};
	setitimer(ITIMER_REAL, &later, NULL);
}
static void on_alarm(int s)
{
	struct walk w = {0};
	_Unwind_Backtrace(frame, &w);
	walks++;
	whole += w.main;
	inside += w.inside;
	again();
}
int main(int argc, char **argv)
{
	struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	long r = 0;
	char bytes[600];
	int places = 0, fd = open("/proc/self/exe", O_RDONLY);
	sigaction(SIGALRM, &a, NULL);
	find_brought_code("pugmark-calls");
	again();
	for (long i = 0; walks < 4000; i++)
		r += pread(fd, bytes, 600, i % 1000) + getppid() + access("/", R_OK);
	signal(SIGALRM, SIG_IGN);
	for (size_t i = 0; i < sizeof(seen); i++)
		places += seen[i];
	printf("%ld %ld %ld %d\n", whole, walks, inside, places);
	return r == 7;
}
C
${CC:-cc} -O2 -w -I"$tests/support" -o walk walk.c || skip 'no compiler'
"$PUGMARK" record --level values --carrier patch -o walked -- ./walk >printed 2>err
read -r whole walks inside places <printed
claim 'no hooks were needed' is "$(grep -c captures err) $(grep -c hooks err)" '1 0'
claim "a handler's walks end at the first function: $whole of $walks" is "$whole" "$walks"
claim "many of them come through stubs ($inside), and at many places ($places)" \
	test "$inside" -ge 100 -a "$places" -ge 8

cat >cancels.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int ends[2], file, thread;
static long cleaned;
static sem_t begun;
static void clean(void *n) { cleaned += (long)n; }
static void in_read(void) { char b; read(ends[0], &b, 1); }
static void in_poll(void) { struct pollfd p = {ends[0], POLLIN, 0}; poll(&p, 1, -1); }
static void in_pause(void) { pause(); }
static void in_condition(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	pthread_mutex_lock(&lock);
	pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &lock);
	for (;;)
		pthread_cond_wait(&never, &lock);
	pthread_cleanup_pop(1);
}
static void by_reads(void) { char b[64]; for (;;) pread(file, b, 64, 0); }
static void by_ids(void) { for (;;) getppid(); }
static void (*const in[])(void) = {in_read, in_poll, in_pause, in_condition, by_reads, by_ids};
enum { KINDS = 6, CONDITION = 3 };
/* The compiler's tables say which calls have cleanups. A thread that is cancelled between them, or in
 * a call before them, has none: so it says that it has begun where it is in the last of its calls. */
__attribute__((noipa)) static void begin(long kind)
{
	thread = gettid();
	sem_post(&begun);
	in[kind]();
}
/* A lock is not given back where its holder is cancelled before it waits. */
static int waits(void)
{
	char path[64], said[8] = "";
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", thread);
	int fd = open(path, O_RDONLY);
	read(fd, said, sizeof(said) - 1);
	close(fd);
	return atoi(said) == SYS_futex;
}
static void *work(void *arg)
{
	int was;
	long kind = (long)arg;
	if (kind / KINDS || kind % KINDS == KINDS - 1)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &was);
	pthread_cleanup_push(clean, (void *)1L);
	pthread_cleanup_push(clean, (void *)1000L);
	begin(kind % KINDS);
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return NULL;
}
int main(void)
{
	long cancelled = 0;
	pipe(ends);
	sem_init(&begun, 0, 0);
	file = open("/proc/self/exe", O_RDONLY);
	for (long i = 0; i < 20 * KINDS; i++) {
		pthread_t t;
		void *result;
		pthread_create(&t, NULL, work, (void *)(i % (2 * KINDS)));
		sem_wait(&begun);
		usleep(i * 37 % 1000);
		while (i % KINDS == CONDITION && !waits())
			usleep(100);
		pthread_cancel(t);
		pthread_join(t, &result);
		cancelled += result == PTHREAD_CANCELED;
		if (cancelled * 1001 != cleaned)
			return 3;
	}
	printf("%ld %ld\n", cancelled, cleaned);
	return 0;
}
C
${CC:-cc} -O2 -w -fexceptions -pthread -o cancels cancels.c
"$PUGMARK" record --level values --carrier patch -o cancelled -- ./cancels >printed 2>err
claim 'threads that are cancelled end, and clean up all of their frames' is "$(cat printed)" '120 120120'
claim 'no hooks were needed for it' is "$(grep -c captures err) $(grep -c hooks err)" '1 0'

cat >throws.cc <<'C'
#include <csignal>
#include <cstdio>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
extern "C" char __executable_start, etext;
static int left;
static volatile sig_atomic_t armed;
struct guard { ~guard() { left++; } };
static void again()
{
	struct itimerval once = {{0, 0}, {0, 300}};
	setitimer(ITIMER_REAL, &once, nullptr);
}
/* Only a call may throw for all that the compiler knows. */
static void on_alarm(int, siginfo_t *, void *context)
{
	auto ip = reinterpret_cast<char *>(static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP]);
	if (armed && (ip < &__executable_start || ip >= &etext))
		throw 7;
	again();
}
__attribute__((noipa)) static long calls()
{
	guard g;
	char byte;
	armed = 1;
	for (;;)
		pread(0, &byte, 1, 0);
}
int main()
{
	struct sigaction on = {};
	int caught = 0;
	on.sa_sigaction = on_alarm;
	on.sa_flags = SA_NODEFER | SA_SIGINFO;
	sigaction(SIGALRM, &on, nullptr);
	while (caught < 30)
		try {
			again();
			calls();
		} catch (int n) {
			armed = 0;
			caught += n == 7;
		}
	std::printf("%d %d\n", caught, left);
}
C
${CXX:-c++} -O2 -w -fnon-call-exceptions -o throws throws.cc
"$PUGMARK" record --level values --carrier patch -o thrown -- ./throws >printed 2>err <throws.cc
claim 'what a handler throws is caught, and frames are cleaned up' is "$(cat printed)" '30 30'

# What the C library asks by: a word of the dynamic linker's, as it is before, while and behind.
cat >word.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	/* mov table(%rip), %rax; jmp *offset(%rax) */
	uint8_t *at = dlsym(RTLD_DEFAULT, "_dl_find_object"), byte;
	int32_t to, offset;
	if (at && at[0] == 0xf3)
		at += 4;
	if (!at || memcmp(at, "\x48\x8b\x05", 3) || memcmp(at + 7, "\xff\xa0", 2))
		return 77;
	memcpy(&to, at + 3, 4);
	memcpy(&offset, at + 9, 4);
	do {
		void **word = (void **)(*(uint8_t **)(at + 7 + to) + offset);
		Dl_info info;
		puts(dladdr(*word, &info) ? "a library's" : "of none");
		fflush(stdout);
	} while (read(0, &byte, 1) == 1);
	return 0;
}
C
${CC:-cc} -O2 -w -o word word.c
say() {
	echo >&9
	for _ in $(seq 100); do
		[ "$(wc -l <words)" -lt $((++n_words)) ] || break
		sleep 0.05
	done
}
mkfifo go
./word <go >words &
target=$!
exec 9>go
n_words=0
sleep 0.2
attach_patching led
say
kill -INT $recorder
wait $recorder
say
attach_patching killed
kill -KILL $recorder
wait $recorder 2>/dev/null
say
attach_patching behind
kill -INT $recorder
wait $recorder
say
exec 9>&-
wait $target
claim 'what asks for frames is led there while it is recorded, and nowhere else behind that' \
	is "$(tr '\n' ' ' <words)" "a library's of none a library's of none a library's "

cat >own.c <<'C'
void *_Unwind_Find_FDE(void *pc, void *bases) { return 0; }
C
${CC:-cc} -O2 -w -shared -fPIC -o libown.so own.c
echo 'int main(int argc, char **argv) { return argc > 9 ? pthread_cancel(pthread_self()) : 4; }' |
	${CC:-cc} -O2 -w -include pthread.h -o owns -xc - -L. -Wl,--no-as-needed -lown -Wl,-rpath,"$PWD"
run 4 record --level values --carrier patch -o owned -- ./owns
claim 'of an unwinder that asks elsewhere that is told' grep -q 'hooks.*pthread_cancel' err
conclude
