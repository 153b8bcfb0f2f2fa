// SPDX-License-Identifier: LGPL-2.1-or-later
/* stepped.c: see stepped.h. The entry point is reached as the recorder reaches it. */
#include "tests/value/stepped.h"

#include "user/values/stop/entry_trap.h"
#include "user/values/stop/hidden_vdso.h"

#include "offline/eval/insn/state.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

void stepped_die(const char *what)
{
	perror(what);
	exit(2);
}

/* --- going ----------------------------------------------------------------------------------- */

static bool wait_stop(struct stepped *s)
{
	int status;
	if (waitpid(s->pid, &status, __WALL) != s->pid)
		stepped_die("waitpid");
	if (!WIFSTOPPED(status)) {
		s->exited = true;
		return false;
	}
	int sig = WSTOPSIG(status);
	s->pass = sig == SIGTRAP || sig == (SIGTRAP | 0x80) ? 0 : sig;
	return true;
}

static bool go_on(struct stepped *s, int how, const char *what)
{
	if (ptrace(how, s->pid, 0, (long)s->pass))
		stepped_die(what);
	return wait_stop(s);
}

bool stepped_step(struct stepped *s)
{
	return go_on(s, PTRACE_SINGLESTEP, "PTRACE_SINGLESTEP");
}

bool stepped_step_unseen(struct stepped *s)
{
	uint8_t bytes[2];
	if (!stepped_read(s, stepped_ip(s), bytes, 2) || bytes[0] != 0x0f || bytes[1] != 0x05)
		return stepped_step(s);
	return go_on(s, PTRACE_SYSCALL, "PTRACE_SYSCALL") &&
	       go_on(s, PTRACE_SYSCALL, "PTRACE_SYSCALL");
}

bool stepped_run_to(struct stepped *s, uint64_t addr)
{
	enum { FIRST_LOCAL = 1 }; /* of DR7: DR0 counts, for an instruction */
	const size_t debug = offsetof(struct user, u_debugreg);
	if (ptrace(PTRACE_POKEUSER, s->pid, debug, addr) ||
	    ptrace(PTRACE_POKEUSER, s->pid, debug + 7 * sizeof(long), FIRST_LOCAL))
		stepped_die("PTRACE_POKEUSER");
	bool there = go_on(s, PTRACE_CONT, "PTRACE_CONT");
	if (there)
		ptrace(PTRACE_POKEUSER, s->pid, debug + 7 * sizeof(long), 0L);
	return there;
}

uint64_t stepped_ip(struct stepped *s)
{
	errno = 0;
	uint64_t ip = ptrace(PTRACE_PEEKUSER, s->pid, offsetof(struct user, regs.rip), 0);
	if (errno)
		stepped_die("PTRACE_PEEKUSER");
	return ip;
}

static void become(char **argv, const char *input, const char *output)
{
	int in = open(input, O_RDONLY), out = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	dup2(in, 0);
	dup2(out, 1);
	close(in);
	close(out);
	personality(ADDR_NO_RANDOMIZE);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	execvp(argv[0], argv);
	stepped_die(argv[0]);
}

static void open_memory(struct stepped *s)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", s->pid);
	s->mem = open(path, O_RDWR);
	if (s->mem < 0)
		stepped_die(path);
}

void stepped_attach(struct stepped *s, pid_t tid)
{
	s->pid = tid;
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) || ptrace(PTRACE_INTERRUPT, tid, 0, 0) || !wait_stop(s))
		stepped_die("PTRACE_SEIZE");
	open_memory(s);
}

void stepped_let_go(struct stepped *s)
{
	if (!s->exited && ptrace(PTRACE_DETACH, s->pid, 0, (long)s->pass))
		stepped_die("PTRACE_DETACH");
	close(s->mem);
}

void stepped_start(struct stepped *s, char **argv, const char *input, const char *output)
{
	s->pid = fork();
	if (!s->pid)
		become(argv, input, output);
	if (!wait_stop(s) || ptrace(PTRACE_SETOPTIONS, s->pid, 0,
				    PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD))
		stepped_die("the program");
	/* To the exec before it is over, as the end of that call is where a static program stands.
	 */
	if (ptrace(PTRACE_CONT, s->pid, 0, 0) || !wait_stop(s))
		stepped_die(argv[0]);
	struct entry_trap trap;
	errno = -entry_trap_set(s->pid, &trap);
	if (errno)
		stepped_die("the entry point is not known");
	errno = -hide_vdso(s->pid);
	if (errno)
		stepped_die("hiding the vDSO, as the recorder does");
	while (!entry_trap_hit(s->pid, &trap)) {
		ptrace(PTRACE_SYSCALL, s->pid, 0, (long)s->pass);
		if (!wait_stop(s))
			stepped_die("the entry point was not reached");
	}
	s->pass = 0;
	open_memory(s);
}

void stepped_end(struct stepped *s)
{
	if (!s->exited) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
	}
	close(s->mem);
}

bool stepped_read(const struct stepped *s, uint64_t addr, void *out, size_t len)
{
	return pread(s->mem, out, len, addr) == (ssize_t)len;
}

bool stepped_write(const struct stepped *s, uint64_t addr, const void *in, size_t len)
{
	return pwrite(s->mem, in, len, addr) == (ssize_t)len;
}

/* --- registers ------------------------------------------------------------------------------- */

