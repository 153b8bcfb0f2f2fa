/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* large.h: storage that grows to many megabytes and is used all over: in large pages, where the
 * system has any, as a fault for each small one would take longer than what is done with it. */
#ifndef OFFLINE_LARGE_H
#define OFFLINE_LARGE_H

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LARGE_PAGE_BYTES = 2 << 20 };

/* As realloc(), whose free() is its free(). The advice is for the whole of what malloc() has
 * mapped: for a part it would split the mapping, which then could only grow by being copied. */
static inline void *large_realloc(void *at, size_t bytes)
{
	const uintptr_t mask = 4095;
	void *p = realloc(at, bytes);
	if (p && bytes >= 2 * (size_t)LARGE_PAGE_BYTES) {
		uintptr_t start = (uintptr_t)p & ~mask;
		uintptr_t end = ((uintptr_t)p + malloc_usable_size(p) + mask) & ~mask;
		madvise((void *)start, end - start, MADV_HUGEPAGE); /* a matter of speed alone */
	}
	return p;
}

/* LARGE_PAGE_BYTES of zeros, for munmap(); NULL: no memory. */
static inline void *large_zeros(void)
{
	const uintptr_t mask = LARGE_PAGE_BYTES - 1;
	uint8_t *p = mmap(NULL, 2 * (size_t)LARGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	size_t before = -(uintptr_t)p & mask;
	if (before)
		munmap(p, before);
	munmap(p + before + LARGE_PAGE_BYTES, LARGE_PAGE_BYTES - before);
	madvise(p + before, LARGE_PAGE_BYTES, MADV_HUGEPAGE);
	return p + before;
}

#endif
