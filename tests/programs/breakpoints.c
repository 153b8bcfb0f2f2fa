// SPDX-License-Identifier: LGPL-2.1-or-later
/* breakpoints.c: to be preloaded: before it begins the program whose name is BREAKPOINTS_OF says,
 * in the file BREAKPOINTS, how many breakpoints are in its text that are not in its file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int count(struct dl_phdr_info *info, size_t size, void *ctx)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		const unsigned char *now = (const unsigned char *)(info->dlpi_addr + h->p_vaddr);
		unsigned char *was = malloc(h->p_filesz);
		if (h->p_type == PT_LOAD && h->p_flags & PF_X && was &&
		    pread(fd, was, h->p_filesz, (off_t)h->p_offset) == (ssize_t)h->p_filesz)
			for (size_t k = 0; k < h->p_filesz; k++)
				*(long *)ctx += now[k] == 0xcc && was[k] != 0xcc;
		free(was);
	}
	close(fd);
	return 1; /* the first is the program */
}

__attribute__((constructor)) static void told(void)
{
	const char *name = getenv("BREAKPOINTS_OF"), *to = getenv("BREAKPOINTS");
	bool own = name && to && !strcmp(program_invocation_short_name, name);
	FILE *f = own ? fopen(to, "w") : NULL;
	long n = 0;
	if (!f)
		return;
	dl_iterate_phdr(count, &n);
	fprintf(f, "%ld\n", n);
	fclose(f);
}
