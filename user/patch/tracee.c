// SPDX-License-Identifier: LGPL-2.1-or-later
/* tracee.c: see tracee.h. */
#include "user/patch/tracee.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
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

int tracee_maps(pid_t pid, struct tracee_map **out)
{
	struct tracee_map *maps = NULL;
	char path[32], *line = NULL;
	size_t cap_line = 0;
	int n = 0, cap = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return -errno;
	while (getline(&line, &cap_line, f) > 0) {
		unsigned long long start, end, off, ino;
		char perms[5], dev[32];

		if (sscanf(line, "%llx-%llx %4s %llx %31s %llu", &start, &end, perms, &off, dev,
			   &ino) != 6)
			continue;
		if (n == cap) {
			cap = cap ? 2 * cap : 64;
			struct tracee_map *grown = realloc(maps, cap * sizeof(*maps));
			if (!grown) {
				n = -ENOMEM;
				break;
			}
			maps = grown;
		}
		maps[n] = (struct tracee_map){.start = start,
					      .end = end,
					      .off_file = off,
					      .executable = perms[2] == 'x',
					      .writable = perms[1] == 'w'};
		if (ino)
			stat_map(pid, &maps[n]);
		n++;
	}
	free(line);
	fclose(f);
	if (n <= 0) {
		free(maps);
		return n ? n : -ESRCH;
	}
	*out = maps;
	return n;
}

int tracee_open(struct tracee *t, pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	t->pid = pid;
	t->mem_fd = open(path, O_RDWR | O_CLOEXEC);
	return t->mem_fd < 0 ? -errno : 0;
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

static int wait_stop(pid_t pid, int *status)
{
	while (waitpid(pid, status, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSTOPPED(*status) ? 0 : -ESRCH;
}

int tracee_syscall(const struct tracee *t, long number, const uint64_t args[6], int64_t *result)
{
	static const uint8_t syscall_insn[2] = {0x0f, 0x05};
	struct user_regs_struct old, regs;
	uint8_t code[2];
	uint64_t mask, all = ~0ull;
	int status;

	if (ptrace(PTRACE_GETREGS, t->pid, NULL, &old) ||
	    ptrace(PTRACE_GETSIGMASK, t->pid, sizeof(mask), &mask))
		return -errno;
	int err = tracee_read(t, old.rip, code, sizeof(code));
	if (!err)
		err = tracee_write(t, old.rip, syscall_insn, sizeof(syscall_insn));
	if (err)
		return err;
	regs = old;
	regs.rax = number;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];
	regs.orig_rax = -1;
	if (ptrace(PTRACE_SETSIGMASK, t->pid, sizeof(all), &all) ||
	    ptrace(PTRACE_SETREGS, t->pid, NULL, &regs) ||
	    ptrace(PTRACE_SINGLESTEP, t->pid, NULL, NULL))
		err = -errno;
	if (!err)
		err = wait_stop(t->pid, &status);
	if (err == -ESRCH)
		return err;
	if (!err && ptrace(PTRACE_GETREGS, t->pid, NULL, &regs))
		err = -errno;
	if (tracee_write(t, old.rip, code, sizeof(code)) ||
	    ptrace(PTRACE_SETREGS, t->pid, NULL, &old) ||
	    ptrace(PTRACE_SETSIGMASK, t->pid, sizeof(mask), &mask))
		return -EIO;
	if (!err)
		*result = regs.rax;
	return err;
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

/* The ELF address of the dynamic symbol @name of the file at @path; 0: none. */
static uint64_t dynamic_symbol(const char *path, const char *name)
{
	uint64_t found = 0;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym sym;

	elf_version(EV_CURRENT);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	while (elf && !found && (section = elf_nextscn(elf, section))) {
		Elf_Data *data = elf_getdata(section, NULL);

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM || !data)
			continue;
		for (int i = 0; gelf_getsym(data, i, &sym) && !found; i++) {
			const char *its = elf_strptr(elf, header.sh_link, sym.st_name);

			if (its && !strcmp(its, name))
				found = sym.st_value;
		}
	}
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return found;
}

/* Where glibc's dynamic linker tells debuggers that all is mapped and relocated, and nothing of it
 * has run; 0: it is another one, or there is none. */
static uint64_t linker_done(pid_t pid)
{
	struct tracee_map *maps;
	uint64_t base = auxiliary(pid, AT_BASE), at = 0;
	int n = base ? tracee_maps(pid, &maps) : 0;
	char path[80];

	if (n <= 0)
		return 0;
	for (int i = 0; i < n; i++) {
		if (maps[i].start != base)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
			 (unsigned long long)maps[i].start, (unsigned long long)maps[i].end);
		if (dynamic_symbol(path, "_rtld_global"))
			at = dynamic_symbol(path, "_dl_debug_state");
	}
	free(maps);
	return at ? base + at : 0;
}

/* Goes on until the breakpoint at @at. */
static int run_to(struct tracee *t, uint64_t at)
{
	static const uint8_t breakpoint = 0xcc;
	struct user_regs_struct regs;
	uint8_t code;
	int status, signal = 0;
	int err = tracee_read(t, at, &code, 1);

	if (!err)
		err = tracee_write(t, at, &breakpoint, 1);
	while (!err) {
		if (ptrace(PTRACE_CONT, t->pid, NULL, (void *)(long)signal))
			return -errno;
		err = wait_stop(t->pid, &status);
		t->status = status;
		if (err)
			break;
		signal = WSTOPSIG(status);
		if (status >> 16) /* an event, or a stop of the whole group: it goes on */
			signal = 0;
		if (signal != SIGTRAP || ptrace(PTRACE_GETREGS, t->pid, NULL, &regs))
			continue;
		if (regs.rip != at + 1)
			continue;
		regs.rip = at;
		err = tracee_write(t, at, &code, 1);
		if (!err && ptrace(PTRACE_SETREGS, t->pid, NULL, &regs))
			err = -errno;
		break;
	}
	return err;
}

int tracee_run_to_start(struct tracee *t)
{
	int status;
	int err = wait_stop(t->pid, &status); /* at its exec */

	t->status = status;
	if (err)
		return err;
	err = tracee_open(t, t->pid); /* of the new program */
	uint64_t at = err ? 0 : linker_done(t->pid);
	if (!err)
		err = at ? run_to(t, at) : -ENOENT;
	if (err && err != -ESRCH)
		ptrace(PTRACE_DETACH, t->pid, NULL, NULL);
	return err;
}
