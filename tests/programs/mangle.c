// SPDX-License-Identifier: LGPL-2.1-or-later
/* mangle.c: writes to a file in place, as fast as it can, until it is killed.
 *
 *   mangle garbage FILE   between what it is and what it is with random words in it
 *   mangle cut FILE       between what it is and nothing */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* no longer than the test */
	struct stat st;
	int fd = argc == 3 ? open(argv[2], O_RDWR) : -1;
	if (fd < 0 || fstat(fd, &st))
		return 2;
	char *good = malloc(st.st_size), *bad = malloc(st.st_size);
	if (!good || !bad || pread(fd, good, st.st_size, 0) != st.st_size)
		return 2;
	srand(getpid());
	for (unsigned round = 0;; round++) {
		if (!strcmp(argv[1], "cut")) {
			if (ftruncate(fd, round % 3 ? 4096 : 0))
				return 1;
		} else {
			memcpy(bad, good, st.st_size);
			for (int i = 0; i < 2000; i++)
				*(unsigned *)(bad + rand() % (st.st_size - 3)) = rand();
			memcpy(bad, good, 128); /* the header */
			if (pwrite(fd, bad, st.st_size, 0) != st.st_size)
				return 1;
		}
		usleep(rand() % 2000); /* long enough for a reader to meet it */
		if (pwrite(fd, good, st.st_size, 0) != st.st_size)
			return 1;
		usleep(rand() % 4000);
	}
}
