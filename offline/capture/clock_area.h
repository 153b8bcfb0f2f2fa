/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0 */
/* clock_area.h: the memory that a process gets that is attached to at level values, so that what
 * the kernel's image of clock functions (vDSO) tells is noted: user/values/clock writes it, the
 * process fills it, bpf/clocks.h reads it.
 *
 *   0           a copy of the image, whose functions are as they were
 *   CLOCK_CODE  what the functions of the image itself jump to: calls the copy, and notes the call
 *   CLOCK_SLOTS a slot for each thread, by its thread pointer: a struct clock_slot, then a ring of
 *               struct clock_entry
 *
 * A slot belongs to the thread pointer that took it first. Of a thread whose pointer falls on a
 * slot that is another's nothing is noted. No call is made into the kernel, as a filter might end
 * the process for it: entries are read before the next record of the thread, and where there are
 * more by then than the ring has, they are lost. It lives only between the parts of one build. */
#ifndef OFFLINE_CAPTURE_CLOCK_AREA_H
#define OFFLINE_CAPTURE_CLOCK_AREA_H

#ifndef __bpf__ /* there vmlinux.h has the types */
#include <linux/types.h>
#endif

/* Plain numbers: assembly has them as well. */
#define CLOCK_CODE 0x4000
#define CLOCK_SLOTS 0x8000
#define CLOCK_SLOT_SHIFT 20
#define CLOCK_SLOT_BITS 8
#define CLOCK_HASH_SHIFT 6
#define CLOCK_HASH 0x9e3779b1
#define CLOCK_ENTRIES 8192
#define CLOCK_READ 64 /* entries that are read at once */
#define CLOCK_BYTES (CLOCK_SLOTS + (1 << (CLOCK_SLOT_SHIFT + CLOCK_SLOT_BITS)))

/* The functions, by number: a row of clock_functions in user/values/clock. */
#define CLOCK_GETTIME 0
#define CLOCK_GETTIMEOFDAY 1
#define CLOCK_TIME 2
#define CLOCK_GETCPU 3
#define CLOCK_GETRES 4
#define CLOCK_FUNCTIONS 5

struct clock_slot {
	__u64 owner; /* thread pointer; 0: nobody's */
	__u64 n;     /* entries, ever */
	__u64 reserved[6];
};

struct clock_entry {
	__u64 head; /* the number of the entry, from 1, above 8 bits; the function */
	__u64 args[2];
	__u64 result;
	__u64 words[3]; /* what was written: at the first argument, then at the second */
	__u64 sp;	/* when the function began */
};

static inline __u64 clock_slot_of(__u64 thread_pointer)
{
	__u32 hash = (__u32)(thread_pointer >> CLOCK_HASH_SHIFT) * CLOCK_HASH;

	return CLOCK_SLOTS + ((__u64)(hash >> (32 - CLOCK_SLOT_BITS)) << CLOCK_SLOT_SHIFT);
}

#endif
