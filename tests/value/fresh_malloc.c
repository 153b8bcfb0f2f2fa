// SPDX-License-Identifier: LGPL-2.1-or-later
/* fresh_malloc.c: preloaded, gives the program that FRESH_MALLOC names memory that was never used
 * before, so that nobody has made what it reads of it before it writes there. For other programs
 * the C library's allocator stays. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 16, ARENA = 1 << 30 };

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

static char *next, *end;
static int chosen; /* 0: not known; 1: for this program; 2: not */

static int fresh(void)
{
	const char *name = chosen ? NULL : getenv("FRESH_MALLOC");
	if (!chosen)
		chosen = name && !strcmp(name, program_invocation_short_name) ? 1 : 2;
	return chosen == 1;
}

/* The block's length is right before it. */
static void *take(size_t len, size_t align)
{
	if (!next) {
		next = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (next == MAP_FAILED)
			abort();
		end = next + ARENA;
	}
	uintptr_t at = ((uintptr_t)next + ALIGN + align - 1) & ~(uintptr_t)(align - 1);
	if (len > (size_t)((uintptr_t)end - at))
		return NULL;
	((size_t *)at)[-1] = len;
	next = (char *)at + ((len + ALIGN - 1) & ~(size_t)(ALIGN - 1));
	return (void *)at;
}

void *malloc(size_t len)
{
	return fresh() ? take(len, ALIGN) : __libc_malloc(len);
}

void *calloc(size_t n, size_t each)
{
	return fresh() ? take(n * each, ALIGN) : __libc_calloc(n, each);
}

void *realloc(void *old, size_t len)
{
	if (!fresh())
		return __libc_realloc(old, len);
	void *new = take(len, ALIGN);
	if (old && new) {
		size_t had = ((size_t *)old)[-1];
		memcpy(new, old, had < len ? had : len);
	}
	return new;
}

void *memalign(size_t align, size_t len)
{
	return fresh() ? take(len, align < ALIGN ? ALIGN : align) : __libc_memalign(align, len);
}

int posix_memalign(void **out, size_t align, size_t len)
{
	*out = memalign(align, len);
	return *out ? 0 : ENOMEM;
}

void *aligned_alloc(size_t align, size_t len)
{
	return memalign(align, len);
}

size_t malloc_usable_size(void *block)
{
	return block ? ((size_t *)block)[-1] : 0;
}

void free(void *block)
{
	if (!fresh())
		__libc_free(block);
}
