// SPDX-License-Identifier: LGPL-2.1-or-later
/* One piece of memory at two addresses, and a file that is written beside its mapping. */
#include "note.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(void)
{
	int fd = memfd_create("twice", 0);
	if (ftruncate(fd, 8192))
		return 1;
	volatile long *a = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	volatile long *b = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	const volatile long *c = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
	long s = 0, turn = 0;
	do {
		a[turn % 1000] = turn * 7919;
		s = s * 3 + b[turn % 1000];
	} while (++turn < 3000 || goes_on());
	note(1, s);
	note(2, c[500]);
	a[500] = 77;
	note(3, c[500]);
	if (pwrite(fd, &(long){99}, 8, 8 * 600) != 8)
		return 1;
	note(4, a[600]);
	return 0;
}
