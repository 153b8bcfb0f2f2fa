/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0 */
/* surroundings.h: checksums of the memory that registers point to: they tell two visits of one
 * instruction with equal registers apart. There is one of the 64 bytes at each general register,
 * and more of the stack, 64 bytes each, from the red zone on. bpf/surroundings.h makes them, the
 * replay compares them. */
#ifndef OFFLINE_CAPTURE_SURROUNDINGS_H
#define OFFLINE_CAPTURE_SURROUNDINGS_H

#ifndef __bpf__ /* there vmlinux.h has the types */
#include <linux/types.h>
#endif

enum {
	SURROUNDINGS_REGS = 16,
	SURROUNDINGS = 26,
	SURROUNDINGS_WORDS = 8,		      /* of 64 bits, in each */
	SURROUNDINGS_SUMS = SURROUNDINGS / 2, /* words of a ring record */
	SURROUNDINGS_RSP = 4,
};

/* Where part @i lies, by registers in the order of the encoding. */
static inline __u64 surroundings_at(const __u64 *regs, __u32 i)
{
	const __u64 bytes = SURROUNDINGS_WORDS * sizeof(__u64), red_zone = 2 * bytes;

	if (i >= SURROUNDINGS_REGS)
		return regs[SURROUNDINGS_RSP] + (i - SURROUNDINGS_REGS) * bytes +
		       (i < SURROUNDINGS_REGS + 2 ? -red_zone : -bytes);
	return regs[i & (SURROUNDINGS_REGS - 1)];
}

/* Never 0: that is of what could not be read, or will be other when the task goes on. */
static inline __u32 surroundings_sum(const __u64 *words)
{
	__u64 h = 0;

	for (__u32 i = 0; i < SURROUNDINGS_WORDS; i++) {
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15;
		h ^= h >> 29;
	}
	return (__u32)(h >> 32) | 1;
}

#endif
