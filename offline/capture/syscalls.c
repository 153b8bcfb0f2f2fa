// SPDX-License-Identifier: LGPL-2.1-or-later
/* syscalls.c: the rows of syscalls.def by number. */
#include "offline/capture/syscalls.h"

#include "offline/capture/outputs.h"

#include <assert.h>
#include <errno.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

struct syscall_row {
	uint16_t number;
	uint16_t traits;
	const char *outputs;
};

#ifndef PR_GET_AUXV
#define PR_GET_AUXV 0x41555856 /* Linux 6.4 */
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

static const struct syscall_row known[] = {
#define SYS(name, traits, outputs) {SYS_##name, traits, outputs},
#define MORE(name, when)
#define NONE(name)
#include "offline/capture/syscalls.def"
#undef SYS
#undef MORE
#undef NONE
};

/* All that they write is told. */
static const bool told[CAPTURE_MAX_SYSCALLS] = {
#define SYS(name, traits, outputs) [SYS_##name] = true,
#define MORE(name, when)
#define NONE(name) [SYS_##name] = true,
#include "offline/capture/syscalls.def"
#undef SYS
#undef MORE
#undef NONE
};

/* What an ioctl() writes is told of these alone: at its third argument, and no more than its row
 * says. */
static bool is_told_request(uint32_t request)
{
	/* TCGETS2 and the like, whose struct termios2 the C library's headers do not have. */
	enum { GETS2 = 0x802c542a, SETS2 = 0x402c542b, SETSW2, SETSF2 };
	/* clang-format off */
	static const uint32_t told_requests[] = {
		TCGETS, TCSETS, TCSETSW, TCSETSF, GETS2, SETS2, SETSW2, SETSF2, TCGETA, TCSETA,
		TCSETAW, TCSETAF, TCSBRK, TCXONC, TCFLSH, TIOCGWINSZ, TIOCSWINSZ,
		TIOCGPGRP, TIOCSPGRP, TIOCGSID, TIOCSCTTY, TIOCNOTTY, TIOCOUTQ, TIOCGPTN,
		TIOCSPTLCK, TIOCGPTPEER, TIOCPKT, TIOCEXCL, TIOCNXCL, TIOCMGET, FIONREAD, FIONBIO,
		FIOASYNC, FIOCLEX, FIONCLEX, FIGETBSZ, FIOQSIZE, FICLONE, FICLONERANGE,
		FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, BLKGETSIZE, BLKGETSIZE64, BLKSSZGET, SIOCGIFNAME,
		SIOCGIFINDEX, SIOCGIFFLAGS, SIOCGIFADDR, SIOCGIFNETMASK, SIOCGIFBRDADDR,
		SIOCGIFHWADDR, SIOCGIFMTU
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(told_requests) / sizeof(*told_requests); i++)
		if (told_requests[i] == request)
			return true;
	return false;
}

/* Whether the futex operation writes the word at its fifth argument. */
static bool is_of_two_words(int operation)
{
	return operation == FUTEX_WAKE_OP || operation == FUTEX_CMP_REQUEUE_PI ||
	       operation == FUTEX_WAIT_REQUEUE_PI;
}

/* Whether madvise() with that advice changes what is read there. */
static bool is_destructive(int advice)
{
	return advice != MADV_COLD && advice != MADV_PAGEOUT && advice != MADV_WILLNEED &&
	       advice != MADV_COLLAPSE;
}

/* Whether a call with these arguments may write more than its row tells. */
static bool writes_more(uint32_t number, const uint64_t arg[6])
{
	switch (number) {
#define SYS(name, traits, outputs)
#define MORE(name, when)                                                                           \
	case SYS_##name:                                                                           \
		return when;
#define NONE(name)
#include "offline/capture/syscalls.def"
#undef SYS
#undef MORE
#undef NONE
	default:
		return false;
	}
}

void syscalls_table(struct capture_syscall rows[CAPTURE_MAX_SYSCALLS])
{
	memset(rows, 0, CAPTURE_MAX_SYSCALLS * sizeof(*rows));
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct output_word words[CAPTURE_MAX_OUTPUTS];
		struct capture_syscall *row = &rows[known[i].number];
		const char *bad;
		int n = outputs_read(known[i].outputs, words, &bad);

		assert(n >= 0 && known[i].number < CAPTURE_MAX_SYSCALLS);
		row->traits = known[i].traits;
		row->n_outputs = n;
		for (int k = 0; k < n; k++)
			row->outputs[k] = words[k].output;
	}
}

static const struct syscall_row *find(uint32_t number)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].number == number)
			return &known[i];
	return NULL;
}

const char *syscall_name(uint32_t number)
{
	static const char *const names[CAPTURE_MAX_SYSCALLS] = {
#define SYS(name, traits, outputs) [SYS_##name] = #name,
#define MORE(name, when)
#define NONE(name) [SYS_##name] = #name,
#include "offline/capture/syscalls.def"
#undef SYS
#undef MORE
#undef NONE
	};

	return number < CAPTURE_MAX_SYSCALLS ? names[number] : NULL;
}

bool syscall_content(uint32_t number)
{
	const struct syscall_row *row = find(number);

	return row && row->traits & CAPTURE_CONTENT;
}

bool syscall_elsewhere(uint32_t number)
{
	const struct syscall_row *row = find(number);

	return row && row->traits & CAPTURE_ELSEWHERE;
}

bool syscall_reads_beside(uint32_t number, bool failed, bool *peer)
{
	const struct syscall_row *row = find(number);
	uint16_t beside = CAPTURE_BESIDE | CAPTURE_BESIDE_PEER;

	*peer = row && row->traits & CAPTURE_BESIDE_PEER;
	beside |= failed ? CAPTURE_BESIDE_FAILED : 0;
	return row && row->traits & beside;
}

/* Of a call that ends in -EFAULT: some of what it brings may have been written, up to the first
 * page that cannot be. exit() ends so where the kernel may have followed the list of robust futexes
 * further than what is told (bpf/thread_end.h). */
static bool is_told_in_part(uint32_t number)
{
	const struct syscall_row *row = find(number);

	return number == SYS_exit || (row && *row->outputs && !(row->traits & CAPTURE_WHEN_FAILED));
}

bool syscall_writes_untold(uint32_t number, const uint64_t args[6], int64_t result)
{
	bool is_told = number < CAPTURE_MAX_SYSCALLS && told[number];

	if (result == -EFAULT && is_told_in_part(number))
		return true;
	return result != -ENOSYS && (!is_told || writes_more(number, args));
}
