#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_mapped.sh: level values of programs whose code and files come and go. What a library is
# loaded in the place of is forgotten, traced or not; a file that a program maps just before it ends
# is found; many signals in a loop are met each at its instruction.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder
cc=${CC:-cc}

# Two libraries that differ in what a function computes, and are mapped at the same place in turn.
for k in 3 5; do
	echo "long work(long n) { long s = $k; for (long i = 0; i < n; i++) s = s * $k + i; return s; }" >lib$k.c
	$cc -O1 -g -shared -fPIC -o libturn$k.so lib$k.c || skip 'no compiler'
done
cat >turns.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *at;
static int moved;
__attribute__((noinline)) long note(int turn, long value) { printf("note(turn=%d, value=%ld)\n", turn, value); return value; }
static void turn(int i)
{
	void *lib = dlopen(i % 2 ? "./libturn5.so" : "./libturn3.so", RTLD_NOW);
	long (*work)(long) = (long (*)(long))dlsym(lib, "work");
	if (at && at != (void *)work)
		moved++;
	at = (void *)work;
	note(i, work(10 + i));
	if (!i && getenv("WAIT"))
		read(0, &(char){0}, 1);
	note(i, work(20 + i));
	dlclose(lib);
}
int main(void)
{
	for (int i = 0; i < 6; i++)
		turn(i);
	fprintf(stderr, "%d moved\n", moved);
	return 0;
}
C
$cc -O1 -g -w -o turns turns.c -ldl || skip 'no compiler'
notes() { "$PUGMARK" values "$1" note --limit 1000 | sed -nE 's/^1 [0-9]+ (note\([^)]*\)).*/\1/p'; }
"$PUGMARK" record -q --level values -o rec -- ./turns >printed 2>err
claim 'libraries that are loaded in turn lie at one place' grep -q '^0 moved' err
claim 'each computes what it did' same printed <(notes rec)
claim 'and nothing of it is unknown' \
	grep -qE ' 0 with something assumed, 0 unknown; up to its end' <("$PUGMARK" values rec)

# The first one is traced, and is unloaded while it is recorded. The parts of a library that lie at one
# address are of one size in both, so that what was translated of the first would be found again.
mkfifo go
WAIT=1 ./turns <go >printed 2>err &
turning=$!
started+=($turning)
exec 9>go
await grep -q libturn3 /proc/$turning/maps
: >said
"$PUGMARK" record --level values -p $turning --module 'libturn3*' -o attached >said 2>&1 &
recorder=$!
started+=($recorder)
await grep -q recording said
echo >&9
exec 9>&-
wait $turning
wait $recorder
notes attached >told
claim 'a traced module that was unloaded is not executed any more' \
	same <(tail -n +2 printed) told

# What is mapped in the last moment of a short life, by an absolute name and by one from the folder.
seq 1000 >kept
cat >last.c <<'C'
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) long sum(const unsigned char *p, long n)
{
	long s = 0;
	for (long i = 0; i < n; i++)
		s = s * 3 + p[i];
	return s;
}
int main(int argc, char **argv)
{
	_exit(sum(mmap(0, 4096, PROT_READ, MAP_PRIVATE, open(argv[1], O_RDONLY), 0), 3000) & 7);
}
C
$cc -O1 -g -w -o last last.c
want=0
for name in "$PWD/kept" kept "$PWD/kept" kept; do
	rm -rf ended
	"$PUGMARK" record -q --level values -o ended -- ./last "$name" 2>err
	want=$((want + 1))
	"$PUGMARK" values ended sum >told 2>&1 && grep -qE 'sum\(.*\) = -?[0-9]+$' told || break
	want=$((want - 1))
done
claim 'a file that is mapped just before the end is known' is $want 0

