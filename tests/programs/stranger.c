// SPDX-License-Identifier: LGPL-2.1-or-later
/* stranger.c: a process that nobody traces, and what it maps as code.
 *
 *   stranger cut FILE        FILE, an ELF file, over and over, while it cuts it short and restores
 * it stranger many FILE DIR N N copies of FILE in DIR, once each stranger device NODE     the
 * device NODE, a hundred times */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static void map(const char *path)
{
	int fd = open(path, O_RDONLY);
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		perror(path);
	close(fd);
	usleep(200);
	munmap(at, 4096);
}

int main(int argc, char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* no longer than the test */
	struct stat st;
	int fd = argc > 2 ? open(argv[2], O_RDWR) : -1;
	if (fd < 0 || fstat(fd, &st))
		return 2;
	if (!strcmp(argv[1], "device")) {
		sleep(1); /* who watches begins to after this has opened it */
		for (int i = 0; i < 100; i++) {
			void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
			usleep(5000);
			munmap(at, 4096);
		}
		return 0;
	}
	char *all = malloc(st.st_size);
	if (!all || pread(fd, all, st.st_size, 0) != st.st_size)
		return 2;
	for (int i = 0; !strcmp(argv[1], "many") && i < atoi(argv[4]); i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/%d.so", argv[3], i);
		int copy = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
		if (copy < 0 || write(copy, all, st.st_size) != st.st_size)
			return 1;
		close(copy);
		map(path);
	}
	while (!strcmp(argv[1], "cut")) {
		char path[4096];
		snprintf(path, sizeof(path), "%s.%d", argv[2],
			 rand() % 4000); /* another file each time */
		int copy = open(path, O_RDWR | O_CREAT, 0700);
		if (copy < 0 || pwrite(copy, all, st.st_size, 0) != st.st_size)
			return 1;
		void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, copy, 0);
		for (int round = 0; round < 20; round++) {
			usleep(rand() % 300);
			if (ftruncate(copy, rand() % 2 ? 4096 : 64))
				return 1;
			if (pwrite(copy, all, st.st_size, 0) != st.st_size)
				return 1;
		}
		munmap(at, 4096);
		close(copy);
		unlink(path);
	}
	return 0;
}
