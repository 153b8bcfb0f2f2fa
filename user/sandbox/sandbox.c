// SPDX-License-Identifier: LGPL-2.1-or-later
/* sandbox.c: see sandbox.h. The child is a fork: what it works on is in its memory. Between the two
 * are a socket, for what it asks and for how it ended, and memory for its result, which is read
 * when it has ended. */
#include "user/sandbox/sandbox.h"

#include "user/sandbox/broker.h"
#include "user/sandbox/filter.h"
#include "user/sandbox/way.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, OPEN_FILES = 512, SECONDS = 1800, CANCEL_MS = 50 };
#if defined(__SANITIZE_ADDRESS__)
enum { KEPT = STDOUT_FILENO }; /* what sanitizers find is said */
#else
enum { KEPT = STDERR_FILENO };
#endif
enum { OP_LISTENER = 1, OP_ENDED = 2, OP_CANNOT = 3 }; /* below those of sandbox_ask() */

struct message {
	char op;
	int err;
	struct pugmark_diag diag; /* OP_ENDED */
	char text[SANDBOX_TEXT_MAX];
};

static int inside = -1; /* the child's end of the socket */

bool sandbox_is_inside(void)
{
	return inside >= 0;
}

/* ---- messages ---- */

static int send_message(int to, const struct message *m, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec bytes = {(void *)m, sizeof(*m)};
	struct msghdr h = {.msg_iov = &bytes, .msg_iovlen = 1};
	if (fd >= 0) {
		h.msg_control = control;
		h.msg_controllen = sizeof(control);
		struct cmsghdr *c = CMSG_FIRSTHDR(&h);
		*c = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	ssize_t n;
	do
		n = sendmsg(to, &h, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == sizeof(*m) ? 0 : -EPIPE;
}

static int receive_message(int from, struct message *m, int *fd)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec bytes = {m, sizeof(*m)};
	struct msghdr h = {.msg_iov = &bytes,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	ssize_t n;
	do
		n = recvmsg(from, &h, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	*fd = -1;
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&h) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(int));
	if (n == sizeof(*m) && !(h.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		m->text[sizeof(m->text) - 1] = 0;
		return 0;
	}
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return -EPIPE;
}

int sandbox_ask(char op, const char *text, int sent, int *fd)
{
	struct message m = {.op = op};
	*fd = -1;
	if (strlen(text) >= sizeof(m.text))
		return -ENAMETOOLONG;
	strcpy(m.text, text);
	int err = send_message(inside, &m, sent);
	if (!err)
		err = receive_message(inside, &m, fd);
	return err ? err : m.err;
}

/* ---- the child ---- */

static void limit(int what, uint64_t value)
{
	struct rlimit now, set = {value, value};
	if (!getrlimit(what, &now) && now.rlim_max < value)
		set = (struct rlimit){now.rlim_max, now.rlim_max};
	setrlimit(what, &set);
}

static void set_limits(const struct sandbox *s)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t memory = s->memory_bytes ? s->memory_bytes
					  : (uint64_t)sysconf(_SC_PHYS_PAGES) / 4 * 3 * page;
	uint32_t seconds = s->seconds ? s->seconds : SECONDS;
#if !defined(__SANITIZE_ADDRESS__) /* which maps more than there is */
	limit(RLIMIT_AS, memory);
#endif
	(void)memory;
	struct rlimit cpu = {seconds, seconds + 1};
	setrlimit(RLIMIT_CPU, &cpu);
	limit(RLIMIT_NOFILE, OPEN_FILES);
	limit(RLIMIT_FSIZE, SANDBOX_RESULT_MAX);
	limit(RLIMIT_CORE, 0);
}

/* All capabilities, and where that can be undone, the user. False: it may have kept some. */
static bool drop_privileges(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0}, {0}};
	if (!geteuid()) {
		/* Memory of this process is in it: nobody else may look into it. */
		if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
		    setresuid(NOBODY, NOBODY, NOBODY) || prctl(PR_SET_DUMPABLE, 0))
			return false;
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return !syscall(SYS_capset, &header, none) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* Leaves it 0, 1, 2, @a and @b. */
static void close_others(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;
	close_range(3, (unsigned)low - 1, 0);
	if (high > low + 1)
		close_range((unsigned)low + 1, (unsigned)high - 1, 0);
	close_range((unsigned)high + 1, ~0u, 0);
}

