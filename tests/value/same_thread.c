// SPDX-License-Identifier: LGPL-2.1-or-later
/* same_thread.c: linked with a program whose main() starts one thread on a stack of its own and
 * waits for it: here the thread is a call, on that stack, so that a tracer of one thread sees all.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>

static void *returned;

int pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	void *stack = NULL;
	size_t size = 0;
	*out = 0;
	pthread_attr_getstack(attr, &stack, &size);
	uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)63;
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %2, %%rsp\n\t"
			 "call *%3\n\t"
			 "movq %%rbx, %%rsp"
			 : "=a"(returned), "+D"(arg)
			 : "r"(top), "r"(start)
			 : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc",
			   "xmm0", "xmm1");
	return 0;
}

int pthread_join(pthread_t thread, void **result)
{
	(void)thread;
	*result = returned;
	return 0;
}
