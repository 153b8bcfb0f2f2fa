// SPDX-License-Identifier: LGPL-2.1-or-later
/* truth.c: what a program does as the compiler's own instrumentation (-finstrument-functions) sees
 * it. Linked to a program that is built so, and not so itself, it writes the calls and returns of
 * each thread to a file TRUTH_DIR/TID, in the form of `pugmark dump`. The file is mapped: it has
 * all up to a crash. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BYTES (64ul << 20)

extern char __executable_start[];
static const uint64_t base_of_fixed = 0x400000; /* of programs that are not PIE */

static __thread char *text;
static __thread size_t used;
static __thread pid_t owner;

static void start(pid_t tid)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%d", getenv("TRUTH_DIR"), tid);
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, BYTES))
		_exit(99);
	text = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (text == MAP_FAILED)
		_exit(99);
	owner = tid;
	used = 0;
	while (text[used]) /* before an exec */
		used++;
}

static void say(const char *format, void *func)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);
	uint64_t base = (uint64_t)__executable_start;
	if (owner != tid)
		start(tid);
	if (used + 100 > BYTES)
		_exit(99);
	size_t at = used;
	used += 48; /* a signal that comes now writes behind it */
	int n = snprintf(text + at, 48, format, tid,
			 (uint64_t)func - (base == base_of_fixed ? 0 : base));
	for (; n < 47; n++)
		text[at + n] = ' ';
	text[at + 47] = '\n';
}

void __cyg_profile_func_enter(void *func, void *site)
{
	(void)site;
	say("%d call case 0 case:%lx", func);
}

void __cyg_profile_func_exit(void *func, void *site)
{
	(void)site;
	say("%d ret case %lx", func);
}
