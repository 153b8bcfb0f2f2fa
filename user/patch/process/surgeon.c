// SPDX-License-Identifier: LGPL-2.1-or-later
/* surgeon.c: see surgeon.h. */
#include "user/patch/process/surgeon.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct operation {
	int (*operate)(void *ctx);
	void *ctx;
	int result;
};

/* Of the child: to where it tells, and from where it hears that this was taken in. */
static int tell_fd = -1, heard_fd = -1;

void *surgeon_memory(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

void surgeon_free(void *memory, size_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}

static void operate(struct operation *o)
{
	sigset_t all;

	setpgid(0, 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* While others are stopped nothing is to come before this. */
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
	o->result = o->operate(o->ctx);
}

void surgeon_tell(void)
{
	char byte = 0;

	signal(SIGPIPE, SIG_IGN);
	if (tell_fd >= 0 && write(tell_fd, &byte, 1) == 1 && read(heard_fd, &byte, 1) < 0)
		return; /* there is nobody who would have heard it */
}

static pid_t start(struct operation *o, const int told[2], const int heard[2])
{
	pid_t pid = fork();

	if (pid)
		return pid;
	tell_fd = told[1];
	heard_fd = heard[0];
	close(told[0]);
	close(heard[1]);
	operate(o);
	_exit(0);
}

int surgeon_run_telling(int (*what)(void *ctx), void (*told)(void *ctx), void *ctx)
{
	struct operation *o = surgeon_memory(sizeof(*o));
	int tell[2] = {-1, -1}, hear[2] = {-1, -1}, status;
	char byte = 0;

	if (!o)
		return -ENOMEM;
	*o = (struct operation){what, ctx, -EINTR};
	int err = pipe2(tell, O_CLOEXEC) || pipe2(hear, O_CLOEXEC) ? -errno : 0;
	pid_t pid = err ? -1 : start(o, tell, hear);
	if (!err && pid < 0)
		err = -errno;
	close(tell[1]);
	close(hear[0]);
	if (!err && read(tell[0], &byte, 1) == 1) {
		told(ctx);
		if (write(hear[1], &byte, 1) != 1)
			err = -EINTR;
	}
	close(tell[0]);
	close(hear[1]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			err = -errno;
	if (!err)
		err = o->result;
	surgeon_free(o, sizeof(*o));
	return err;
}

static void hear_nothing(void *ctx)
{
	(void)ctx;
}

int surgeon_run(int (*what)(void *ctx), void *ctx)
{
	return surgeon_run_telling(what, hear_nothing, ctx);
}
