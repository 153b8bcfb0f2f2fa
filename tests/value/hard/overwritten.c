// SPDX-License-Identifier: LGPL-2.1-or-later
/* System calls that write over what tells them where to write, that fail in the midst of what they
 * write, and that write where the same call usually reads; each in a child, as what follows is
 * assumed. */
#include "note.h"
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
static char own[64];
static volatile long word = 4, pid_fd;
static int ends[2];
static void vectors(void)
{
	char into[16] = "123456789012345";
	struct iovec v[2], others[2] = {{own, 8}, {own, 8}};
	v[0] = (struct iovec){v, sizeof(v)};
	v[1] = (struct iovec){into, 9};
	if (write(ends[1], others, sizeof(others)) < 0 || write(ends[1], "987654321", 9) < 0)
		_exit(1);
	note(10, readv(ends[0], v, 2));
	note(11, atol(into));
}
static void message(void)
{
	int s[2];
	char into[16] = "123456789012345";
	struct {
		struct msghdr m;
		struct iovec v[2];
	} at = {.v = {{&at, sizeof(at)}, {into, 9}}}, other = {.v = {{own, 8}, {own, 8}}};
	char sent[sizeof(at) + 9];
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, s))
		_exit(1);
	memcpy(sent, &other, sizeof(other));
	memcpy(sent + sizeof(other), "987654321", 9);
	send(s[1], sent, sizeof(sent), 0);
	at.m.msg_iov = at.v;
	at.m.msg_iovlen = 2;
	note(20, recvmsg(s[0], &at.m, 0));
	note(21, atol(into));
}
static void pointers(void)
{
	struct clone_args a = {.flags = CLONE_PIDFD | CLONE_PARENT_SETTID, .exit_signal = SIGCHLD};
	a.pidfd = (long)&pid_fd;
	a.parent_tid = (long)&a.pidfd;
	long child = syscall(SYS_clone3, &a, sizeof(a));
	if (!child)
		_exit(0);
	note(30, pid_fd);
	waitpid(child, NULL, 0);
}
static void faults(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(page + 4096, 4096);
	strcpy(page + 4080, "123456789012345");
	if (write(ends[1], "98765432109876543210", 20) < 0)
		_exit(1);
	note(40, read(ends[0], page + 4080, 20) < 0 && errno == EFAULT);
	note(41, page[4080]);
}
int main(void)
{
	struct iovec to = {(void *)&word, 8};
	if (pipe(ends) || write(ends[1], &(long){5}, 8) != 8)
		return 1;
	note(1, word);
	if (vmsplice(ends[0], &to, 1, 0) != 8)
		return 77;
	note(2, word);
	void (*const each[])(void) = {vectors, message, pointers, faults};
	for (int i = 0; i < 4; i++) {
		if (!fork()) {
			each[i]();
			_exit(0);
		}
		wait(NULL);
	}
	return 0;
}
