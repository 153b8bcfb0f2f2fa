// SPDX-License-Identifier: LGPL-2.1-or-later
/* private_run.c: see private_run.h. Three processes: the caller; a warden, which is the first one
 * of the new namespace of processes, so that all end with it; and the program, its child. */
#include "user/again/private_run.h"

#include "user/again/private_files.h"
#include "user/again/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the program ----------------------------------------------------------------------------- */

static void limit(int what, uint64_t n)
{
	struct rlimit r = {n, n};
	setrlimit(what, &r);
}

__attribute__((noreturn)) static void become(const struct private_command *c,
					     const struct private_run *run, bool traced)
{
	char path[64];
	int in = -1;
	if (c->input >= 0 && !c->input_path) {
		/* Opened again, so that it has a place of its own in the file. */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", c->input);
		in = open(path, O_RDONLY);
	}
	in = in < 0 ? open("/dev/null", O_RDONLY) : in;
	dup2(in, 0);
	dup2(run->out, 1);
	dup2(run->err, 2);
	close_range(3, ~0U, 0);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_AS, c->memory_bytes);
	limit(RLIMIT_CPU, c->seconds + 1);
	limit(RLIMIT_FSIZE, c->memory_bytes);
	if (traced)
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execvp(c->argv[0], c->argv);
	_exit(127);
}

/* --- the warden ------------------------------------------------------------------------------ */

static void on_alarm(int signal)
{
	(void)signal;
}

static void raise_loopback(void)
{
	struct ifreq r = {.ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	strcpy(r.ifr_name, "lo");
	if (fd >= 0) {
		ioctl(fd, SIOCSIFFLAGS, &r);
		close(fd);
	}
}

/* Runs the program, with the alarm set. */
static void run_child(const struct private_command *c, const struct turned_jump *turn,
		      const struct private_run *run, struct private_result *r)
{
	int done = 1;
	pid_t pid = fork();
	if (pid < 0) {
		snprintf(r->why, sizeof(r->why), "no process: %s", strerror(errno));
		return;
	}
	if (!pid)
		become(c, run, turn);
	struct sigaction act = {.sa_handler = on_alarm};
	sigaction(SIGALRM, &act, NULL);
	alarm(c->seconds);
	if (turn) {
		done = waitpid(pid, &r->status, 0) == pid && WIFSTOPPED(r->status)
			       ? turn_jump(pid, turn, r)
			       : -ENOENT;
		if (done == -ENOENT)
			snprintf(r->why, sizeof(r->why), "%s: cannot be run", c->argv[0]);
	}
	r->end = done > 0 ? PRIVATE_ENDED : !done ? PRIVATE_UNTURNED : PRIVATE_FAILED;
	if (done == -EINTR || (done > 0 && waitpid(pid, &r->status, 0) != pid))
		r->end = PRIVATE_TOO_LONG;
}

__attribute__((noreturn)) static void warden(const struct private_command *c,
					     const struct turned_jump *turn,
					     const struct private_run *run, const char *stage,
					     int to)
{
	struct private_result r = {.end = PRIVATE_FAILED};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_IGN);
	raise_loopback();
	if (!private_files_enter(stage, c->memory_bytes, c->input_path, c->input, r.why,
				 sizeof(r.why)))
		run_child(c, turn, run, &r);
	if (write(to, &r, sizeof(r)) != sizeof(r))
		_exit(1);
	_exit(0); /* and whatever the program has left ends as well */
}

/* --- the caller ------------------------------------------------------------------------------ */

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* What is no root here is root in a namespace of its own. */
static int part(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int flags = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWPID;
	if (unshare(flags | (uid ? CLONE_NEWUSER : 0)))
		return -errno;
	if (!uid)
		return 0;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	bool ok = put("/proc/self/uid_map", map) && put("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", gid);
	return ok && put("/proc/self/gid_map", map) ? 0 : -EPERM;
}

/* The process between: it is in the new namespaces but for that of processes, which begins with
 * its child. */
__attribute__((noreturn)) static void between(const struct private_command *c,
					      const struct turned_jump *turn,
					      const struct private_run *run, int to)
{
	struct private_result r = {.end = PRIVATE_FAILED};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int err = part();
	pid_t pid = err ? -1 : fork();
	if (!pid)
		warden(c, turn, run, run->stage, to);
	if (pid > 0) {
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	snprintf(r.why, sizeof(r.why), "no namespaces of its own for the program: %s",
		 strerror(err ? -err : errno));
	if (write(to, &r, sizeof(r)) < 0)
		_exit(1);
	_exit(0);
}

int private_run_start(const struct private_command *c, const struct turned_jump *turn,
		      struct private_run *run, struct pugmark_diag *diag)
{
	int ends[2];
	*run = (struct private_run){-1, -1, memfd_create("out", MFD_CLOEXEC),
				    memfd_create("err", MFD_CLOEXEC), "/tmp/pugmark-again-XXXXXX"};
	if (!mkdtemp(run->stage))
		run->stage[0] = 0;
	if (run->out < 0 || run->err < 0 || !run->stage[0] || pipe2(ends, O_CLOEXEC)) {
		int err = -errno;
		private_run_close(run);
		return pugmark_diag_set(diag, err, c->argv[0], PUGMARK_NO_OFFSET,
					"cannot be run: %s", strerror(-err));
	}
	run->pid = fork();
	if (!run->pid) {
		close(ends[0]);
		between(c, turn, run, ends[1]);
	}
	close(ends[1]);
	run->pipe = ends[0];
	if (run->pid >= 0)
		return 0;
	int err = -errno;
	private_run_close(run);
	return pugmark_diag_set(diag, err, c->argv[0], PUGMARK_NO_OFFSET, "cannot be run: %s",
				strerror(-err));
}

void private_run_wait(struct private_run *run, struct private_result *result)
{
	ssize_t n;
	do
		n = read(run->pipe, result, sizeof(*result));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(*result))
		*result = (struct private_result){.end = PRIVATE_FAILED,
						  .why = "the process that runs it was killed"};
	result->why[sizeof(result->why) - 1] = 0;
	waitpid(run->pid, NULL, 0);
	run->pid = -1;
}

void private_run_close(struct private_run *run)
{
	if (run->pid > 0) {
		kill(run->pid, SIGKILL);
		waitpid(run->pid, NULL, 0);
	}
	if (run->pipe >= 0)
		close(run->pipe);
	if (run->out >= 0)
		close(run->out);
	if (run->err >= 0)
		close(run->err);
	if (run->stage[0])
		rmdir(run->stage);
	*run = (struct private_run){-1, -1, -1, -1, ""};
}

int private_input(struct pugmark_diag *diag)
{
	char bytes[1 << 16];
	struct stat st;
	ssize_t n;
	if (fstat(0, &st) || S_ISCHR(st.st_mode))
		return -1;
	if (S_ISREG(st.st_mode))
		return fcntl(0, F_DUPFD_CLOEXEC, 3);
	int fd = memfd_create("input", MFD_CLOEXEC);
	while (fd >= 0 && (n = read(0, bytes, sizeof(bytes))) > 0)
		if (write(fd, bytes, n) != n) {
			close(fd);
			fd = -1;
		}
	return fd >= 0 ? fd
		       : pugmark_diag_set(diag, -ENOMEM, "standard input", PUGMARK_NO_OFFSET,
					  "cannot be kept: %s", strerror(errno));
}
