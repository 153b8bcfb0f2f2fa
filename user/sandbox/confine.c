// SPDX-License-Identifier: LGPL-2.1-or-later
/* confine.c: see confine.h. */
#include "user/sandbox/confine.h"

#include "user/cli/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SECONDS = 4 * 3600, OPEN_FILES = 1024 };

bool confine_drop(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0}, {0}};
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return !syscall(SYS_capset, &header, none) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

bool confine_become(uid_t uid, gid_t gid)
{
	struct passwd *who = getpwuid(uid);
	gid = who ? who->pw_gid : gid;
	int err = who ? initgroups(who->pw_name, gid) : setgroups(0, NULL);
	return !err && !setresgid(gid, gid, gid) && !setresuid(uid, uid, uid) &&
	       !prctl(PR_SET_DUMPABLE, 0) && confine_drop();
}

/* ---- calls ---- */

/* Other processes: what is in them, signals to them, memory and messages that they share. */
static const uint32_t processes[] = {
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_process_madvise,
	SYS_process_mrelease,
	SYS_kcmp,
	SYS_move_pages,
	SYS_migrate_pages,
	SYS_pidfd_open,
	SYS_pidfd_getfd,
	SYS_pidfd_send_signal,
	SYS_tkill,
	SYS_rt_sigqueueinfo,
	SYS_shmget,
	SYS_rt_tgsigqueueinfo,
	SYS_shmat,
	SYS_msgget,
	SYS_semget,
	SYS_mq_open,
};
static const uint32_t mounts[] = {
	SYS_unshare, SYS_setns,	 SYS_mount,	SYS_umount2,	SYS_pivot_root,	   SYS_chroot,
	SYS_fsopen,  SYS_fspick, SYS_open_tree, SYS_move_mount, SYS_mount_setattr,
};
/* Parts of the kernel that no reader has a use for. */
static const uint32_t others[] = {
	SYS_bpf,    SYS_perf_event_open, SYS_io_uring_setup, SYS_userfaultfd,
	SYS_keyctl, SYS_add_key,	 SYS_request_key,    SYS_personality,
};
static const uint32_t programs[] = {SYS_execve, SYS_execveat};
static const uint32_t sockets[] = {SYS_socket, SYS_socketpair, SYS_connect};
/* Who is told of a descriptor may be another process, and what it is told is a signal. */
static const uint32_t fcntls[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG};

enum {
	NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
		     CLONE_NEWPID | CLONE_NEWNET,
	LENGTH_MAX = 2 *
			     (sizeof(processes) + sizeof(mounts) + sizeof(others) +
			      sizeof(programs) + sizeof(sockets) + sizeof(fcntls)) /
			     sizeof(uint32_t) +
		     48
};

struct program {
	struct sock_filter at[LENGTH_MAX];
	unsigned short n;
};

static void add(struct program *p, uint16_t code, uint8_t if_true, uint8_t if_false, uint32_t k)
{
	p->at[p->n++] = (struct sock_filter){code, if_true, if_false, k};
}

static void refuse_calls(struct program *p, const uint32_t *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, calls[i]);
		add(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM);
	}
}

#define REFUSE(p, calls) refuse_calls(p, calls, sizeof(calls) / sizeof(*(calls)))

/* Refuses @call where its argument @n is none of @values, or (@are_refused) where it is one. */
static void refuse_by(struct program *p, uint32_t call, unsigned n, const uint32_t *values,
		      uint8_t n_values, bool are_refused)
{
	uint8_t end = (uint8_t)(n_values + 3);
	add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, end, call);
	add(p, BPF_LD | BPF_W | BPF_ABS, 0, 0,
	    (uint32_t)(offsetof(struct seccomp_data, args) + 8 * n));
	for (uint8_t i = 0; i < n_values; i++)
		add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(n_values - i), 0, values[i]);
	uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;
	add(p, BPF_RET | BPF_K, 0, 0, are_refused ? SECCOMP_RET_ALLOW : refuse);
	add(p, BPF_RET | BPF_K, 0, 0, are_refused ? refuse : SECCOMP_RET_ALLOW);
}

/* Threads and children, but no namespaces. What clone3() is asked lies in memory, which a filter
 * does not see: it is not there, and libraries take clone() then. */
static void refuse_namespaces(struct program *p)
{
	add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_clone3);
	add(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS);
	add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_clone);
	add(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args[0]));
	add(p, BPF_JMP | BPF_JSET | BPF_K, 0, 1, NAMESPACES);
	add(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM);
	add(p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
}

