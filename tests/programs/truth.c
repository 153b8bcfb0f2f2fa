// SPDX-License-Identifier: LGPL-2.1-or-later
/* truth.c: what a program does as the compiler's own instrumentation (-finstrument-functions) sees
 * it. Linked to a program that is built so, and not so itself, it writes the calls and returns of
 * each thread to a file TRUTH_DIR/TID, in the form of `pugmark dump`. The file is mapped: it has
 * all up to a crash. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BYTES (64ul << 20) /* mapped; the file is as long as it needs to be */
#define STEP (1ul << 16)
#define LINE 48

extern char __executable_start[];
static const uint64_t base_of_fixed = 0x400000; /* of programs that are not PIE */

static __thread char *text;
static __thread size_t used, length;
static __thread int file = -1;
static __thread pid_t owner;

static void start(pid_t tid)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%d", getenv("TRUTH_DIR"), tid);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	text = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (file < 0 || text == MAP_FAILED)
		_exit(99);
	owner = tid;
	used = length = (size_t)lseek(file, 0, SEEK_END); /* what was before an exec */
}

static char *put_number(char *at, uint64_t value, unsigned base)
{
	uint64_t unit = 1;
	while (value / unit >= base)
		unit *= base;
	for (; unit; unit /= base)
		*at++ = "0123456789abcdef"[value / unit % base];
	return at;
}

/* Takes next to no stack: a program that comes to the end of its own comes there by itself. */
static void say(const char *what, void *func)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);
	uint64_t base = (uint64_t)__executable_start;
	if (owner != tid)
		start(tid);
	if (used + 4096 > length && (length + STEP > BYTES || ftruncate(file, length += STEP)))
		_exit(99);
	char *line = text + used;
	used += LINE; /* a signal that comes now writes behind it */
	char *at = put_number(line, (uint64_t)tid, 10);
	at = stpcpy(at, what);
	at = put_number(at, (uint64_t)func - (base == base_of_fixed ? 0 : base), 16);
	memset(at, ' ', (size_t)(line + LINE - 1 - at));
	line[LINE - 1] = '\n';
}

void __cyg_profile_func_enter(void *func, void *site)
{
	(void)site;
	say(" call case 0 case:", func);
}

void __cyg_profile_func_exit(void *func, void *site)
{
	(void)site;
	say(" ret case ", func);
}
