// SPDX-License-Identifier: LGPL-2.1-or-later
/* Maps and unmaps: memory that is new at an address where something else was, moved, given back,
 * cut in two, and the same of files. */
#include "note.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
static long sum(const volatile unsigned char *p, long n)
{
	long s = 0;
	for (long i = 0; i < n; i++)
		s = s * 31 + p[i];
	return s;
}
int main(void)
{
	enum { PAGE = 4096 };
	unsigned char *p, *q;
	long total = 0;
	int turn = 0;
	do { /* the same address, again and again, of another size */
		int n = 1 + turn * 7 % 5;
		p = mmap(NULL, n * PAGE, RW, ANON, -1, 0);
		total += sum(p, n * PAGE);
		memset(p, turn, n * PAGE);
		munmap(p, PAGE); /* its first page goes, another one comes in its place */
		q = mmap(p, PAGE, RW, ANON | MAP_FIXED, -1, 0);
		total = total * 3 + sum(q, n * PAGE);
		munmap(p, n * PAGE);
	} while (++turn < 40 || goes_on());
	note(1, total);
	note(2, turn);
	p = mmap(NULL, 8 * PAGE, RW, ANON, -1, 0);
	memset(p, 7, 8 * PAGE);
	munmap(p + 3 * PAGE, 2 * PAGE); /* a hole in the middle */
	q = mmap(p + 3 * PAGE, 2 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
	q[5] = 9;
	note(3, sum(p, 8 * PAGE));
	madvise(p + PAGE, 3 * PAGE, MADV_DONTNEED);
	note(4, sum(p, 8 * PAGE));
	mprotect(p, PAGE, PROT_READ);
	note(5, sum(p, PAGE));
	mprotect(p, PAGE, RW);
	q = mmap(NULL, 16 * PAGE, RW, ANON, -1, 0);
	memset(q, 3, 16 * PAGE);
	p = mremap(p, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q + 2 * PAGE);
	note(6, sum(q, 16 * PAGE));
	p = mremap(p, 8 * PAGE, 2 * PAGE, 0); /* shorter */
	munmap(q, 4 * PAGE);
	char name[] = "maps-XXXXXX";
	int fd = mkstemp(name);
	for (int i = 0; i < 3 * PAGE; i++)
		if (write(fd, &(char){i * 37 % 251}, 1) != 1)
			return 1;
	p = mmap(NULL, 3 * PAGE, RW, MAP_PRIVATE, fd, 0);
	note(7, sum(p, 3 * PAGE));
	p[PAGE] = 1;
	note(8, sum(p, 3 * PAGE));
	madvise(p, 2 * PAGE, MADV_DONTNEED); /* the file's bytes are back */
	note(9, sum(p, 3 * PAGE));
	q = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 2 * PAGE);
	note(10, sum(q, PAGE));
	char *top = sbrk(0);
	sbrk(5 * PAGE);
	memset(top, 5, 5 * PAGE);
	sbrk(-3 * PAGE);
	sbrk(3 * PAGE); /* zeros again */
	note(11, sum((unsigned char *)top, 5 * PAGE));
	/* What others of the same file see, and what is written by write() behind a private
	 * mapping. */
	if (pwrite(fd, "changed", 7, 2 * PAGE + 100) != 7)
		return 1;
	note(12, sum(q, PAGE));
	note(13, sum(p, 3 * PAGE));
	unlink(name);
	return 0;
}