bool confine_refuse(unsigned may)
{
	static const uint32_t input[] = {TIOCSTI, TIOCLINUX};
	const uint32_t own[] = {(uint32_t)getpid(), 0};
	struct program p = {.n = 0};
	add(&p, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
	add(&p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64);
	add(&p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
	add(&p, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	add(&p, BPF_JMP | BPF_JGE | BPF_K, 0, 1, 0x40000000); /* x32 */
	add(&p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS);
	REFUSE(&p, processes);
	REFUSE(&p, mounts);
	REFUSE(&p, others);
	if (!(may & CONFINE_NETWORK))
		REFUSE(&p, sockets);
	if (!(may & CONFINE_PROGRAMS)) {
		REFUSE(&p, programs);
		/* Of signals, those to itself: of what is stopped in a terminal, of abort(). */
		refuse_by(&p, SYS_kill, 0, own, 1, false);
		refuse_by(&p, SYS_tgkill, 0, own, 1, false);
	}
	refuse_by(&p, SYS_prlimit64, 0, own, 2, false);
	refuse_by(&p, SYS_fcntl, 1, fcntls, sizeof(fcntls) / sizeof(*fcntls), true);
	refuse_by(&p, SYS_ioctl, 1, input, 2, true);
	refuse_namespaces(&p);
	add(&p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = p.n, .filter = p.at};
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* ---- bounds ---- */

static char last_words[2][8192]; /* of a fault, of the time */

static void say_and_end(int signal_nr)
{
	const char *text = last_words[signal_nr == SIGXCPU];
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(1);
	if (signal_nr == SIGXCPU)
		_exit(1);
	signal(signal_nr, SIG_DFL); /* and back to the same fault */
}

static void lower(int what, uint64_t value)
{
	struct rlimit now;
	if (getrlimit(what, &now))
		return;
	if (now.rlim_cur > value)
		now.rlim_cur = value;
	setrlimit(what, &now);
}

__attribute__((unused)) /* by sanitizers */
static void
end_with_words(const char *subject)
{
	static const int faults[] = {SIGXCPU, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
	struct sigaction action = {.sa_handler = say_and_end, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_size = 16384};
	struct rlimit time = {0};
	char safe[4096];
	printable_copy(safe, sizeof(safe), subject, PRINT_TEXT);
	getrlimit(RLIMIT_CPU, &time);
	snprintf(last_words[0], sizeof(last_words[0]),
		 "pugmark: %s: what reads it died of a fault (it is damaged or hostile; nothing "
		 "else "
		 "was touched)\n",
		 safe);
	snprintf(last_words[1], sizeof(last_words[1]),
		 "pugmark: %s: to read it took more than %llu s of a processor, and was ended "
		 "(ulimit -S -t allows more)\n",
		 safe, (unsigned long long)time.rlim_cur);
	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	if (stack.ss_sp != MAP_FAILED)
		sigaltstack(&stack, NULL);
	for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigaction(faults[i], &action, NULL);
}

static bool time_is_ours; /* the user's own limit of time was not lower */

void confine_bound(const char *subject)
{
	struct rlimit time;
	time_is_ours |= !getrlimit(RLIMIT_CPU, &time) && time.rlim_cur > SECONDS;
	lower(RLIMIT_CPU, SECONDS);
	lower(RLIMIT_NOFILE, OPEN_FILES);
	lower(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__) /* which maps more than there is, and says of faults itself */
	lower(RLIMIT_DATA,
	      (uint64_t)sysconf(_SC_PHYS_PAGES) / 4 * 3 * (uint64_t)sysconf(_SC_PAGESIZE));
	end_with_words(subject);
#endif
	(void)subject;
}

void confine_time_anew(unsigned seconds)
{
	struct rlimit time;
	struct rusage used;
	if (!time_is_ours || getrlimit(RLIMIT_CPU, &time) || getrusage(RUSAGE_SELF, &used))
		return;
	time.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + seconds;
	if (time.rlim_cur > time.rlim_max)
		time.rlim_cur = time.rlim_max;
	setrlimit(RLIMIT_CPU, &time);
	snprintf(last_words[1], sizeof(last_words[1]),
		 "pugmark: one answer took more than %u s of a processor, and the process was "
		 "ended (ulimit -S -t sets another bound)\n",
		 seconds);
}
