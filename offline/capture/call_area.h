/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0 */
/* call_area.h: the memory that a process gets whose system calls are recorded without a hook of the
 * kernel's: user/values/calls writes it, the process fills it, bpf/calls.h and the recorder read
 * it.
 *
 *   0            what all stubs share (call_code.c), and words for it; call frame information
 *   CALL_STUBS   a stub for each patched `syscall` instruction, then of each a struct call_kind,
 *                then of each a struct call_jump
 *   local page   not shared: a struct call_local; a child of fork() has zeros there
 *   shared page  a struct call_shared
 *   kept pages   not shared: what a call that is being noted has in its registers. A child of a
 *                handler's fork() goes on by that, as it has no lanes
 *
 * and elsewhere the lanes, shared with the recorder alone, as the page is: a slot for each thread,
 * by its thread pointer: a struct call_lane, a ring of struct call_note, what each stub has copied
 * last, a ring of bytes. It lives only between the parts of one build. */
#ifndef OFFLINE_CAPTURE_CALL_AREA_H
#define OFFLINE_CAPTURE_CALL_AREA_H

#ifndef __bpf__ /* there vmlinux.h has the types */
#include <linux/types.h>
#endif

/* Plain numbers: assembly has them as well. */
#define CALL_STUBS 0x1000
#define CALL_STUB_SHIFT 8
#define CALL_STUB_BYTES (1 << CALL_STUB_SHIFT)
#define CALL_STUBS_MOST 3072
#define CALL_HASH_SHIFT 6
#define CALL_HASH 0x9e3779b1
#define CALL_LANE_BITS 6
#define CALL_LANES (1 << CALL_LANE_BITS)
#define CALL_LANE_SHIFT 25
#define CALL_LANE_BYTES (1 << CALL_LANE_SHIFT)
#define CALL_NOTES_OFF 4096
#define CALL_NOTES 65536
#define CALL_NOTES_FULL 49152 /* what a handler does meanwhile has room for the rest */
#define CALL_NOTE_SHIFT 7
/* Of each stub, where in the ring of bytes those lie that it has copied last, divided by 64, and
 * how many they are. A call that brings the same is told to have brought these, if the ring's head
 * is no more than CALL_LAST_FAR past them. They are not written over before the recorder has taken
 * the call's note: until then the tail is no further than that head was. New bytes go at most
 * CALL_BYTES_FULL past the tail, and handlers' CALL_HANDLERS_BYTES more, so
 *   where they lie + CALL_LAST_FAR + CALL_BYTES_FULL + CALL_HANDLERS_BYTES
 * is no more than a round of the ring, CALL_BYTES, past where they lie. */
#define CALL_LAST_OFF 0x880000
#define CALL_LAST_SHIFT 19
#define CALL_LAST_FAR 0x100000
#define CALL_BYTES_OFF 0x900000
#define CALL_BYTES 0x1000000
#define CALL_BYTES_FULL 0xc00000 /* the rest is for a handler's calls, as it is of notes */
#define CALL_RANGE_MOST 0x40000	 /* and so much lies behind the ring of bytes */
#define CALL_HANDLERS_BYTES (8 * CALL_RANGE_MOST) /* handlers in handlers */
/* What is kept for children has 16 places of 64 bytes for each lane. A call takes the next place
 * while it is noted, and a handler's call that interrupts it the one behind that. How many bytes of
 * places are taken stands in the last word of the first one. */
#define CALL_KEPT_SHIFT 10
#define CALL_KEPT_BYTES (1 << CALL_KEPT_SHIFT)
#define CALL_KEPT_NEXT 56
#define CALL_KEPT_R10 32
/* Orders of the process are so many of the recorder's apart: those of others lie between. */
#define CALL_ORDER_SHIFT 24
#define CALL_ORDERS (1ull << 38) /* nobody makes so many calls */

/* In a stub. A call that is made slowly is seen by probes at the first and the last of these. */
#define CALL_SLOW 0
#define CALL_SLOW_SYSCALL 6
#define CALL_SLOW_OVER 8
#define CALL_BACK 9
#define CALL_FAST 24
#define CALL_FAST_SYSCALL 101
#define CALL_FAST_OVER (CALL_FAST_SYSCALL + 2)
#define CALL_LEAVE (CALL_FAST_OVER + 5)
#define CALL_MISS (CALL_LEAVE + 2)
#define CALL_MOVED 200

