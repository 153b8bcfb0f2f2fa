// SPDX-License-Identifier: LGPL-2.1-or-later
/* plugin_module.c: see plugin_module.h. QEMU maps the program's files into its own memory, so its
 * /proc/self/maps tells where they are. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "plugin_module.h"

#include "plugin_tools.h"
#include "qemu_plugin.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define MAX_SEGMENTS 64

struct range { /* [start, end) begins at @to of another space */
	uint64_t start, end, to;
};

static struct {
	char asked[4096]; /* as module_ask_for() has it */
	char path[4096];
	dev_t dev;
	ino_t ino;
	bool by_inode;
	struct range mapped[MAX_SEGMENTS]; /* QEMU's addresses to the module's file offsets */
	struct range code[MAX_SEGMENTS];   /* file offsets to ELF addresses */
	unsigned n_mapped, n_code;
	bool stale; /* they must be read again */
} module = {.stale = true};

void module_ask_for(const char *name)
{
	snprintf(module.asked, sizeof(module.asked), "%s", name);
}

const char *module_path(void)
{
	return module.path;
}

void module_moved(void)
{
	module.stale = true;
}

/* Reads which bytes of the module's file are code, and at which ELF address. */
static void code_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (fd < 0)
		die(path);
	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) || eh.e_phentsize != sizeof(ph))
		die(path);
	module.n_code = 0;
	for (unsigned i = 0; i < eh.e_phnum && module.n_code < MAX_SEGMENTS; i++) {
		if (pread(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)) != sizeof(ph))
			die(path);
		if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X))
			module.code[module.n_code++] =
				(struct range){ph.p_offset, ph.p_offset + ph.p_filesz, ph.p_vaddr};
	}
	close(fd);
}

/* Finds out what the module's argument means; QEMU knows the program's path only once it runs. */
static void module_choose(void)
{
	struct stat st;

	if (!module.asked[0])
		snprintf(module.asked, sizeof(module.asked), "%s", qemu_plugin_path_to_binary());
	if (!strchr(module.asked, '/'))
		return;
	if (stat(module.asked, &st))
		die(module.asked);
	module.by_inode = true;
	module.dev = st.st_dev;
	module.ino = st.st_ino;
}

static bool is_module(const char *path, unsigned major, unsigned minor, unsigned long inode)
{
	size_t len = strlen(path), want = strlen(module.asked);

	if (module.by_inode)
		return inode == module.ino && makedev(major, minor) == module.dev;
	return len > want && path[len - want - 1] == '/' &&
	       !strcmp(path + len - want, module.asked);
}

static void maps_read(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4400], path[4200];
	unsigned long start, end, off, inode;
	unsigned major, minor;

	if (!maps)
		die("/proc/self/maps");
	if (!module.by_inode)
		module_choose();
	module.n_mapped = 0;
	module.stale = false;
	while (fgets(line, sizeof(line), maps)) {
		path[0] = 0;
		if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu %4199[^\n]", &start, &end, &off, &major,
			   &minor, &inode, path) < 7)
			continue;
		if (!is_module(path, major, minor, inode) || module.n_mapped == MAX_SEGMENTS)
			continue;
		if (!module.n_mapped)
			code_read(path);
		module.mapped[module.n_mapped++] = (struct range){start, end, off};
		snprintf(module.path, sizeof(module.path), "%s", path);
	}
	fclose(maps);
}

/* Maps @from through the first of the @n ranges that holds it; UINT64_MAX where none does. */
static uint64_t through(const struct range *ranges, unsigned n, uint64_t from)
{
	for (unsigned i = 0; i < n; i++)
		if (from >= ranges[i].start && from < ranges[i].end)
			return ranges[i].to + (from - ranges[i].start);
	return UINT64_MAX;
}

uint64_t module_address(const void *host)
{
	uint64_t off;

	if (module.stale)
		maps_read();
	off = through(module.mapped, module.n_mapped, (uintptr_t)host);
	return off == UINT64_MAX ? off : through(module.code, module.n_code, off);
}
