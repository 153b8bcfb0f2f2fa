// SPDX-License-Identifier: LGPL-2.1-or-later
/* turned.c: what a turned run asks of the kernel, and how it ends. While it is turned,
 * value_run_record() has nothing for anybody: so no place is met and no record is followed. */
#include "offline/replay/lead/turned.h"

#include "offline/capture/syscalls.h"
#include "offline/replay/meet/records.h"
#include "offline/replay/records/calls_told.h"
#include "offline/replay/records/kept_records.h"
#include "offline/replay/run/gap.h"
#include "offline/replay/run/run.h"
#include "offline/replay/run/standing.h"
#include "offline/replay/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { WRITTEN_MAX = 1 << 26, PIECES_MAX = 1024, PATH_BYTES = 4096 };

int value_run_turned_crash(struct value_run *run, int signal, const char *what)
{
	for (uint64_t i = 0; i < run->next; i++) {
		const struct capture *c = kept_records_at(run->records, i);
		if (c->kind == CAPTURE_KERNEL && c->nr == SYS_rt_sigaction &&
		    c->args[0] == (uint64_t)signal && c->args[1])
			return value_run_fail(run, "%s, for which there may be a handler", what);
	}
	run->turned->out->end = VALUE_TURNED_CRASH;
	run->turned->out->status = signal;
	return value_run_fail(run, "%s", what);
}

int value_run_turned_outside(struct value_run *run)
{
	const struct value_region *at =
		value_memory_region(&run->memory, value_machine_state(run->machine)->rip);
	if (!at || !(at->prot & VALUE_EXEC))
		return value_run_turned_crash(run, SIGSEGV, "it goes where no code is");
	return value_run_fail(run, "code that is not executed here%s%s", run->import ? ": " : "",
			      run->import ? run->import : "");
}

/* --- what is written ------------------------------------------------------------------------- */

static int write_bytes(struct value_run *run, uint64_t addr, uint64_t len, int fd,
		       value_written_fn *written, void *ctx)
{
	uint8_t quality = VALUE_EXACT, *bytes = len <= WRITTEN_MAX ? malloc(len + 1) : NULL;
	int err = bytes ? 0 : -ENOMEM;
	if (!err &&
	    (value_memory_read(&run->memory, addr, bytes, len, &quality) || quality != VALUE_EXACT))
		err = -ENODATA;
	if (!err && !written(ctx, fd, bytes, len))
		err = -ENOMEM;
	free(bytes);
	return err;
}

/* *@left: how many bytes are written, of all that the call names. */
static int write_pieces(struct value_run *run, uint64_t addr, uint64_t n, uint64_t *left, int fd,
			value_written_fn *written, void *ctx)
{
	int err = n <= PIECES_MAX ? 0 : -ENODATA;
	for (uint64_t i = 0; !err && i < n && *left; i++) {
		struct iovec piece;
		uint8_t quality = VALUE_EXACT;
		if (value_memory_read(&run->memory, addr + i * sizeof(piece), &piece, sizeof(piece),
				      &quality) ||
		    quality != VALUE_EXACT)
			return -ENODATA;
		uint64_t len = piece.iov_len < *left ? piece.iov_len : *left;
		err = write_bytes(run, (uint64_t)(uintptr_t)piece.iov_base, len, fd, written, ctx);
		*left -= len;
	}
	return err;
}

static bool prints(uint64_t nr, const uint64_t args[6])
{
	return (nr == SYS_write || nr == SYS_writev) && (args[0] == 1 || args[0] == 2);
}

bool value_run_written(struct value_run *run, const struct capture *c, value_written_fn *written,
		       void *ctx)
{
	uint64_t left = c->result;
	if (c->kind != CAPTURE_KERNEL || !prints(c->nr, c->args) || c->result <= 0)
		return true;
	return c->nr == SYS_write
		       ? !write_bytes(run, c->args[1], left, (int)c->args[0], written, ctx)
		       : !write_pieces(run, c->args[1], c->args[2], &left, (int)c->args[0], written,
				       ctx);
}

