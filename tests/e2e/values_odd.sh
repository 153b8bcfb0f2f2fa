#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_odd.sh: what few programs do, and what makes a replay wrong if nobody thought of it: chance in any
# register, system calls that seldom write, handlers that change the registers of what they interrupted,
# memory of System V, calls with an address size, programs that are linked statically, AVX-512. Each prints what it
# saw; what is called exact is that.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs cc
work_in_own_folder

sees() { # NAME WORDS OPTION...: records ./NAME; each line "K V" that it prints is note(k=K, v=V), known and unmarked
	"$PUGMARK" record -q --level values "${@:3}" -o "$1.rec" -- ./"$1" >printed 2>err
	"$PUGMARK" values "$1.rec" note >got
	sed -nE 's/.*note\(k=([0-9]+), v=([0-9]+)\)$/\1 \2/p' got >known
	claim "$2" test -s printed
	claim "$2: all of it" cmp -s printed known
}
head='#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
__attribute__((noinline, noipa)) void note(int k, unsigned long v) { printf("%d %lu\n", k, v); }'
build() { # NAME OPTIONS...: of standard input
	{ echo "$head"; cat; } >"$1.c"
	cc -O1 -g -o "$1" "$1.c" "${@:2}"
}

if grep -qw rdrand /proc/cpuinfo && grep -qw rdpid /proc/cpuinfo; then
	build chance <<'C'
int main(void)
{
	register unsigned long r asm("r8"), s asm("rsi");
	unsigned long t;
	asm volatile("rdrand %0" : "=r"(r) : : "cc");
	t = r;
	note(1, t);
	asm volatile("rdpid %0" : "=r"(s));
	t = s;
	note(2, t);
	asm volatile("rdrand %%eax; mov %%rax, %0" : "=r"(t) : : "rax", "cc");
	note(3, t);
	return 0;
}
C
	sees chance 'what chance puts into any register is known'
else
	echo 'SKIP: what chance puts into any register: this processor has no rdrand or no rdpid'
	skipped=$((skipped + 1))
fi

build some -fno-builtin <<'C'
#include <string.h>
int main(int argc, char **argv)
{
	char copy[64];
	unsigned long v = 0, n = argc;
	memcpy(copy, "copied", 7 * argc);
	asm volatile("bt $0, %1; jnc 1f; mov $7, %0; 1:" : "+r"(v) : "r"(n) : "cc");
	note(1, v);
	memcpy(copy, "copied", 7 * argc);
	asm volatile("dec %1; jnz 1f; mov $8, %0; 1:" : "+r"(v), "+r"(n) : : "cc");
	note(2, v);
	return 0;
}
C
sees some 'behind a function that leaves no flag known, those that an instruction has set are'

build wide -fno-builtin -std=gnu17 <<'C'
#include <stdlib.h>
#include <wchar.h>
int main(int argc, char **argv)
{
	enum { PAGE = 4096 / sizeof(wchar_t) };
	wchar_t *pages = aligned_alloc(4096, 3 * 4096);
	for (int i = 0; i < 40; i++) {
		wchar_t *at = pages + PAGE - 1 - i;
		wmemcpy(at, L"the same up to here", 20);
		note(2 * i, 10 + wcscmp(at, L"the same up to there"));
		note(2 * i + 1, 10 + wmemcmp(at, L"the same up to every", 20));
	}
	wchar_t one[2]; /* what lies behind it nobody has written */
	asm volatile("" : : "r"(one) : "memory");
	one[0] = 'a' + argc;
	one[1] = 0;
	note(98, wcslen(one) + 10 * wcsnlen(one, 5));
	return 0;
}
C
sees wide 'what a comparison says more than which text comes first is its own'

build arch <<'C'
int main(void)
{
	unsigned long fs = 1, gs = 2, features = 3;
	syscall(SYS_arch_prctl, 0x1003, &fs);
	syscall(SYS_arch_prctl, 0x1004, &gs);
	note(1, fs);
	note(2, gs);
	if (!syscall(SYS_arch_prctl, 0x1021, &features))
		note(3, features);
	return 0;
}
C
sees arch 'what arch_prctl() writes is known'

