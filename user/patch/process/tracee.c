// SPDX-License-Identifier: LGPL-2.1-or-later
/* tracee.c: see tracee.h. */
#include "user/patch/process/tracee.h"

#include "offline/elf/private_elf.h"
#include "user/file/maps_lines.h"
#include "user/patch/process/signals.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static void stat_map(pid_t pid, struct tracee_map *map)
{
	char path[80];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)map->start, (unsigned long long)map->end);
	if (stat(path, &st))
		return;
	map->dev = st.st_dev;
	map->ino = st.st_ino;
}

static int read_maps(pid_t pid, bool files, struct tracee_map **out)
{
	struct tracee_map *maps = NULL;
	struct maps_lines lines;
	struct maps_line line;
	int n = 0, cap = 0, err = maps_lines_open(&lines, pid);

	if (err)
		return err;
	while (maps_lines_next(&lines, &line)) {
		if (n == cap) {
			cap = cap ? 2 * cap : 64;
			struct tracee_map *grown = realloc(maps, cap * sizeof(*maps));
			if (!grown) {
				n = -ENOMEM;
				break;
			}
			maps = grown;
		}
		maps[n] = (struct tracee_map){.start = line.start,
					      .end = line.end,
					      .off_file = line.off,
					      .executable = line.prot & PROT_EXEC,
					      .writable = line.prot & PROT_WRITE,
					      .shared = line.shared};
		if (files && line.inode)
			stat_map(pid, &maps[n]);
		n++;
	}
	maps_lines_close(&lines);
	if (n <= 0) {
		free(maps);
		return n ? n : -ESRCH;
	}
	*out = maps;
	return n;
}

int tracee_maps(pid_t pid, struct tracee_map **out)
{
	return read_maps(pid, true, out);
}

int tracee_ranges(pid_t pid, struct tracee_map **out)
{
	return read_maps(pid, false, out);
}

/* The value of entry @type of the auxiliary vector; 0: none. */
static uint64_t auxiliary(pid_t pid, uint64_t type)
{
	Elf64_auxv_t aux[64];
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, aux, sizeof(aux));
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(*aux); i++)
		if (aux[i].a_type == type)
			return aux[i].a_un.a_val;
	return 0;
}

/* Where the vDSO has a system call instruction. Nothing of the program's is changed to make one. */
static uint64_t find_syscall(const struct tracee *t)
{
	enum { VDSO_PAGES = 4, PAGE = 4096 };
	uint64_t base = auxiliary(t->pid, AT_SYSINFO_EHDR);
	uint8_t bytes[PAGE];

	for (int i = 0; base && i < VDSO_PAGES; i++) {
		if (tracee_read(t, base + i * PAGE, bytes, PAGE))
			return 0;
		const uint8_t *at = memmem(bytes, PAGE, "\x0f\x05", 2);
		if (at)
			return base + i * PAGE + (at - bytes);
	}
	return 0;
}

int tracee_open(struct tracee *t, pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	t->pid = pid;
	t->mem_fd = open(path, O_RDWR | O_CLOEXEC);
	if (t->mem_fd < 0)
		return -errno;
	t->syscall_at = find_syscall(t);
	return 0;
}

void tracee_close(struct tracee *t)
{
	if (t->mem_fd >= 0)
		close(t->mem_fd);
	t->mem_fd = -1;
}

int tracee_read(const struct tracee *t, uint64_t addr, void *to, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pread(t->mem_fd, (char *)to + done, bytes - done, addr + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EFAULT;
		done += n;
	}
	return 0;
}

int tracee_write(const struct tracee *t, uint64_t addr, const void *from, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pwrite(t->mem_fd, (const char *)from + done, bytes - done, addr + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EFAULT;
		done += n;
	}
	return 0;
}