static int print(struct value_run *run, uint64_t nr, const uint64_t args[6])
{
	struct turned *t = run->turned;
	uint64_t len = args[2], left = UINT64_MAX;
	int err = nr == SYS_write ? write_bytes(run, args[1], len, (int)args[0], t->written, t->ctx)
				  : write_pieces(run, args[1], len, &left, (int)args[0], t->written,
						 t->ctx);
	t->no_room = err == -ENOMEM;
	if (err)
		return value_run_fail(run, "it writes bytes that are not known");
	value_set_gpr(run->machine, VALUE_RAX, nr == SYS_write ? len : UINT64_MAX - left,
		      VALUE_EXACT);
	return VALUE_REPLAY_LIMIT;
}

/* --- what is answered ------------------------------------------------------------------------ */

/* System calls that say all that they ask by their first @args arguments, but for a path where
 * there is one. Not here: those that hand the kernel bytes of memory, which no record has. */
struct question {
	uint16_t nr;
	uint8_t args;
	uint8_t path; /* 1 + the argument that is one */
};

static const struct question questions[] = {
	{SYS_read, 3, 0},
	{SYS_pread64, 4, 0},
	{SYS_close, 1, 0},
	{SYS_lseek, 3, 0},
	{SYS_fstat, 2, 0},
	{SYS_newfstatat, 4, 2},
	{SYS_open, 3, 1},
	{SYS_openat, 4, 2},
	{SYS_mmap, 6, 0},
	{SYS_munmap, 2, 0},
	{SYS_mprotect, 3, 0},
	{SYS_mremap, 5, 0},
	{SYS_brk, 1, 0},
	{SYS_madvise, 3, 0},
	{SYS_rt_sigaction, 4, 0},
	{SYS_rt_sigprocmask, 4, 0},
	{SYS_dup, 1, 0},
	{SYS_fcntl, 3, 0},
	{SYS_getpid, 0, 0},
	{SYS_gettid, 0, 0},
	{SYS_getppid, 0, 0},
	{SYS_getuid, 0, 0},
	{SYS_geteuid, 0, 0},
	{SYS_getgid, 0, 0},
	{SYS_getegid, 0, 0},
	{SYS_getpgrp, 0, 0},
	{SYS_umask, 1, 0},
	{SYS_clock_gettime, 2, 0},
	{SYS_gettimeofday, 2, 0},
	{SYS_time, 1, 0},
	{SYS_getrandom, 3, 0},
	{SYS_getrusage, 2, 0},
	{SYS_times, 1, 0},
	{SYS_getrlimit, 2, 0},
	{SYS_getcwd, 2, 0},
	{SYS_uname, 1, 0},
	{SYS_sysinfo, 1, 0},
	{SYS_getdents64, 3, 0},
	{SYS_fadvise64, 4, 0},
	{SYS_set_tid_address, 1, 0},
	{SYS_set_robust_list, 2, 0},
};

static const struct question *question(uint64_t nr, const uint64_t args[6])
{
	bool asks = (nr != SYS_ioctl || args[1] == TCGETS || args[1] == TIOCGWINSZ) &&
		    (nr != SYS_fcntl || args[1] == F_GETFD || args[1] == F_SETFD ||
		     args[1] == F_GETFL || args[1] == F_DUPFD_CLOEXEC) &&
		    (nr != SYS_prlimit64 || !args[2]);
	static const struct question ioctl_asks = {SYS_ioctl, 3, 0}, limits = {SYS_prlimit64, 4, 0};
	if (!asks)
		return NULL;
	if (nr == SYS_ioctl || nr == SYS_prlimit64)
		return nr == SYS_ioctl ? &ioctl_asks : &limits;
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++)
		if (questions[i].nr == nr)
			return &questions[i];
	return NULL;
}