# Of some calls more is told than that they have failed, or not.
build seldom <<'C'
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
static struct ifreq interfaces[8];
static char from[8] = "written", to[8] = "........";
static unsigned attr[32], handle[2];
static int pair[2] = {-1, -1};
static unsigned char pages[8192];
int main(void)
{
	siginfo_t info;
	unsigned short sizes[4] = {0};
	struct iovec local = {from, 8}, remote = {to, 8};
	int mount = -5;
	info.si_signo = 77;
	waitid(P_PID, 1, &info, WEXITED);
	note(1, info.si_signo + 100 * (errno == ECHILD));
	note(2, !syscall(SYS_seccomp, 3, 0, sizes) && sizes[0]);
	note(3, syscall(SYS_process_vm_writev, getpid(), &local, 1, &remote, 1, 0) == 8);
	note(4, to[0] + to[6]);
	attr[0] = 100;
	attr[20] = 1;
	note(5, syscall(SYS_sched_setattr, 0, attr, 0) == -1 && errno == E2BIG);
	note(6, attr[0]);
	note(7, name_to_handle_at(AT_FDCWD, ".", (void *)handle, &mount, 0) == -1 && errno == EOVERFLOW);
	note(8, handle[0] + 1000ul * (mount != -5));
	note(9, socketpair(AF_INET, SOCK_STREAM, 0, pair) == -1);
	note(10, pair[0]);
	/* Through a pointer in what its third argument points to. */
	struct ifconf all = {.ifc_len = sizeof(interfaces), .ifc_req = interfaces};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	note(11, ioctl(fd, SIOCGIFCONF, &all) == 0);
	note(12, interfaces[0].ifr_name[0]);
	return 0;
}
C
"$PUGMARK" record -q --level values -o seldom.rec -- ./seldom >printed 2>err
"$PUGMARK" values seldom.rec note >got
sed -nE 's/.*note\(k=([0-9]+), v=([0-9]+)\)$/\1 \2/p' got >known
claim 'what system calls write that seldom write is known' same <(head -n 10 printed) known
claim 'what is told by nobody is assumed' grep -q 'note(k=12~, v=[0-9]*~)$' got

# The kernel goes on with an interrupted poll() by another number.
build waiter <<'C'
#include <poll.h>
#include <time.h>
int main(void)
{
	static struct pollfd p;
	char byte;
	note(0, 1);
	fflush(stdout);
	for (int i = 1; i < 4; i++) {
		struct timespec some = {0, 300000000}, left = {7, 7};
		p = (struct pollfd){0, POLLIN, 0};
		poll(&p, 1, -1);
		note(i, p.revents);
		fflush(stdout);
		read(0, &byte, 1);
		nanosleep(&some, &left);
		note(10 + i, left.tv_sec);
		fflush(stdout);
	}
	return 0;
}
C
mkfifo waited
./waiter <waited >printed &
waiter=$!
started+=($waiter)
exec 5>waited
state() { [ "$(sed 's/.*) //; s/ .*//' /proc/$waiter/stat)" = "$1" ]; }
await grep -q '^0 1' printed && await state S
"$PUGMARK" record --level values -p $waiter -o waiter.rec >said.waiter 2>&1 &
recorder=$!
await grep -q recording said.waiter
for i in 1 2 3; do
	echo -n x >&5
	await grep -q "^$i " printed
	kill -STOP $waiter && await state T
	kill -CONT $waiter && await grep -q "^1$i " printed && await state S
	kill -STOP $waiter && await state T
	kill -CONT $waiter && await state S
done 2>err
exec 5>&-
wait $recorder
"$PUGMARK" values waiter.rec note >got 2>err
sed -nE 's/.*note\(k=([0-9]+), v=([0-9]+)\)$/\1 \2/p' got >known
claim 'what an interrupted call writes when the kernel goes on with it is known' same <(tail -n +2 printed) known