static const size_t places[16] = {
	offsetof(struct user_regs_struct, rax), offsetof(struct user_regs_struct, rcx),
	offsetof(struct user_regs_struct, rdx), offsetof(struct user_regs_struct, rbx),
	offsetof(struct user_regs_struct, rsp), offsetof(struct user_regs_struct, rbp),
	offsetof(struct user_regs_struct, rsi), offsetof(struct user_regs_struct, rdi),
	offsetof(struct user_regs_struct, r8),	offsetof(struct user_regs_struct, r9),
	offsetof(struct user_regs_struct, r10), offsetof(struct user_regs_struct, r11),
	offsetof(struct user_regs_struct, r12), offsetof(struct user_regs_struct, r13),
	offsetof(struct user_regs_struct, r14), offsetof(struct user_regs_struct, r15),
};

const char *stepped_name(unsigned number)
{
	static const char *const names[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
					      "rsi", "rdi", "r8",  "r9",  "r10", "r11",
					      "r12", "r13", "r14", "r15"};
	return names[number];
}

void stepped_general(struct stepped *s)
{
	if (ptrace(PTRACE_GETREGS, s->pid, 0, &s->regs))
		stepped_die("PTRACE_GETREGS");
}

bool stepped_syscall(struct stepped *s)
{
	enum { TRAP_FLAG = 0x100 };
	uint8_t bytes[2];
	stepped_general(s);
	if (s->regs.rcx != s->regs.rip || !stepped_read(s, s->regs.rip - 2, bytes, 2) ||
	    bytes[0] != 0x0f || bytes[1] != 0x05)
		return false;
	s->regs.r11 &= ~(uint64_t)TRAP_FLAG;
	stepped_write_registers(s);
	return true;
}

void stepped_registers(struct stepped *s)
{
	stepped_general(s);
	struct iovec iov = {s->xsave, sizeof(s->xsave)};
	if (ptrace(PTRACE_GETREGSET, s->pid, NT_X86_XSTATE, &iov))
		stepped_die("PTRACE_GETREGSET");
	s->xsave_len = iov.iov_len;
}

uint64_t stepped_gpr(const struct stepped *s, unsigned number)
{
	uint64_t v;
	memcpy(&v, (const char *)&s->regs + places[number], 8);
	return v;
}

void stepped_set_gpr(struct stepped *s, unsigned number, uint64_t value)
{
	memcpy((char *)&s->regs + places[number], &value, 8);
}

void stepped_write_registers(struct stepped *s)
{
	if (ptrace(PTRACE_SETREGS, s->pid, 0, &s->regs))
		stepped_die("PTRACE_SETREGS");
}

/* Components that are in their initial state are not written: zeros then. */
void stepped_vec(const struct stepped *s, unsigned number, uint8_t out[32])
{
	uint64_t in_use;
	memcpy(&in_use, s->xsave + 512, 8);
	memset(out, 0, 32);
	if (in_use & 2)
		memcpy(out, s->xsave + 160 + 16 * number, 16);
	if (in_use & 4)
		memcpy(out + 16, s->xsave + 576 + 16 * number, 16);
}

void stepped_set_vec(struct stepped *s, unsigned number, const uint8_t in[32])
{
	const uint64_t halves = 2 | 4;
	uint64_t in_use;
	memcpy(&in_use, s->xsave + 512, 8);
	if (!(in_use & 2))
		memset(s->xsave + 160, 0, 256);
	if (!(in_use & 4))
		memset(s->xsave + 576, 0, 256);
	in_use |= halves;
	memcpy(s->xsave + 512, &in_use, 8);
	memcpy(s->xsave + 160 + 16 * number, in, 16);
	memcpy(s->xsave + 576 + 16 * number, in + 16, 16);
}

void stepped_write_vectors(struct stepped *s)
{
	struct iovec iov = {s->xsave, s->xsave_len};
	if (ptrace(PTRACE_SETREGSET, s->pid, NT_X86_XSTATE, &iov))
		stepped_die("PTRACE_SETREGSET");
}

/* Where the component is in the standard format (CPUID, leaf 0xd); 0: this processor lacks it. */
static size_t component(unsigned number)
{
	unsigned a, b = 0, c, d;
	if (!__get_cpuid_count(0xd, number, &a, &b, &c, &d))
		return 0;
	return a ? b : 0;
}

uint8_t stepped_wide(const struct stepped *s, unsigned row, unsigned b)
{
	enum { MASKS = 5, TOPS = 6, MORE = 7 };
	unsigned of = row < VALUE_MORE ? TOPS : row >= VALUE_MASKS ? MASKS : MORE;
	bool top = of == MORE && row >= VALUE_MORE_TOPS;
	unsigned first = of == TOPS    ? VALUE_TOPS
			 : of == MASKS ? VALUE_MASKS
			 : top	       ? VALUE_MORE_TOPS
				       : VALUE_MORE;
	size_t at = (size_t)(of == MORE ? 2 : 1) * VALUE_ROW * (row - first) +
		    (top ? VALUE_ROW : 0) + b;
	uint64_t in_use;
	static size_t begins[MORE + 1];
	if (!begins[of])
		begins[of] = component(of);
	memcpy(&in_use, s->xsave + 512, 8);
	return in_use >> of & 1 && begins[of] + at < s->xsave_len ? s->xsave[begins[of] + at] : 0;
}

void stepped_x87(const struct stepped *s, uint8_t out[STEPPED_X87])
{
	uint64_t in_use;
	memcpy(&in_use, s->xsave + 512, 8);
	memset(out, 0, STEPPED_X87);
	if (in_use & 1) {
		memcpy(out, s->xsave, 6);
		for (int i = 0; i < 8; i++)
			memcpy(out + 32 + 16 * i, s->xsave + 32 + 16 * i, 10);
	} else {
		out[0] = 0x7f;
		out[1] = 0x03;
	}
}

uint32_t stepped_mxcsr(const struct stepped *s)
{
	uint32_t mxcsr;
	memcpy(&mxcsr, s->xsave + 24, 4);
	return mxcsr;
}
