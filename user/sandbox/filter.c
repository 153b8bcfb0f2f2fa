// SPDX-License-Identifier: LGPL-2.1-or-later
/* filter.c: see filter.h. A table of calls, made into a program of BPF: each row tests the number
 * and then, where the row says so, one argument. */
#include "user/sandbox/filter.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

enum test { ALWAYS, IF_BITS, UNLESS_BITS, IF_EQUAL, IF_SELF };

struct row {
	uint16_t nr;
	uint8_t test, argument;
	uint32_t value;
	uint32_t otherwise; /* what happens where the test does not hold; 0: the next row */
};

#define DENIED (SECCOMP_RET_ERRNO | EPERM)

/* Of a call with several rows the last one decides what happens otherwise. */
static const struct row allowed[] = {
	{__NR_read, ALWAYS, 0, 0, 0},
	{__NR_write, ALWAYS, 0, 0, 0},
	{__NR_readv, ALWAYS, 0, 0, 0},
	{__NR_writev, ALWAYS, 0, 0, 0},
	{__NR_pread64, ALWAYS, 0, 0, 0},
	{__NR_pwrite64, ALWAYS, 0, 0, 0},
	{__NR_lseek, ALWAYS, 0, 0, 0},
	{__NR_close, ALWAYS, 0, 0, 0},
	{__NR_fstat, ALWAYS, 0, 0, 0},
	{__NR_newfstatat, IF_BITS, 3, AT_EMPTY_PATH, SECCOMP_RET_USER_NOTIF},
	{__NR_dup, ALWAYS, 0, 0, 0},
	{__NR_ftruncate, ALWAYS, 0, 0, 0},
	{__NR_fadvise64, ALWAYS, 0, 0, 0},
	{__NR_fcntl, IF_EQUAL, 1, F_GETFD, 0},
	{__NR_fcntl, IF_EQUAL, 1, F_SETFD, 0},
	{__NR_fcntl, IF_EQUAL, 1, F_GETFL, 0},
	{__NR_fcntl, IF_EQUAL, 1, F_DUPFD_CLOEXEC, 0},
	{__NR_fcntl, IF_EQUAL, 1, F_ADD_SEALS, 0},
	{__NR_fcntl, IF_EQUAL, 1, F_GET_SEALS, DENIED},
	{__NR_ioctl, IF_EQUAL, 1, TCGETS, SECCOMP_RET_ERRNO | ENOTTY},
	{__NR_memfd_create, ALWAYS, 0, 0, 0},
	{__NR_getdents64, ALWAYS, 0, 0, 0},
	{__NR_sendmsg, ALWAYS, 0, 0, 0}, /* on what is open: nobody makes a socket */
	{__NR_recvmsg, ALWAYS, 0, 0, 0},
	{__NR_poll, ALWAYS, 0, 0, 0},
	{__NR_mmap, UNLESS_BITS, 2, PROT_EXEC, DENIED},
	{__NR_mprotect, UNLESS_BITS, 2, PROT_EXEC, DENIED},
	{__NR_munmap, ALWAYS, 0, 0, 0},
	{__NR_mremap, ALWAYS, 0, 0, 0},
	{__NR_madvise, ALWAYS, 0, 0, 0},
	{__NR_brk, ALWAYS, 0, 0, 0},
	{__NR_clone, IF_BITS, 0, CLONE_THREAD, DENIED},
	{__NR_clone3, ALWAYS, 0, 0, 0}, /* see below */
	{__NR_futex, ALWAYS, 0, 0, 0},
	{__NR_set_robust_list, ALWAYS, 0, 0, 0},
	{__NR_rseq, ALWAYS, 0, 0, 0},
	{__NR_exit, ALWAYS, 0, 0, 0},
	{__NR_exit_group, ALWAYS, 0, 0, 0},
	{__NR_sched_yield, ALWAYS, 0, 0, 0},
	{__NR_sched_getaffinity, ALWAYS, 0, 0, 0},
	{__NR_rt_sigaction, ALWAYS, 0, 0, 0},
	{__NR_rt_sigprocmask, ALWAYS, 0, 0, 0},
	{__NR_rt_sigreturn, ALWAYS, 0, 0, 0},
	{__NR_sigaltstack, ALWAYS, 0, 0, 0},
	{__NR_tgkill, IF_SELF, 0, 0, DENIED}, /* as abort() does */
	{__NR_getpid, ALWAYS, 0, 0, 0},
	{__NR_gettid, ALWAYS, 0, 0, 0},
	{__NR_getuid, ALWAYS, 0, 0, 0},
	{__NR_geteuid, ALWAYS, 0, 0, 0},
	{__NR_getgid, ALWAYS, 0, 0, 0},
	{__NR_getegid, ALWAYS, 0, 0, 0},
	{__NR_getcwd, ALWAYS, 0, 0, 0},
	{__NR_getrandom, ALWAYS, 0, 0, 0},
	{__NR_getrusage, ALWAYS, 0, 0, 0},
	{__NR_sysinfo, ALWAYS, 0, 0, 0},
	{__NR_uname, ALWAYS, 0, 0, 0},
	{__NR_prlimit64, IF_EQUAL, 0, 0, DENIED}, /* its own, of which none can be raised */
	{__NR_prctl, IF_EQUAL, 0, PR_SET_NAME, 0},
	{__NR_prctl, IF_EQUAL, 0, PR_SET_VMA, DENIED},
	{__NR_clock_gettime, ALWAYS, 0, 0, 0},
	{__NR_clock_nanosleep, ALWAYS, 0, 0, 0},
	{__NR_nanosleep, ALWAYS, 0, 0, 0},
	{__NR_gettimeofday, ALWAYS, 0, 0, 0},
	{__NR_restart_syscall, ALWAYS, 0, 0, 0},
};

