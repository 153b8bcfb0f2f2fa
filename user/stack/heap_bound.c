// SPDX-License-Identifier: LGPL-2.1-or-later
/* heap_bound.c: see heap_bound.h. malloc(), calloc() and realloc() of this program stand before
 * those of glibc, which it has under other names for that; libraries call the program's. Another C
 * library and sanitizers keep theirs: nothing is bounded then. */
#include "user/stack/heap_bound.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(HAVE_ASAN)
#define HAVE_BOUND 1
#endif

static __thread bool bounded, refused;
static __thread uint64_t left;

void heap_bound_begin(uint64_t bytes)
{
	refused = false;
	left = bytes;
	bounded = true;
}

bool heap_bound_end(void)
{
	bounded = false;
	return refused;
}

#ifdef HAVE_BOUND
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

/* Whether the thread may have so much. */
static bool take(size_t bytes)
{
	if (!bounded)
		return true;
	if (bytes <= left) {
		left -= bytes;
		return true;
	}
	refused = true;
	errno = ENOMEM;
	return false;
}

void *malloc(size_t bytes)
{
	return take(bytes) ? __libc_malloc(bytes) : NULL;
}

void *calloc(size_t n, size_t bytes)
{
	size_t all;
	if (__builtin_mul_overflow(n, bytes, &all))
		all = SIZE_MAX;
	return take(all) ? __libc_calloc(n, bytes) : NULL;
}

void *realloc(void *old, size_t bytes)
{
	return take(bytes) ? __libc_realloc(old, bytes) : NULL;
}
#endif