int tracee_wait(pid_t pid, int *status)
{
	siginfo_t info;

	while (waitid(P_PID, pid, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL))
		if (errno != EINTR)
			return -errno;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return -ESRCH;
	while (waitpid(pid, status, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSTOPPED(*status) ? 0 : -ESRCH;
}

enum { TRIES = 16 };

/* What a thread meets that makes a call. */
struct met {
	uint64_t signals; /* that it is to be sent again, bit number less 1 */
	bool refused;	  /* the call, by a SIGSYS: of a filter that traps it */
};

static void meet(pid_t pid, int signal, struct met *met)
{
	siginfo_t info = {0};

	ptrace(PTRACE_GETSIGINFO, pid, NULL, &info);
	if (signal == SIGSYS && info.si_code > 0)
		met->refused = true;
	else
		met->signals |= 1ull << (signal - 1);
}

/* Resumes the thread by @request, and the signal @sent, until it stands for @until behind the
 * system call instruction. What stops it before it has is met. */
static int resume(const struct tracee *t, int request, int sent, int until,
		  struct user_regs_struct *regs, struct met *met)
{
	enum { OF_CALL = 0x80 }; /* with PTRACE_O_TRACESYSGOOD */
	int status;

	for (int i = 0; i < TRIES; i++) {
		if (ptrace(request, t->pid, NULL, (void *)(long)sent))
			return -errno;
		int err = tracee_wait(t->pid, &status);
		if (err)
			return err;
		sent = 0;
		if (ptrace(PTRACE_GETREGS, t->pid, NULL, regs))
			return -errno;
		if ((status >> 8 & ~OF_CALL) == until && regs->rip == t->syscall_at + 2)
			return 0;
		if (!(status >> 16))
			meet(t->pid, WSTOPSIG(status), met);
		if (met->refused && request == PTRACE_SYSCALL)
			return -EPERM;
	}
	return -EIO;
}

/* A signal that does not wait for the thread, so that one that is sent is told from what waits. */
static int choose_mark(pid_t pid)
{
	uint64_t waits = signals_of(pid, "SigPnd");
	int signal = SIGTRAP;

	while (signal < SIGTERM && (signal == SIGKILL || waits >> (signal - 1) & 1))
		signal++;
	return signal;
}

/* Has the thread, which is before a system call instruction and blocks all signals but SIGSYS,
 * execute that and no more. A step would do so, but its SIGTRAP is forced (traps.h). So the thread
 * stands as the call begins, as it is over, and then for a signal that is sent: as that is none of
 * a call's stops it makes an interrupted call of its own again, and may be given a signal. The call
 * is none that a signal interrupts. */
static int execute(const struct tracee *t, struct user_regs_struct *regs, struct met *met)
{
	int mark = choose_mark(t->pid);
	uint64_t but_mark = ~(1ull << (mark - 1) | 1ull << (SIGSYS - 1));
	struct user_regs_struct behind;
	int err = resume(t, PTRACE_SYSCALL, 0, SIGTRAP, regs, met);

	if (!err)
		err = resume(t, PTRACE_SYSCALL, 0, SIGTRAP, regs, met);
	if (!err && ptrace(PTRACE_SETSIGMASK, t->pid, sizeof(but_mark), &but_mark))
		err = -errno;
	if (!err)
		err = resume(t, PTRACE_CONT, mark, mark, &behind, met);
	return !err && met->refused ? -EPERM : err;
}

static void send_again(pid_t pid, uint64_t signals)
{
	for (int signal = 1; signals; signal++, signals >>= 1)
		if (signals & 1)
			syscall(SYS_tkill, pid, signal);
}

int tracee_syscall(const struct tracee *t, long number, const uint64_t args[6], int64_t *result)
{
	struct user_regs_struct old, regs;
	uint64_t mask, but_sys = ~(1ull << (SIGSYS - 1));
	struct met met = {0};
	int err = t->syscall_at ? 0 : -ENOSYS;

	if (err)
		return err;
	if (ptrace(PTRACE_GETREGS, t->pid, NULL, &old) ||
	    ptrace(PTRACE_GETSIGMASK, t->pid, sizeof(mask), &mask))
		return -errno;
	regs = old;
	regs.rip = t->syscall_at;
	regs.rax = number;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];
	regs.orig_rax = -1;
	regs.eflags &= ~(uint64_t)TRAPS_FLAG; /* of a thread that steps itself */
	if (ptrace(PTRACE_SETSIGMASK, t->pid, sizeof(but_sys), &but_sys) ||
	    ptrace(PTRACE_SETREGS, t->pid, NULL, &regs))
		err = -errno;
	if (!err)
		err = execute(t, &regs, &met);
	if (err == -ESRCH)
		return err;
	send_again(t->pid, met.signals);
	if (ptrace(PTRACE_SETREGS, t->pid, NULL, &old) ||
	    ptrace(PTRACE_SETSIGMASK, t->pid, sizeof(mask), &mask))
		return -EIO;
	if (!err)
		*result = regs.rax;
	return err;
}

/* The dynamic symbol @name of the file, if it is one that the file has, or @needed, one that it
 * needs. False: none. */
static bool find_symbol(const char *path, const char *name, bool needed, GElf_Sym *out)
{
	bool found = false;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym sym;

	private_elf_guard struct private_elf file = {0};
	private_elf_open(path, &file);
	Elf *elf = file.elf;
	while (elf && !found && (section = elf_nextscn(elf, section))) {
		Elf_Data *data = elf_getdata(section, NULL);

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM || !data)
			continue;
		for (int i = 0; !found && gelf_getsym(data, i, &sym); i++) {
			const char *its = elf_strptr(elf, header.sh_link, sym.st_name);

			found = its && !strcmp(its, name) &&
				needed == (sym.st_shndx == SHN_UNDEF && sym.st_value == 0);
		}
	}
	if (found)
		*out = sym;
	return found;
}

uint64_t tracee_symbol(const char *path, const char *name)
{
	GElf_Sym sym;

	return find_symbol(path, name, false, &sym) ? sym.st_value : 0;
}

bool tracee_needs(const char *path, const char *name)
{
	GElf_Sym sym;

	return find_symbol(path, name, true, &sym);
}

uint64_t tracee_linker_tells(pid_t pid, uint64_t *state)
{
	struct tracee_map *maps;
	uint64_t base = auxiliary(pid, AT_BASE), at = 0, debug = 0;
	int n = base ? tracee_maps(pid, &maps) : 0;
	char path[80];

	if (n <= 0)
		return 0;
	for (int i = 0; i < n; i++) {
		if (maps[i].start != base)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
			 (unsigned long long)maps[i].start, (unsigned long long)maps[i].end);
		if (tracee_symbol(path, "_rtld_global"))
			at = tracee_symbol(path, "_dl_debug_state");
		debug = tracee_symbol(path, "_r_debug");
	}
	free(maps);
	*state = base + debug + offsetof(struct r_debug, r_state);
	return at && debug ? base + at : 0;
}

bool tracee_has_linker(pid_t pid)
{
	return auxiliary(pid, AT_BASE) != 0;
}

bool tracee_is_of_glibc(pid_t pid)
{
	uint64_t state;

	return tracee_linker_tells(pid, &state) != 0;
}

uint64_t tracee_debug(pid_t pid)
{
	uint64_t state;

	return tracee_linker_tells(pid, &state) ? state - offsetof(struct r_debug, r_state) : 0;
}
