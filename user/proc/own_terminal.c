// SPDX-License-Identifier: LGPL-2.1-or-later
/* own_terminal.c: see own_terminal.h. A filter that looks at ioctl() alone, by each of the three
 * numbers that it has. */
#include "user/proc/own_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { IOCTL_X32 = 0x40000000 + 514, IOCTL_I386 = 54 };

static struct sock_filter load(unsigned at)
{
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at);
}

static struct sock_filter equals(unsigned value, unsigned char if_so, unsigned char if_not)
{
	return (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, if_so, if_not);
}

int own_terminal_keep(void)
{
	struct sock_filter filter[] = {
		load(offsetof(struct seccomp_data, arch)),
		equals(AUDIT_ARCH_X86_64, 2, 0),
		load(offsetof(struct seccomp_data, nr)),
		equals(IOCTL_I386, 3, 6),
		load(offsetof(struct seccomp_data, nr)),
		equals(SYS_ioctl, 1, 0),
		equals(IOCTL_X32, 0, 3),
		load(offsetof(struct seccomp_data, args[1])),
		equals(TIOCSTI, 2, 0),
		equals(TIOCLINUX, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
	int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0)
		return 0;
	close(terminal);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
}