# The locale's files are mapped by names of the C library's own.
cat >locale.c <<'C'
#include <locale.h>
#include <wchar.h>
__attribute__((noinline)) long wide(long n) { return n; }
int main(void)
{
	wchar_t text[9];
	const char *from = "\xc3\xa4\xc3\xb6";
	setlocale(LC_ALL, "");
	return wide(mbsrtowcs(text, &from, 9, 0)) != 2;
}
C
$cc -O1 -g -w -o locale locale.c
if LC_ALL=C.UTF-8 ./locale; then
	LC_ALL=C.UTF-8 "$PUGMARK" record -q --level values -o utf8 -- ./locale 2>err
	claim 'a program in UTF-8 is known to its end' \
		grep -qE ', 0 with something assumed, 0 unknown; up to its end' <("$PUGMARK" values utf8)
	claim 'with what its locale says' grep -qE 'wide\(n=2\)' <("$PUGMARK" values utf8 wide)
fi

# Flags of a byte, beside bytes of the register that no one knows: of what a call has left there.
cat >bytes.c <<'C'
long leaves(void);
__attribute__((noinline)) int either(long a, long b)
{
	long out;
	__asm__ volatile("call clock\n\tcmp %1, %2\n\tsete %%r9b\n\ttest %1, %1\n\tsete %%sil\n\t"
			 "or %%r9d, %%esi\n\tor %%r9b, %%sil\n\t"
			 "cmp %1, %1\n\tcmovne %%r9d, %%esi\n\ttest %%sil, %%sil\n\tmov $0, %%eax\n\tjne 1f\n\tinc %%eax\n1:"
			 : "=a"(out) : "b"(a), "r"(b)
			 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
	return out;
}
int main(int argc, char **argv) { return either(argc, argc + 1) != 1; }
C
$cc -O1 -g -w -no-pie -o bytes bytes.c || $cc -O1 -g -w -o bytes bytes.c
"$PUGMARK" record -q --level values -o byte -- ./bytes 2>err
claim 'a flag of a known byte is known, and a register that cmov leaves as it was is known as before' \
	grep -q 'up to its end' <("$PUGMARK" values byte)

# A shift by cl may leave the flags as they were, which nobody knows behind a call; its result may not.
# Nor are the vector registers known there.
cat >shifted.c <<'C'
__attribute__((noinline)) int shifted(int by)
{
	long out = 1;
	__asm__ volatile("mov %2, %%rdi\n\tcall strlen\n\tmov $1, %%eax\n\tmov %1, %%ecx\n\tshl %%cl, %%eax\n\t"
			 "movzwl %%ax, %%ecx\n\tpinsrw $3, %%ecx, %%xmm1\n\tpsrldq $6, %%xmm1\n\t"
			 "movd %%xmm1, %%ecx\n\tmovzwl %%cx, %%eax\n\t"
			 "cmp $8, %%eax\n\tjne 1f\n\tdec %%eax\n1:"
			 : "=&a"(out) : "b"(by), "r"("text")
			 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm1", "cc", "memory");
	return out;
}
int main(int argc, char **argv) { return shifted(argc + 2) != 7; }
C
$cc -O1 -g -w -no-pie -o shifted shifted.c || $cc -O1 -g -w -o shifted shifted.c
"$PUGMARK" record -q --level values -o shift -- ./shifted 2>err
claim 'what is shifted by a known count is known, and goes through a lane of a register that is not' grep -q 'up to its end' <("$PUGMARK" values shift)

# A library that allocates before the program's entry point: the heap is there, and grows.
printf '#include <stdlib.h>\nvoid *early;\n__attribute__((constructor)) static void f(void) { early = malloc(9); }\n' >early.c
cat >grown.c <<'C'
#include <stdlib.h>
#include <string.h>
extern void *early;
int main(void)
{
	unsigned sum = 0;
	for (int i = 0; i < 200; i++) {
		char *p = malloc(4000);
		memset(p, i, 4000);
		sum += p[i] & 1;
	}
	return !early || sum != 100;
}
C
$cc -shared -fPIC -o libearly.so early.c && $cc -O1 -w -o grown grown.c ./libearly.so
"$PUGMARK" record -q --level values -o heap -- ./grown 2>err
claim 'a heap from before the entry point grows on' \
	grep -qE ', 0 with something assumed, 0 unknown; up to its end' <("$PUGMARK" values heap)

# Signals in a loop, each at another instruction.
cat >signals.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
static volatile long n;
static void handler(int s) { n++; }
__attribute__((noinline)) long spin(long turns)
{
	long s = 1;
	for (long i = 0; n < turns; i++)
		s = s * 3 + i % 7;
	return s;
}
int main(void)
{
	struct itimerval every = {{0, 4000}, {0, 4000}};
	signal(SIGVTALRM, handler);
	setitimer(ITIMER_VIRTUAL, &every, 0);
	long s = spin(4);
	printf("%ld\n", s);
	return 0;
}
C
$cc -O1 -g -w -o signals signals.c
"$PUGMARK" record -q --level values -o signalled -- ./signals >printed 2>err
claim 'a loop with many signals is known to its end' \
	grep -qE ', 0 with something assumed, 0 unknown; up to its end' <("$PUGMARK" values signalled)
claim 'with its result' grep -qF " = $(cat printed)" <("$PUGMARK" values signalled spin)
# Some of them in the midst of a string instruction, whose handler sees what it has done so far.
cat >midst.c <<'C'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
static unsigned char room[16 << 20];
static volatile long n;
__attribute__((noinline)) void look(long done, int before, int at)
{
	char line[99];
	n += done > 0 && done < (long)sizeof(room);
	write(1, line, snprintf(line, sizeof(line), "look(done=%ld, before=%d, at=%d)\n", done, before, at));
}
static void handler(int s, siginfo_t *info, void *context)
{
	const unsigned char *to = (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RDI];
	if (to > room && to < room + sizeof(room))
		look(to - room, to[-1], *to);
}
int main(void)
{
	struct itimerval every = {{0, 5000}, {0, 5000}};
	struct sigaction act = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigaction(SIGVTALRM, &act, 0);
	setitimer(ITIMER_VIRTUAL, &every, 0);
	for (int i = 1; n < 2 && i < 99; i++) {
		void *to = room;
		unsigned long left = sizeof(room);
		__asm__ volatile("rep stosb" : "+D"(to), "+c"(left) : "a"(i) : "memory");
	}
	return n < 2;
}
C
$cc -O1 -g -w -o midst midst.c
"$PUGMARK" record -q --level values -o amidst -- ./midst >printed 2>err
claim 'signals come in the midst of a string instruction' is "$(($(wc -l <printed) >= 2))" 1
claim 'and all is known, to the end' \
	grep -qE ', 0 with something assumed, 0 unknown; up to its end' <("$PUGMARK" values amidst)
claim 'what a handler sees there is what it saw' same printed \
	<("$PUGMARK" values amidst look 2>>err | sed -nE 's/^1 [0-9]+ (look\([^)]*\)).*/\1/p')

# What is changed of mappings ends at a hole or goes on behind it, as the kernel has it.
cat >holes.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { PAGE = 4096, PAGES = 6, HOLE = 2 };
static int what;
__attribute__((noinline)) void note(int what, int failed, long bytes)
{
	char line[99];
	write(1, line, snprintf(line, sizeof(line), "note(what=%d, failed=%d, bytes=%ld)\n", what, failed, bytes));
}
static unsigned char *fresh(void)
{
	unsigned char *p = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < PAGES; i++)
		p[i * PAGE] = i + 1;
	munmap(p + HOLE * PAGE, PAGE);
	return p;
}
static void tell(const unsigned char *p, int failed)
{
	long bytes = 0;
	for (int i = 0; i < PAGES; i++)
		bytes = bytes * 10 + (i == HOLE ? 0 : p[i * PAGE]);
	note(++what, failed ? errno : 0, bytes);
}
int main(void)
{
	unsigned char *p = fresh();
	tell(p, madvise(p, 5 * PAGE, MADV_DONTNEED));
	p = fresh();
	tell(p, madvise(p + 1, 5 * PAGE, MADV_DONTNEED));
	p = fresh();
	int failed = mprotect(p + PAGE, 4 * PAGE, PROT_READ);
	p[0] = p[3 * PAGE] = p[4 * PAGE] = 9;
	tell(p, failed);
	p = fresh();
	unsigned char *q = mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | 4 /* MREMAP_DONTUNMAP */, 0);
	note(++what, q == MAP_FAILED, q == MAP_FAILED ? 0 : p[0] * 10 + q[0]);
	syscall(SYS_pkey_mprotect, p + PAGE, (long)PAGE, PROT_READ, -1);
	tell(p, 0);
	p = fresh();
	int guarded = madvise(p, PAGE, 102 /* MADV_GUARD_INSTALL */);
	tell(p, madvise(p, PAGE, 103 /* MADV_GUARD_REMOVE */) || guarded);
	return 0;
}
C
$cc -O1 -g -w -o holes holes.c
"$PUGMARK" record -q --level values -o holed -- ./holes >printed 2>err
claim 'calls that fail at a hole are seen to' grep -q 'failed=12' printed
claim 'memory is what they have left' same printed \
	<("$PUGMARK" values holed note 2>>err | sed -nE 's/^1 [0-9]+ (note\([^)]*\)).*/\1/p')