build handlers <<'C'
static void divided(int s, siginfo_t *info, void *u)
{
	((ucontext_t *)u)->uc_mcontext.gregs[REG_RCX] = 7;
}
static void undefined(int s, siginfo_t *info, void *u)
{
	((ucontext_t *)u)->uc_mcontext.gregs[REG_RIP] += 2;
	((ucontext_t *)u)->uc_mcontext.gregs[REG_R12] += 5;
}
int main(void)
{
	struct sigaction a = {.sa_sigaction = divided, .sa_flags = SA_SIGINFO};
	unsigned long r, s = 100;
	sigaction(SIGFPE, &a, 0);
	asm volatile("xor %%ecx, %%ecx; xor %%edx, %%edx; div %%ecx" : "=a"(r) : "a"(s) : "rcx", "rdx");
	note(1, r);
	a.sa_sigaction = undefined;
	sigaction(SIGILL, &a, 0);
	asm volatile("mov %1, %%r12; ud2; mov %%r12, %0" : "=r"(r) : "r"(s) : "r12");
	note(2, r);
	return 0;
}
C
sees handlers 'a handler of SIGFPE and of SIGILL changes registers, and goes on elsewhere'

# Exceptions of SSE that are not masked come as signals, or not at all; what a handler has in MXCSR is
# as a processor begins.
build unmasked -w -lm <<'C'
#include <fenv.h>
#include <setjmp.h>
static sigjmp_buf back;
static volatile double zero, one = 1, result = 5;
static void handler(int s, siginfo_t *info, void *context) { siglongjmp(back, info->si_code); }
static void divide(int k, double by, int unmasked)
{
	feenableexcept(unmasked);
	int code = sigsetjmp(back, 1);
	if (!code)
		result = one / by;
	note(k, code);
	note(k + 1, (unsigned long)(result * 1000));
}
int main(void)
{
	struct sigaction act = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGFPE, &act, NULL);
	divide(0, 3, FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
	divide(2, zero, FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
	divide(4, 7, FE_INEXACT);
	divide(6, 7, 0);
	return 0;
}
C
sees unmasked 'exceptions of SSE that are not masked'
claim 'to its end' grep -q 'up to its end' <("$PUGMARK" values handlers.rec)

# The same of x87, where a signal comes with the instruction behind; none of these raises one.
build unmasked_x87 -w -lm <<'C'
#include <fenv.h>
static volatile long double one = 1, three = 3, result;
int main(void)
{
	feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
	result = one / three;
	note(1, (unsigned long)(result * 1000000));
	note(2, (unsigned long)fegetexcept());
	fesetround(FE_UPWARD);
	note(3, (unsigned long)(result * 3000000));
	note(4, (unsigned long)llrintl(result * 10));
	return 0;
}
C
sees unmasked_x87 'exceptions of x87 that are not masked'

# A function of a library returns text that nothing has read yet, so that its page is not there when the
# call is over, and nobody can say what was written. It may only be read.
cat >texts.c <<'C'
static const char texts[64][4096] = {[40] = "of a page that is touched last", [63] = "end"};
const char *text_of(int k) { return texts[k]; }
C
cc -shared -fPIC -O1 -o libtexts.so texts.c
echo 'text_of output result:string' >rows
build untouched -L. -ltexts -Wl,-rpath,"$PWD" <<'C'
const char *text_of(int k);
int main(int argc, char **argv)
{
	unsigned long sum = 0;
	const char *c = text_of(39 + argc);
	asm volatile("nop"); /* watched, as it comes before the first reading */
	for (; *c; c++)
		sum = sum * 31 + *c;
	note(1, sum);
	return 0;
}
C
sees untouched 'text of a library that is read first behind the call that it came from' --imports rows

# What a handler is told is in a frame that the kernel writes: siginfo and ucontext, on a stack of its own
# beside which lies what the program has written; the handler calls before it moves anything.
cat >frame.c <<'C'
#include <stdlib.h>
static char area[40000], *beside = area + 24000;
static unsigned long seen[6];
__attribute__((noinline, noipa)) void look(siginfo_t *i, ucontext_t *u)
{
	seen[0] = i->si_code + 100;
	seen[1] = (unsigned long)i->si_addr;
	seen[2] = u->uc_mcontext.gregs[REG_R12];
	seen[3] = u->uc_mcontext.gregs[REG_R13];
	seen[4] = u->uc_stack.ss_size + u->uc_sigmask.__val[0];
	u->uc_mcontext.gregs[REG_RIP] += 3;
	u->uc_mcontext.gregs[REG_R13] += 5;
}
static void handler(int s, siginfo_t *i, void *u)
{
	look(i, u);
	seen[5]++;
}
int main(int argc, char **argv)
{
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t own = {.ss_sp = area + 8000, .ss_size = 16000};
	unsigned long sum = 0, r;
	for (int i = 0; i < 9000; i++)
		beside[i] = i * argc;
	sigaltstack(&own, 0);
	sigaction(SIGSEGV, &a, 0);
	asm volatile("mov $77, %%r12; mov $99, %%r13; mov $0x1230, %%eax; mov (%%rax), %%rax; mov %%r13, %0"
		     : "=r"(r) : : "rax", "r12", "r13", "memory");
	for (int i = 0; i < 9000; i++)
		sum += beside[i];
	for (int i = 0; i < 6; i++)
		note(i, seen[i]);
	note(6, r);
	note(7, sum);
	return 0;
}
C
build told <frame.c
sees told 'what a handler is told, and what lies beside its own stack'
if build told_static -static <frame.c 2>err; then
	sees told_static 'the same, where what a handler returns to is traced code'
fi

# No probe is in a library, and what it asks the processor decides what it does.
cat >asks.c <<'C'
#include <cpuid.h>
int asks(int leaf)
{
	unsigned a, b, c, d;
	if (!__get_cpuid_count(leaf, 0, &a, &b, &c, &d))
		return -1;
	return d >> 26 & 1 ? b & 8 ? 7 : 6 : 5;
}
C
cc -O1 -shared -fPIC -o libasks.so asks.c
build asking -L. -lasks -Wl,-rpath,. <<'C'
int asks(int leaf);
int main(void)
{
	note(1, asks(1));
	note(2, asks(7));
	note(3, asks(0x14));
	note(4, asks(0x1d));
	return 0;
}
C
sees asking 'what a library does by what cpuid tells is known'

# By the time that the recorder looks there, the mapping is in pieces: it has a larger file to keep before.
yes pieces | head -c 65536 >pieces.txt
head -c 8000000 /dev/urandom >large.txt
build pieces <<'C'
#include <fcntl.h>
#include <sys/mman.h>
int main(void)
{
	int fd = open("pieces.txt", O_RDONLY), large = open("large.txt", O_RDONLY);
	mmap(NULL, 8000000, PROT_READ, MAP_PRIVATE, large, 0);
	char *at = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	mprotect(at, 4096, PROT_READ);
	munmap(at + 8192, 4096);
	note(1, *(long *)(at + 4096) & 0xffff);
	note(2, *(long *)(at + 61440) & 0xffff);
	usleep(500000);
	return 0;
}
C
sees pieces 'a file that was mapped whole is known whole, though parts of it were protected or unmapped at once'

build narrow <<'C'
__attribute__((noinline, noipa)) unsigned long twice(unsigned long v) { return 2 * v; }
int main(void)
{
	unsigned long r;
	asm volatile("sub $256, %%rsp; .byte 0x67; call twice; add $256, %%rsp"
		     : "=a"(r) : "D"(21ul) : "memory", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11");
	note(1, r);
	return 0;
}
C
sees narrow 'a call with an address size is a call'

build shared <<'C'
__attribute__((noinline, noipa)) void told(int k, unsigned long v) { asm volatile("" : : "r"(v)); }
int main(void)
{
	int id = shmget(IPC_PRIVATE, 4096, 0600 | IPC_CREAT);
	volatile int *p = shmat(id, 0, 0);
	p[3] = 5;
	told(1, p[3]);
	shmdt((void *)p);
	shmctl(id, IPC_RMID, 0);
	told(2, 7);
	return 0;
}
C
"$PUGMARK" record -q --level values -o shared.rec -- ./shared >printed 2>err
"$PUGMARK" values shared.rec told >got
claim 'memory of System V is assumed, as others write there' grep -q 'told(k=1, v=5~)$' got
claim 'and goes away' grep -q 'told(k=2, v=7)$' got

# A static program begins right behind the call that executed it, and sets its thread pointer itself.
cat >start.S <<'S'
	.globl _start
	.type _start, @function
_start:
	.cfi_startproc
	.cfi_undefined %rip
	xor %eax, %eax
	cpuid
	lea here(%rip), %rsi
	mov $0x1002, %edi
	mov $158, %eax
	syscall
	mov %fs:8, %rdi
	call note
	mov $231, %eax
	xor %edi, %edi
	syscall
	hlt
	.cfi_endproc
	.type note, @function
	.globl note
note:
	.cfi_startproc
	mov %rdi, %rax
	ret
	.cfi_endproc
	.size note, .-note
	.section .data
	.balign 8
here:	.quad 1, 77
S
cc -nostdlib -static -o start start.S
"$PUGMARK" record -q --level values -o start.rec -- ./start 2>err
claim 'a static program that asks the processor what it is, and sets FS, is known to its end' \
	grep -q '0 with something assumed, 0 unknown; up to its end' <("$PUGMARK" values start.rec)

# The C library's own string functions are traced code here, by AVX-512 where the processor has it.
static='<string.h>
#include <stdlib.h>
#include <wchar.h>
static int order(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }
int main(void)
{
	char *line[90], other[300];
	wchar_t wide[40];
	unsigned long sum = 0;
	for (int i = 0; i < 90; i++) {
		line[i] = malloc(300);
		snprintf(line[i], 300, "%*d of %0*d", i % 41 + 1, i * 7919 % 100, i + 1, i);
	}
	qsort(line, 90, sizeof(*line), order);
	for (int i = 0; i < 90; i++) {
		memset(other, i, sizeof(other));
		memmove(other + i % 7, strcpy(other, line[i]), 200);
		note(1, strlen(line[i]) + strnlen(line[i], 70) + (strchr(line[i], 48) - line[i]));
		sum += (strrchr(line[i], 32) - line[i]) + (memchr(other, 3, 300) != 0) + strspn(other, " 1234");
		sum += (strncmp(other, line[i], 40) > 0) + 2 * (memcmp(other, line[i], 90) > 0);
		sum += (strstr(line[i], "000") != 0) + strcspn(line[i], "f") + (strcasecmp(other, line[i]) < 0);
		sum += wcslen(wmemset(wide, i + 1, 39)) * (wide[39] = 0, 1);
	}
	note(2, sum);
	return 0;
}'
if echo "#include $static" | build static -static -Wno-all 2>err; then
	sees static 'string functions of a program that is linked statically'
	claim 'all of it is exact, to its end' \
		grep -q '0 with something assumed, 0 unknown; up to its end' <("$PUGMARK" values static.rec)
else
	echo 'SKIP string functions: there is no static C library'
	skipped=$((skipped + 1))
fi

if grep -qw avx512bw /proc/cpuinfo; then
	build wide <<'C'
#include <sys/time.h>
static volatile int taken;
static void handler(int sig)
{
	asm volatile("vpternlogd $255, %%zmm20, %%zmm20, %%zmm20; vpxor %%xmm3, %%xmm3, %%xmm3; kxnorq %%k3, %%k3, %%k3"
		     : : : "memory");
	taken++;
}
int main(void)
{
	unsigned long word[8], more[8], mask, sum = 0;
	signal(SIGUSR1, handler);
	for (unsigned long i = 1; i < 50; i++) {
		asm volatile("vpbroadcastq %2, %%zmm20; vpaddq %%zmm20, %%zmm20, %%zmm3\n"
			     "mov $0xa5, %%eax; kmovd %%eax, %%k3; vpaddq %%zmm20, %%zmm3, %%zmm3%{%%k3%}\n"
			     "mov %3, %%edi; mov $62, %%eax; mov $10, %%esi; syscall\n"
			     "vmovdqu64 %%zmm3, %0; kmovq %%k3, %1; vpaddq %%ymm3, %%ymm20, %%ymm3\n"
			     "vmovdqu64 %%zmm3, %4\n"
			     : "=m"(word), "=&r"(mask) : "r"(i), "r"(getpid()), "m"(more)
			     : "rax", "rdi", "rsi", "rcx", "r11", "memory");
		sum += word[0] + 3 * word[1] + 5 * word[7] + mask;
		sum += more[3] + more[7];
		note(1, sum);
	}
	note(3, taken);
	return 0;
}
C
	sees wide 'registers of AVX-512, a handler that changes them, and what narrower instructions clear'
else
	echo 'SKIP registers of AVX-512: this processor has none'
	skipped=$((skipped + 1))
fi
conclude
