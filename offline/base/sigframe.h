/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sigframe.h: the frame that the kernel makes for a signal's handler on x86-64, struct rt_sigframe
 * of its arch/x86/include/asm/sigframe.h: the return address, to the trampoline, then a struct
 * ucontext (flags, link, the alternative stack, the registers). In words, from the return address
 * upwards. */
#ifndef OFFLINE_BASE_SIGFRAME_H
#define OFFLINE_BASE_SIGFRAME_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SIGFRAME_FLAGS = 1, /* uc_flags: three bits */
	SIGFRAME_LINK = 2,  /* uc_link: 0 */
	SIGFRAME_BP = 16,   /* what the signal found: rbp, rsp, rip, eflags */
	SIGFRAME_SP = 21,
	SIGFRAME_IP = 22,
	SIGFRAME_EFLAGS = 23,
	SIGFRAME_SEGMENTS = 24, /* cs, gs, fs and ss, 16 bits each */
	SIGFRAME_WORDS = 25,	/* that are looked at */
};

/* Whether the segments are those of 64-bit code in user space. */
static inline bool sigframe_is_user(uint64_t segments)
{
	return (uint16_t)segments == 0x33 && segments >> 48 == 0x2b;
}

#endif
