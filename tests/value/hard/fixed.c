// SPDX-License-Identifier: LGPL-2.1-or-later
/* Memory that may only be read is written by the file of the memory in /proc: by the process
 * itself, and by another one. Between that and the note nothing is read from other memory, so that
 * the note is marked for this one alone; and what is written is no longer than what was there, so
 * that no record disagrees. */
#include "note.h"
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
static const long in_rodata = 3;
#define fixed (*(const volatile long *)&in_rodata)

static inline __attribute__((always_inline)) long call(long nr, long a, const void *b, long c,
						       long d)
{
	register long r10 __asm__("r10") = d;
	__asm__ volatile("syscall"
			 : "+a"(nr)
			 : "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return nr;
}

int main(void)
{
	char name[40];
	int memory, parent = getpid();
	long v = 4;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	snprintf(name, sizeof(name), "/proc/%d/mem", parent);
	note(1, fixed);
	if (!fork()) {
		memory = open("/proc/self/mem", O_RDWR);
		call(SYS_pwrite64, memory, &v, 8, (long)&fixed);
		note(10, fixed);
		return 0;
	}
	call(SYS_wait4, -1, NULL, 0, 0);
	if (!fork()) {
		usleep(100000); /* the parent waits by then */
		memory = open(name, O_RDWR);
		_exit(pwrite(memory, &v, 8, (long)&fixed) != 8);
	}
	call(SYS_wait4, -1, NULL, 0, 0);
	note(11, fixed);
	return 0;
}
