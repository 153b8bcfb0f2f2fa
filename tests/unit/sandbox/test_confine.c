// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_confine.c: what a process that has given up the rest can still do, by trying it as whoever
 * took it over would: nothing to other processes, no sockets, programs, namespaces or mounts. What
 * readers do goes on: threads, children, an end by abort(). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/sandbox/confine.h"

static pid_t other; /* another process of this user */

static void start_other(void)
{
	other = fork();
	if (!other)
		for (;;)
			pause();
}

static void end_other(void)
{
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

/* Each does what it says, and returns as a call of the kernel does. */
static long sends_kill(void)
{
	return kill(other, 0);
}
static long sends_kill_to_all(void)
{
	return kill(0, 0);
}
static long sends_tkill(void)
{
	return syscall(SYS_tkill, other, 0);
}
static long sends_tgkill(void)
{
	return syscall(SYS_tgkill, other, other, 0);
}
static long queues(void)
{
	siginfo_t info = {.si_code = SI_QUEUE};
	return syscall(SYS_rt_sigqueueinfo, other, 0, &info);
}
static long queues_to_thread(void)
{
	siginfo_t info = {.si_code = SI_QUEUE};
	return syscall(SYS_rt_tgsigqueueinfo, other, other, 0, &info);
}
static long sends_by_descriptor(void)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d", other);
	int fd = open(path, O_RDONLY | O_DIRECTORY);
	return syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0);
}
static long has_it_told(void)
{
	int ends[2];
	return pipe(ends) ? 0 : fcntl(ends[0], F_SETOWN, other);
}
static long sets_its_limits(void)
{
	struct rlimit none = {0};
	return syscall(SYS_prlimit64, other, RLIMIT_CORE, &none, NULL);
}
static long looks_into_it(void)
{
	char byte;
	struct iovec to = {&byte, 1}, from = {&other, 1};
	return process_vm_readv(other, &to, 1, &from, 1, 0);
}
static long traces_it(void)
{
	return ptrace(PTRACE_SEIZE, other, NULL, NULL);
}
static long makes_a_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}
static long clones_into_one(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0);
	if (!pid)
		_exit(0);
	return pid;
}
static long mounts(void)
{
	return syscall(SYS_fsopen, "tmpfs", 0);
}
static long takes_a_tree(void)
{
	return syscall(SYS_open_tree, AT_FDCWD, "/", 0);
}
static long changes_its_root(void)
{
	return syscall(SYS_chroot, "/");
}
static long makes_a_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}
static long makes_two(void)
{
	int ends[2];
	return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}
static long shares_memory(void)
{
	return syscall(SYS_shmget, 0, 4096, 0600);
}
static long makes_a_ring(void)
{
	return syscall(SYS_io_uring_setup, 1, NULL);
}
static long starts_a_program(void)
{
	return execl("/bin/true", "true", NULL);
}
static long types_into_the_terminal(void)
{
	return ioctl(0, TIOCSTI, "x");
}

#define ATTEMPT(name)                                                                              \
	{                                                                                          \
#name, name                                                                        \
	}
static const struct attempt {
	const char *name;
	long (*make)(void);
} attempts[] = {
	ATTEMPT(sends_kill),
	ATTEMPT(sends_kill_to_all),
	ATTEMPT(sends_tkill),
	ATTEMPT(sends_tgkill),
	ATTEMPT(queues),
	ATTEMPT(queues_to_thread),
	ATTEMPT(sends_by_descriptor),
	ATTEMPT(has_it_told),
	ATTEMPT(sets_its_limits),
	ATTEMPT(looks_into_it),
	ATTEMPT(traces_it),
	ATTEMPT(makes_a_namespace),
	ATTEMPT(clones_into_one),
	ATTEMPT(mounts),
	ATTEMPT(takes_a_tree),
	ATTEMPT(changes_its_root),
	ATTEMPT(makes_a_socket),
	ATTEMPT(makes_two),
	ATTEMPT(shares_memory),
	ATTEMPT(makes_a_ring),
	ATTEMPT(starts_a_program),
	ATTEMPT(types_into_the_terminal),
};

/* What waitpid() says of a confined child that did @work. */
static int confined(int (*work)(void))
{
	int status = -1;
	pid_t pid = fork();
	if (!pid) {
		confine_bound("a test");
		_exit(confine_refuse(CONFINE_READ) ? work() : 99);
	}
	waitpid(pid, &status, 0);
	return status;
}

static const struct attempt *tried;

/* 0: it was refused. */
static int try_it(void)
{
	errno = 0;
	return tried->make() == -1 && errno == EPERM ? 0 : 1;
}

static void test_what_harms_others_is_refused(void **state)
{
	(void)state;
	unsigned got_through = 0;
	for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
		tried = &attempts[i];
		start_other();
		int status = confined(try_it);
		end_other();
		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			print_message("%s: not refused (%#x)\n", tried->name, status);
			got_through++;
		}
	}
	assert_int_equal(got_through, 0);
}

static void *add_one(void *n)
{
	++*(int *)n;
	return NULL;
}

static int work_as_readers_do(void)
{
	pthread_t thread;
	struct rlimit limit;
	int n = 0, status = 0;
	if (pthread_create(&thread, NULL, add_one, &n) || pthread_join(thread, NULL) || n != 1)
		return 1;
	pid_t pid = fork();
	if (!pid)
		_exit(7);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
		return 2;
	if (getrlimit(RLIMIT_CPU, &limit) || setrlimit(RLIMIT_CPU, &limit))
		return 3;
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
	return fd < 0 || fcntl(fd, F_GETFL) < 0 || kill(getpid(), 0) ? 4 : 0;
}

static int end_by_abort(void)
{
	abort();
}

static void test_what_readers_do_goes_on(void **state)
{
	(void)state;
	assert_int_equal(confined(work_as_readers_do), 0);
	int status = confined(end_by_abort);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_harms_others_is_refused),
		cmocka_unit_test(test_what_readers_do_goes_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