claim 'and all of it is known' \
	grep -qE ', 0 with something assumed, 0 unknown; up to its end' <("$PUGMARK" values holed)
# A large block of which little was touched is moved: the replay takes what was touched.
cat >sparse.c <<'C'
#define _GNU_SOURCE
#include <sys/mman.h>
#include <stdio.h>
#include <unistd.h>
#define GIB (1L << 30)
__attribute__((noinline)) void note(int what, int a, int b)
{
	char line[99];
	write(1, line, snprintf(line, sizeof(line), "note(what=%d, a=%d, b=%d)\n", what, a, b));
}
int main(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	char *p = mmap(0, 8 * GIB, PROT_READ | PROT_WRITE, flags, -1, 0);
	mmap(p + 8 * GIB, 4096, PROT_READ, flags, -1, 0); /* it cannot grow where it is */
	p[5 * GIB] = 7;
	p = mremap(p, 8 * GIB, 12 * GIB, MREMAP_MAYMOVE);
	note(1, p[5 * GIB], p[6 * GIB]);
	p[11 * GIB] = 8;
	p = mremap(p, 12 * GIB, 10 * GIB, MREMAP_MAYMOVE);
	p = mremap(p, 10 * GIB, 12 * GIB, MREMAP_MAYMOVE);
	note(2, p[5 * GIB], p[11 * GIB]);
	return 0;
}
C
$cc -O1 -g -w -o sparse sparse.c
"$PUGMARK" record -q --level values -o moved -- ./sparse >printed 2>err
claim 'a large block is moved' grep -q 'what=2' printed
claim 'and is known where it is then, in little memory' same printed \
	<(ulimit -v 6000000; "$PUGMARK" values moved note 2>>err | sed -nE 's/^1 [0-9]+ (note\([^)]*\)).*/\1/p')
cat >waits.c <<'C'
#include <signal.h>
#include <sys/time.h>
static volatile int n;
__attribute__((noinline)) static void handler(int s) { n++; }
int main(void)
{
	struct itimerval every = {{0, 4000}, {0, 4000}};
	signal(SIGVTALRM, handler);
	setitimer(ITIMER_VIRTUAL, &every, 0);
	while (n < 4)
		;
	return 0;
}
C
$cc -O1 -g -w -o waits waits.c
"$PUGMARK" record -q --level values -o waited -- ./waits 2>>err
claim 'the argument of a handler is the signal, and not what that found in registers' \
	is "$("$PUGMARK" values waited handler 2>>err | cut -d' ' -f3 | sort | uniq -c | xargs)" '4 handler(s=26)'
conclude