struct job {
	const struct sandbox *sandbox;
	sandbox_work *work;
	void *ctx;
	int result, socket;
};

static void say(const struct job *j, char op, int err, const struct pugmark_diag *diag, int fd)
{
	struct message m = {.op = op, .err = err};
	if (diag)
		m.diag = *diag;
	send_message(j->socket, &m, fd);
}

static _Noreturn void child(const struct job *j, pid_t parent)
{
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	sigset_t none;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd <= KEPT; fd++)
		dup2(null, fd);
	close_others(j->result, j->socket);
	unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS); /* and sockets are refused besides */
	way_give();
	set_limits(j->sandbox);
	errno = 0;
	int listener = drop_privileges() ? filter_enter() : errno ? -errno : -EPERM;
	if (listener < 0) {
		say(j, OP_CANNOT, listener, NULL, -1);
		_exit(1);
	}
	say(j, OP_LISTENER, 0, NULL, listener);
	close(listener);
	inside = j->socket;
	FILE *out = fdopen(j->result, "w");
	int err = out ? j->work(j->ctx, out, &diag) : -ENOMEM;
	if (out && fflush(out) && !err)
		err = pugmark_diag_set(&diag, -EFBIG, j->sandbox->subject, PUGMARK_NO_OFFSET,
				       "what was found in it is too much");
	say(j, OP_ENDED, err, &diag, -1);
	_exit(0);
}

/* ---- who waits for it ---- */

struct wait {
	const struct sandbox *sandbox;
	struct broker broker;
	int socket;
	pid_t pid;
	bool ended, cannot;
	struct message said; /* how */
	struct way way;
};

/* False: it says no more. */
static bool take_message(struct wait *w)
{
	struct message m;
	int fd, reply = -1;
	if (receive_message(w->socket, &m, &fd))
		return false;
	if (m.op == OP_LISTENER && w->broker.listener < 0) {
		w->broker.listener = fd;
		return true;
	}
	if (m.op == OP_ENDED || m.op == OP_CANNOT) {
		w->ended = m.op == OP_ENDED;
		w->cannot = m.op == OP_CANNOT && w->broker.listener < 0;
		w->said = m;
	} else {
		const struct sandbox *s = w->sandbox;
		m.err = s->answer ? s->answer(s->answer_ctx, m.op, m.text, fd, &reply) : -ENOSYS;
		send_message(w->socket, &m, reply);
		if (reply >= 0)
			close(reply);
	}
	if (fd >= 0)
		close(fd);
	return true;
}

static bool is_cancelled(const struct sandbox *s)
{
	return s->cancelled && __atomic_load_n(s->cancelled, __ATOMIC_ACQUIRE);
}

