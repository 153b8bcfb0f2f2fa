#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# carrier_asleep.sh: a thread that waits in a system call amid instructions of which one would be patched waits on,
# undisturbed, and that patch is left out; and whoever patches a process, or takes patches out, may be killed while
# that stands: it goes on with its registers and the right results, and does not die.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" python3
work_in_own_folder

cat >asks.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static volatile long got, wrong;
/* In mode full its return is a witness, which the mov can carry. */
int ask(int fd, char *byte);
__asm__(".text\n	.type ask, @function\nask:	.cfi_startproc\n"
	"	push %rbx\n	.cfi_def_cfa_offset 16\n	.cfi_offset %rbx, -16\n"
	"	mov $0x55555555, %r8d\n	xor %eax, %eax\n	lea 1(%rax), %edx\n"
	"	syscall\n" /* read() of a byte */
	"	pop %rbx\n	.cfi_def_cfa_offset 8\n	ret\n	.cfi_endproc\n	.size ask, . - ask\n");
static void *thread(void *a)
{
	char byte = 0;
	while (byte != 'x') {
		int n = ask(0, &byte);
		got += n == 1;
		wrong += n != 1;
	}
	return a;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	if (write(1, "ready\n", 6) < 0)
		return 2;
	pthread_join(t, NULL);
	printf("%ld, %ld wrong\n", got, wrong);
	return 0;
}
C
cat >works.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define FN __attribute__((noipa))
static volatile int over;
FN static long leaf(long x) { return x * 3 + 1; }
FN static long fib(long n) { return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2); }
static void on_term(int s) { over = 1; }
static void *thread(void *sleeps)
{
	struct timespec some = {.tv_nsec = 2000000};
	long wrong = 0, want = fib(11);
	while (!over) {
		wrong += fib(11) != want;
		if (!sleeps) /* it is in its code much of the time */
			some.tv_nsec = 100000;
		wrong += nanosleep(&some, NULL) && !over;
	}
	return (void *)wrong;
}
int main(void)
{
	pthread_t t[3];
	void *wrong[3];
	sigset_t none;
	signal(SIGTERM, on_term);
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, thread, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], &wrong[i]);
	sigprocmask(SIG_BLOCK, NULL, &none);
	printf("%ld wrong, %d\n", (long)wrong[0] + (long)wrong[1] + (long)wrong[2], sigismember(&none, SIGHUP));
	return 0;
}
C
# Kills whoever traces the process, each time at some moment behind the first in which it does.
cat >kills.py <<'PY'
import os, random, signal, subprocess, sys, time
pugmark, pid, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(int(sys.argv[4]))
def tracer():
    for line in open(f'/proc/{pid}/status'):
        if line.startswith('TracerPid:'):
            return int(line.split()[1])
def is_of(child, parent):
    try:
        return int(open(f'/proc/{child}/stat').read().rsplit(')', 1)[1].split()[1]) == parent
    except OSError: # it has done its work
        return False
killed = 0
for i in range(times):
    recorder = subprocess.Popen([pugmark, 'record', '-o', 'rec', '--no-times', '--carrier', 'patch', '-p', str(pid),
                                 '--duration', '0.05'], stdout=subprocess.DEVNULL, stderr=open('err', 'ab'))
    skipped = random.randrange(2) # or when the patches are taken out
    until = time.monotonic() + 20
    its = 0
    while recorder.poll() is None and time.monotonic() < until:
        time.sleep(.0002)
        now = tracer()
        if now and now != its and is_of(now, recorder.pid):
            its = now
            if not skipped:
                time.sleep(random.random() * .002)
                try:
                    os.kill(now, signal.SIGKILL)
                    killed += 1
                except ProcessLookupError: # it has done its work
                    pass
                break
            skipped -= 1
    recorder.wait()
    subprocess.run(['rm', '-rf', 'rec'])
print(killed)
PY
"${CC:-cc}" -O1 -w -pthread -o asks asks.c && "${CC:-cc}" -O1 -w -pthread -o works works.c || skip 'no compiler'

mkfifo go
exec 9<>go
./asks <go >printed &
pid=$!
started+=("$pid")
await grep -q ready printed
timeout -s INT 60 "$PUGMARK" record -o rec --mode full --carrier patch -p $pid >out 2>err &
recorder=$!
await grep -q ': recording' err
printf a >&9
printf b >&9
sleep 0.2
kill -INT $recorder
wait $recorder
printf x >&9
wait $pid
status=$?
claim 'where a thread waits the patch is left out' grep -q '1 left to probes since a thread was there' err
claim 'it is still waited for, and comes to its end' is "$status $(tail -n 1 printed)" '0 3, 0 wrong'
rm -rf rec

./works >printed &
pid=$!
started+=("$pid")
sleep 0.2
times=6
[ -z "${LONG:-}" ] || times=40
kills=$(python3 kills.py "$PUGMARK" $pid $times ${SEED:-1})
claim "those who traced it were killed, $kills times" test "$kills" -gt 0
claim 'it is still there' kill -0 $pid
kill -TERM $pid
wait $pid
claim 'and comes to the right results' is "$? $(cat printed)" '0 0 wrong, 0'
conclude