/* What names files. */
static const uint16_t brokered[] = {
	__NR_open,   __NR_openat,    __NR_stat,	      __NR_lstat,      __NR_readlink,
	__NR_access, __NR_faccessat, __NR_faccessat2, __NR_readlinkat,
};

enum { N_ALLOWED = sizeof(allowed) / sizeof(*allowed), ROW_MAX = 6 };
enum { PROGRAM_MAX = N_ALLOWED * ROW_MAX + 2 * sizeof(brokered) / sizeof(*brokered) + 16 };

struct program {
	struct sock_filter at[PROGRAM_MAX];
	unsigned short n;
};

static void add(struct program *p, uint16_t code, uint32_t k, uint8_t if_true, uint8_t if_false)
{
	p->at[p->n++] = (struct sock_filter){code, if_true, if_false, k};
}

static void load(struct program *p, uint32_t at)
{
	add(p, BPF_LD | BPF_W | BPF_ABS, at, 0, 0);
}

static void end(struct program *p, uint32_t action)
{
	add(p, BPF_RET | BPF_K, action, 0, 0);
}

/* Little-endian: the low half of the argument is the first. */
static void add_row(struct program *p, const struct row *r)
{
	uint32_t argument = offsetof(struct seccomp_data, args) + 8u * r->argument;
	if (r->test == ALWAYS) {
		add(p, BPF_JMP | BPF_JEQ | BPF_K, r->nr, 0, 1);
		end(p, r->nr == __NR_clone3 ? SECCOMP_RET_ERRNO | ENOSYS : SECCOMP_RET_ALLOW);
		return;
	}
	add(p, BPF_JMP | BPF_JEQ | BPF_K, r->nr, 0, 4);
	load(p, argument);
	if (r->test == IF_EQUAL || r->test == IF_SELF)
		add(p, BPF_JMP | BPF_JEQ | BPF_K,
		    r->test == IF_SELF ? (uint32_t)getpid() : r->value, 0, 1);
	else
		add(p, BPF_JMP | BPF_JSET | BPF_K, r->value, r->test == IF_BITS ? 0 : 1,
		    r->test == IF_BITS ? 1 : 0);
	end(p, SECCOMP_RET_ALLOW);
	if (r->otherwise)
		end(p, r->otherwise);
	else
		load(p, offsetof(struct seccomp_data, nr));
}

int filter_enter(void)
{
	struct program p = {.n = 0};
	load(&p, offsetof(struct seccomp_data, arch));
	add(&p, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	end(&p, SECCOMP_RET_KILL_PROCESS);
	load(&p, offsetof(struct seccomp_data, nr)); /* x32's numbers are none of the table */
	for (unsigned i = 0; i < N_ALLOWED; i++)
		add_row(&p, &allowed[i]);
	for (unsigned i = 0; i < sizeof(brokered) / sizeof(*brokered); i++) {
		add(&p, BPF_JMP | BPF_JEQ | BPF_K, brokered[i], 0, 1);
		end(&p, SECCOMP_RET_USER_NOTIF);
	}
	end(&p, DENIED);
	const struct sock_fprog program = {.len = p.n, .filter = p.at};
	/* What there is to be read by speculation, the child has in its memory anyhow. */
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			  SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW,
			  &program);
	return fd < 0 ? -errno : (int)fd;
}
