// SPDX-License-Identifier: LGPL-2.1-or-later
/* Threads that end with lists of robust futexes which the kernel follows only in part: the word of
 * an entry is no word, or an entry cannot be read, so that what is pending stays as it is. */
#include "note.h"
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
struct entry {
	void *next;
	unsigned word, more;
};
static struct {
	void *next;
	long word_at;
	void *pending;
} head;
static struct entry at[4], *far;
static char stack[16384] __attribute__((aligned(16)));
static int how;
static int ends(void *arg)
{
	unsigned me = syscall(SYS_gettid);
	struct entry *odd = (void *)((char *)&at[1] + 2);
	for (int i = 0; i < 4; i++)
		at[i] = (struct entry){&at[i + 1], me, 0};
	head.next = &at[0];
	head.word_at = offsetof(struct entry, word);
	head.pending = &at[3];
	if (how == 0) /* up to its end */
		at[2].next = &head;
	if (how == 1) { /* an address of two in four, where it would be the thread's own */
		at[0].next = odd;
		*odd = (struct entry){&at[2], me, 0};
	}
	if (how == 2)
		at[1].next = far;
	syscall(SYS_set_robust_list, &head, sizeof(head));
	return syscall(SYS_exit, 0);
}
static void ended(int tid)
{
	char name[64];
	snprintf(name, sizeof(name), "/proc/self/task/%d", tid);
	while (!access(name, F_OK))
		usleep(1000);
}
int main(void)
{
	far = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(far, 4096);
	note(90, 1);
	for (how = 0; how < 3; how++) {
		ended(clone(ends, stack + sizeof(stack),
			    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
				    CLONE_SYSVSEM,
			    NULL));
		for (int i = 0; i < 4; i++)
			note(10 * how + i, at[i].word >> 28);
	}
	return 0;
}
