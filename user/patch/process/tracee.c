// SPDX-License-Identifier: LGPL-2.1-or-later
/* tracee.c: see tracee.h. */
#include "user/patch/process/tracee.h"

#include "offline/elf/private_elf.h"
#include "user/file/maps_lines.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

/* Whether nothing but zeroes is at the end of the mapping, which no code ends with. */
static bool has_room(const struct tracee *t, const struct maps_line *line)
{
	uint8_t bytes[TRACEE_ROOM_BYTES];
	bool zero = (line->prot & (PROT_EXEC | PROT_WRITE)) == PROT_EXEC && !line->shared &&
		    !tracee_read(t, line->end - sizeof(bytes), bytes, sizeof(bytes));

	for (size_t i = 0; zero && i < sizeof(bytes); i++)
		zero = !bytes[i];
	return zero;
}

/* Behind the code of the vDSO; where the kernel's has no room, of a file. */
static uint64_t find_room(const struct tracee *t)
{
	struct maps_lines lines;
	struct maps_line line;
	uint64_t room = 0;
	bool found = false; /* in the vDSO */

	if (maps_lines_open(&lines, t->pid))
		return 0;
	while (!found && maps_lines_next(&lines, &line)) {
		bool vdso = !line.inode && !strcmp(line.name, "[vdso]");

		if (!(vdso || (line.inode && !room)) || !has_room(t, &line))
			continue;
		room = line.end - TRACEE_ROOM_BYTES;
		found = vdso;
	}
	maps_lines_close(&lines);
	return room;
}

int tracee_open(struct tracee *t, pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	t->pid = pid;
	t->mem_fd = open(path, O_RDWR | O_CLOEXEC);
	if (t->mem_fd < 0)
		return -errno;
	t->room = find_room(t);
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

int tracee_look(pid_t pid, int flags, int *status)
{
	siginfo_t info = {0};

	while (waitid(P_PID, pid, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL | flags))
		if (errno != EINTR)
			return -errno;
	if (!info.si_pid)
		return 0;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return -ESRCH;
	*status = W_STOPCODE(info.si_status);
	return 1;
}

int tracee_wait(pid_t pid, int *status)
{
	int stopped = tracee_look(pid, 0, status);

	return stopped < 0 ? stopped : 0;
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