/* The path that it names is the one that the record has; an empty one needs no record. */
static bool same_path(struct value_run *run, const struct capture *c, uint64_t addr)
{
	char now[PATH_BYTES];
	uint8_t quality = VALUE_EXACT;
	uint32_t len = 1;
	const struct capture_range *told = NULL;
	for (uint32_t i = 0; i < c->n_ranges; i++)
		if (c->ranges[i].addr == addr && !c->ranges[i].unread)
			told = &c->ranges[i];
	if (told)
		len = told->len < sizeof(now) ? told->len : sizeof(now);
	return !value_memory_read(&run->memory, addr, now, len, &quality) &&
	       quality == VALUE_EXACT && (told ? !memcmp(now, told->bytes, len) : !now[0]);
}

/* The next thing that the kernel has done for the task but to print; NULL: the recording ends. */
static const struct capture *next_answer(struct value_run *run, uint64_t *number)
{
	const struct capture *c;
	for (uint64_t i = run->next; (c = value_run_record_at(run, i)); i++) {
		bool skip = c->kind == CAPTURE_ENTER || c->kind == CAPTURE_RESULT ||
			    c->kind == CAPTURE_INSN || c->kind == CAPTURE_SWITCH ||
			    (c->kind == CAPTURE_KERNEL && prints(c->nr, c->args));
		if (!skip) {
			*number = i;
			return c;
		}
	}
	return NULL;
}

static int not_captured(struct value_run *run, uint64_t nr, const uint64_t args[6],
			const struct capture *c)
{
	const char *name = syscall_name((uint32_t)nr), *next = "nothing";
	if (c && c->kind == CAPTURE_KERNEL && syscall_name(c->nr))
		next = syscall_name(c->nr);
	else if (c && c->kind == CAPTURE_SIGNAL)
		next = "a signal";
	return value_run_fail(run, "it asks %s(%#lx, %#lx, %#lx); captured next was %s",
			      name ? name : "an unknown system call", args[0], args[1], args[2],
			      next);
}

static bool answers(struct value_run *run, const struct capture *c, const struct question *q,
		    const uint64_t args[6])
{
	return c && c->kind == CAPTURE_KERNEL && c->nr == q->nr && !call_told_restarts(c->result) &&
	       !memcmp(c->args, args, q->args * sizeof(*args)) &&
	       (!q->path || same_path(run, c, args[q->path - 1]));
}

int value_run_turned_call(struct value_run *run)
{
	static const uint8_t regs[] = {VALUE_RDI, VALUE_RSI, VALUE_RDX, 10, 8, 9};
	const struct value_state *s = value_machine_state(run->machine);
	uint64_t args[6], number = 0, nr = s->gpr[VALUE_RAX];
	for (unsigned i = 0; i < 6; i++)
		args[i] = s->gpr[regs[i]];
	/* The other arguments may be anything where a call does not look at them. */
	if (value_quality(run->machine, 1 << VALUE_RAX | 1 << VALUE_RDI))
		return value_run_fail(run, "a system call that is not known");
	if (nr == SYS_exit_group || nr == SYS_exit) {
		run->turned->out->end = VALUE_TURNED_EXIT;
		run->turned->out->status = args[0] & 0xff;
		return value_run_fail(run, "it exits");
	}
	const struct question *q = question(nr, args);
	unsigned used = prints(nr, args) ? 3 : q ? q->args : 0;
	for (unsigned i = 0; i < used; i++)
		if (value_quality(run->machine, (uint64_t)1 << regs[i]))
			return value_run_fail(run, "a system call whose arguments are not known");
	if (prints(nr, args))
		return print(run, nr, args);
	const struct capture *c = next_answer(run, &number);
	if (!q || !answers(run, c, q, args))
		return not_captured(run, nr, args, c);
	run->next = number + 1;
	run->turned->out->answered++;
	value_set_gpr(run->machine, VALUE_RAX, c->result, VALUE_EXACT);
	return value_run_kernel(run, c) ? VALUE_REPLAY_NO_MEMORY : VALUE_REPLAY_LIMIT;
}