/* Until the child is gone: its end of the socket is closed then. */
static void serve(struct wait *w)
{
	for (;;) {
		if (is_cancelled(w->sandbox))
			kill(w->pid, SIGKILL);
		struct pollfd fds[] = {{.fd = w->socket, .events = POLLIN},
				       {.fd = w->broker.listener, .events = POLLIN}};
		way_look(&w->way, w->pid);
		if (poll(fds, 2, w->sandbox->cancelled ? CANCEL_MS : way_wait_ms(&w->way)) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (fds[1].revents & POLLIN)
			broker_answer(&w->broker);
		if (fds[0].revents & (POLLIN | POLLHUP) && !take_message(w))
			return;
	}
}

static int died(const struct sandbox *s, int status, struct pugmark_diag *diag)
{
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	const char *name = sigabbrev_np(signal);
	if (signal == SIGXCPU)
		return pugmark_diag_set(diag, -ETIME, s->subject, PUGMARK_NO_OFFSET,
					"its analysis took more than %u s of a processor and was "
					"ended",
					s->seconds ? s->seconds : SECONDS);
	return pugmark_diag_set(diag, -EFAULT, s->subject, PUGMARK_NO_OFFSET,
				"its analysis died%s%s (the file is damaged or hostile, or memory "
				"is short; nothing else was touched)",
				signal ? " of SIG" : "", signal && name ? name : "");
}

/* What the child left in memory: read once, whatever becomes of it meanwhile. */
static int read_result(int fd, void **bytes, size_t *len)
{
	off_t size = lseek(fd, 0, SEEK_END), done = 0;
	if (size < 0 || size > SANDBOX_RESULT_MAX)
		return size < 0 ? -errno : -EFBIG;
	uint8_t *to = malloc((size_t)size + 1);
	int err = to ? 0 : -ENOMEM;
	while (!err && done < size) {
		ssize_t n = pread(fd, to + done, (size_t)(size - done), done);
		if (n > 0)
			done += n;
		else if (!n || errno != EINTR)
			err = n ? -errno : -EBADMSG;
	}
	if (err) {
		free(to);
		return err;
	}
	*bytes = to;
	*len = (size_t)size;
	return 0;
}

/* Whether @err is a lack of something, and not what this kernel cannot do. Who controls what is
 * read may have used it up: that is no reason to read it without a sandbox. */
static bool is_shortage(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -EAGAIN;
}

/* Of what was not begun. */
static int not_begun(const struct sandbox *s, int err, struct pugmark_diag *diag)
{
	bool files = err == -EMFILE || err == -ENFILE;
	if (!is_shortage(err))
		return -ENOSYS;
	return pugmark_diag_set(diag, err, s->subject, PUGMARK_NO_OFFSET,
				"its analysis cannot begin: %s%s", strerror(-err),
				files ? " (raise `ulimit -n`)" : "");
}

/* As the child says, whose every byte may be another's: no more than a number and two texts. */
static int outcome(const struct wait *w, int status, struct pugmark_diag *diag)
{
	if (is_cancelled(w->sandbox))
		return pugmark_diag_set(diag, -ECANCELED, w->sandbox->subject, PUGMARK_NO_OFFSET,
					"its analysis was not waited for");
	if (w->cannot)
		return not_begun(w->sandbox, w->said.err, diag);
	if (!w->ended || status)
		return died(w->sandbox, status, diag);
	if (!w->said.err)
		return 0;
	if (diag) {
		*diag = w->said.diag;
		diag->file[sizeof(diag->file) - 1] = 0;
		diag->text[sizeof(diag->text) - 1] = 0;
	}
	return w->said.err < 0 && w->said.err > -4096 ? w->said.err : -EINVAL;
}

int sandbox_run(const struct sandbox *sandbox, sandbox_work *work, void *ctx, void **bytes,
		size_t *len, struct pugmark_diag *diag)
{
	struct wait w = {.sandbox = sandbox, .broker = {.sandbox = sandbox, .listener = -1}};
	int ends[2], status = 0;
	int result = memfd_create("pugmark-result", MFD_CLOEXEC);
	if (result < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		int err = -errno;
		if (result >= 0)
			close(result);
		return not_begun(sandbox, err, diag);
	}
	fflush(NULL); /* or both would write what is in the buffers */
	pid_t parent = getpid(), pid = fork();
	if (!pid)
		child(&(struct job){sandbox, work, ctx, result, ends[1]}, parent);
	close(ends[1]);
	w.socket = ends[0];
	w.pid = pid;
	w.way = way_begin();
	int err = pid < 0 ? not_begun(sandbox, -errno, diag) : 0;
	if (!err) {
		serve(&w);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		err = outcome(&w, status, diag);
	}
	if (!err)
		err = read_result(result, bytes, len);
	broker_deinit(&w.broker);
	close(w.socket);
	close(result);
	return err;
}

static void say_without(void)
{
	static bool said;
	if (!said)
		fputs("pugmark: note: this kernel has no sandbox (seccomp with a listener): files "
		      "are analysed with this process's privileges\n",
		      stderr);
	said = true;
}

int sandbox_or_here(const struct sandbox *sandbox, sandbox_work *work, void *ctx, void **bytes,
		    size_t *len, struct pugmark_diag *diag)
{
	int err = sandbox_run(sandbox, work, ctx, bytes, len, diag);
	if (err != -ENOSYS)
		return err;
	say_without();
	FILE *out = open_memstream((char **)bytes, len);
	err = out ? work(ctx, out, diag) : -ENOMEM;
	if (out && fclose(out) && !err)
		err = -ENOMEM;
	return err;
}