struct call_local {
	__u64 armed;
};

struct call_shared {
	__u64 order;   /* the next one */
	__u64 time_ns; /* when the recorder has looked last */
};

/* In the owner of a lane that is closed: no stub finds it, as it is no thread's pointer any more.
 */
#define CALL_LANE_CLOSED (1ull << 63)

struct call_lane {
	__u64 owner;   /* thread pointer; 0: nobody's */
	__u64 entered; /* the order when its call began; 0: that call is told already */
	__u64 head, tail;
	__u64 bytes_head, bytes_tail;
	__u64 lost; /* calls that found no room */
};

struct call_note {
	__u32 state; /* 1: whole. The recorder makes it 0 again */
	__u32 reserved;
	__u64 packed; /* offset of the stub's CALL_FAST_OVER << 44 | flags << 32 | result */
	__u64 args[6];
	__u64 sp;
	__u64 entered, order, time_ns;
	__u64 addr; /* of what was written: */
	__u64 at;   /* its bytes, in the ring of bytes */
	__u32 len, unread;
	__u64 clocks;
};

/* What a call writes: so many bytes at one of its arguments. */
struct call_kind {
	__u16 nr;
	__u8 base;	/* argument */
	__u8 flags;	/* enum call_kind_flags */
	__u32 bytes;	/* and for each of the result: */
	__u32 each;	/* which is no more than its third argument says */
	__u32 reserved; /* so that a row has 16 bytes */
};

/* Where a jump is, for who finds the stubs of a recorder that was killed. They lie behind the
 * kinds. */
struct call_jump {
	__u64 at;
	__u8 old[5];
	__u8 n_moved;
	__u8 reserved[2];
};

enum call_kind_flags { CALL_WRITES_STRING = 1 };

/* Offsets in the code that stubs share, in ascending order, and what is so from there on:
 *
 *   post       a call is over: rcx leads to its stub, eax is the result, r11 has the flags
 *   shifted    the flags are 32 bits higher in r11,
 *   joined     and the result stands below them
 *   packed     rcx is struct call_note's `packed`
 *   keeps      r10 is the place for children that has rcx, rdi, rsi, rdx, r10, r8 and r9
 *   reserved   the lane has a note for the call
 *   saved      r11 is its address, and it has all registers
 *   restored   all registers but rax, rcx and r11 are as they were behind the call
 *   told       the note is whole, and rcx is `packed` once more
 *   unpacked   rcx is the offset of the stub's CALL_FAST_OVER, all others are as they will be
 *   back       rcx is where the stub goes on, and the next instruction goes there
 *   full       the lane has no room for a note; rcx is `packed`
 *   sigreturn  begin of what the site of rt_sigreturn() leads to
 *
 * No call passes by what lies before `post`. */
struct call_zones {
	__u32 post, shifted, joined, packed, keeps, reserved, saved, restored, told, unpacked, back,
		full, sigreturn;
};

static inline __u64 call_lane_of(__u64 thread_pointer)
{
	__u32 hash = (__u32)(thread_pointer >> CALL_HASH_SHIFT) * CALL_HASH;

	return (__u64)(hash >> (32 - CALL_LANE_BITS)) << CALL_LANE_SHIFT;
}

_Static_assert(sizeof(struct call_note) == 1 << CALL_NOTE_SHIFT, "as the code has it");
_Static_assert(sizeof(struct call_kind) == 16, "as the code has it");
_Static_assert(CALL_LAST_FAR + CALL_BYTES_FULL + CALL_HANDLERS_BYTES <= CALL_BYTES,
	       "what was copied last is not written over");
_Static_assert(CALL_NOTES_OFF + (CALL_NOTES << CALL_NOTE_SHIFT) <= CALL_LAST_OFF, "lie apart");
_Static_assert(CALL_LAST_OFF + (CALL_STUBS / CALL_STUB_BYTES + CALL_STUBS_MOST) * 8 <=
		       CALL_BYTES_OFF,
	       "lie apart");
_Static_assert(CALL_RANGE_MOST < 1 << CALL_LAST_SHIFT, "a number of bytes");

#endif
