/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0 */
/* capture_ring.h: what bpf/values.bpf.c and the recorder say to each other at level values: which
 * places are probed and what is read there, and the records that come back through the ring
 * `captures`. It lives only between the two of one build; what is kept is
 * docs/recording-format.md. */
#ifndef OFFLINE_CAPTURE_CAPTURE_RING_H
#define OFFLINE_CAPTURE_CAPTURE_RING_H

#include "offline/capture/clock_area.h"
#include "offline/capture/surroundings.h"

#ifndef __bpf__ /* there vmlinux.h has the types */
#include <linux/types.h>
#endif

#define CAPTURE_CHUNK_BYTES 4096
#define CAPTURE_PENDING 16    /* calls out that a task can be in at once: callbacks */
#define CAPTURE_MAX_OUTPUTS 6 /* of one call */
#define CAPTURE_MAX_SYSCALLS 512
#define CAPTURE_MAX_RANGE (64u << 20)
#define CAPTURE_MAX_UNREAD 0x7fffffffu

/* Of a system call. */
#define CAPTURE_CONTENT 1	   /* what it brings or maps is what a descriptor leads to */
#define CAPTURE_WHEN_FAILED 2	   /* it writes where it fails as well */
#define CAPTURE_MOVES 4		   /* it moves bytes through the channel that arg0 leads to */
#define CAPTURE_MAKES 8		   /* it makes one */
#define CAPTURE_BESIDES_1 16	   /* and through the one that arg1 leads to */
#define CAPTURE_BESIDES_2 32	   /* or arg2 */
#define CAPTURE_PAUSES 64	   /* it may wait for long, or others go on from it */
#define CAPTURE_OPENS 128	   /* it makes a descriptor of a path */
#define CAPTURE_BESIDE 256	   /* more is read than it has written */
#define CAPTURE_BESIDE_PEER 512	   /* the same, of the peer's address alone */
#define CAPTURE_ELSEWHERE 1024	   /* what it brings is from where no descriptor leads */
#define CAPTURE_BESIDE_FAILED 2048 /* where it fails more is read than it has written */

/* What a descriptor leads to, if bytes that are read there can be those that were written: a
 * *channel*. An end is an inode, of a TCP socket its address and port. */
enum channel_kind {
	CHANNEL_OTHER,
	CHANNEL_FILE,
	CHANNEL_PIPE,
	CHANNEL_UNIX, /* a stream */
	CHANNEL_TCP,
};
#define CHANNEL_KIND 15
#define CHANNEL_SHIFTED 16 /* the descriptor leads elsewhere than when the call began */
#define CHANNEL_RIGHTS 32  /* a message with control data: descriptors, perhaps */

/* The words of a KERNEL record from CHANNEL_WORDS on, of a call that moves bytes or makes channels.
 */
#define CHANNEL_WORDS 11
struct capture_channel {
	__u64 is;	 /* kind and flags */
	__u64 device;	 /* of a file, and its generation above; of TCP: the network namespace */
	__u64 end, peer; /* peer 0: there is none, or it is not known */
	__u64 position;	 /* behind the call: in the file; of TCP what was read and, above 32 bits,
			    what was written, as sequence numbers */
	__u64 before, after; /* when the file was changed last, as the call begins and ends */
	__u64 besides, besides_device; /* the pipe that it moves bytes to as well; 0: none */
};

/* What is told of the place of a probe: it may stand for several things at once. */
enum capture_role {
	ROLE_RESULT = 1, /* a call out is over here */
	ROLE_CALL = 2,	 /* a call out begins: its arguments are kept until it is over */
	ROLE_ENTER = 4,	 /* a function that may be called from outside begins here */
	ROLE_INSN = 8,	 /* behind an instruction whose result nothing else tells */
	ROLE_LAND = 16,	 /* where control may come back from outside with all registers changed */
	ROLE_TAIL = 32,	 /* with ROLE_CALL: a jump, the return address is on the stack already */
	ROLE_ERRNO = 64, /* with ROLE_RESULT: the result is the address of errno */
	ROLE_RDX = 128,	 /* with ROLE_RESULT: rdx is part of it */
};

/* Which number an output is computed from. */
enum capture_value {
	VALUE_ARG0 = 0,
	VALUE_RESULT = 6,
	VALUE_ONE = 7,
	VALUE_SYMBOL = 8,
	/* Of registers that calls keep, behind the call. */
	VALUE_KEPT_RSP = 9,
	VALUE_KEPT_RBX = 10,
	VALUE_KEPT_RBP = 11,
	VALUE_KEPT_R12 = 12,
	VALUE_KEPT_R13 = 13,
	VALUE_KEPT_R14 = 14,
	VALUE_KEPT_R15 = 15,
	CAPTURE_VALUES = 16,
};

enum capture_length {
	LENGTH_PRODUCT, /* a * b * k + c */
	LENGTH_STRING,	/* up to its zero byte, at most k */
	LENGTH_U32,	/* what the 32-bit word at a holds, at most k */
	LENGTH_IOVEC,  /* base is an array of a struct iovec; of those as much as the result says */
	LENGTH_MSGHDR, /* a struct msghdr and what it leads to */
	LENGTH_FILE,   /* a FILE of glibc and what is unread in its buffer */
};

/* A range of memory that somebody else may have written. */
struct capture_output {
	__u8 base;  /* enum capture_value: the address, before the addend */
	__u8 loads; /* how often what lies there is the address */
	__u8 length;
	__u8 a, b;
	__u8 reserved[3];
	__u32 k, c;
	__s64 addend; /* of the base; VALUE_SYMBOL: relative to the module's text_addr */
};

struct capture_desc {
	__u32 addr_off; /* address of the probed instruction minus the module's text_addr */
	__u32 output;	/* first in the map `outputs` */
	__u16 n_outputs;
	__u16 module;
	__s32 cfa_off; /* ROLE_ENTER: CFA minus sp */
	__u8 roles;
	__u8 asks_time; /* ROLE_RESULT, ROLE_CALL: what is called may read a clock of the vDSO */
	__u8 no_rax;	/* ROLE_RESULT: nobody looks at rax, and it is not there any more */
	__u8 all_regs;	/* ROLE_INSN: it writes others than rax, rbx, rcx and rdx */
	__u8 reserved[4];
};

/* Hits of a place that may be watched no longer (capture_programs_thin()). */
struct capture_hits {
	__u32 n;
	__u32 alone; /* 1: nothing else may tell what was told there, at least once */
};

struct capture_syscall {
	struct capture_output outputs[CAPTURE_MAX_OUTPUTS];
	__u8 n_outputs;
	__u8 reserved0;
	__u16 traits; /* CAPTURE_CONTENT, ... */
	__u32 reserved;
};

/* What a ring record is. Up to RING_LOST as enum capture_kind of captures.h. */
enum capture_ring_kind {
	RING_CAPTURE_ENTER = 2,
	RING_CAPTURE_RESULT = 3,
	RING_CAPTURE_KERNEL = 4,
	RING_CAPTURE_SIGNAL = 5,
	RING_CAPTURE_INSN = 6,
	RING_CAPTURE_FORK = 7,
	RING_CAPTURE_EXEC = 8,
	RING_CAPTURE_END = 9,
	RING_CAPTURE_SWITCH = 11,
	RING_CAPTURE_RANGE = 32, /* bytes; they belong to the task's next record of another kind */
	/* Before these, of one with CAPTURE_CONTENT, if somebody asks: a struct capture_bytes whose
	 * addr is the descriptor, and above it the mode of the file; the names of its path, from
	 * the last to the first, a zero byte behind each; unread: they are not known. */
	RING_CAPTURE_NAME = 33,
	RING_CAPTURE_CLOCKS = 34, /* a struct capture_clocks */
	RING_CAPTURE_ON = 35,	  /* behind a SWITCH: the task has the processor again */
	RING_CAPTURE_BATCH = 36,  /* a struct capture_batch */
	RING_CAPTURE_LANE = 37,	  /* a struct capture_lane */
};

/* A recorded thread, in the pid namespace of who asks, and its number in the recording. */
struct task_number {
	__u32 tid, task;
};

/* The words of a record, by its kind: those of registers in the order of the encoding. */
/* The place of a SIGNAL of which ip and sp alone are known. */
#define CAPTURE_IN_STUB (1u << 3) /* as in captures.h */
#define CAPTURE_HIDDEN_PLACE 0xfffffffeu
#define CAPTURE_WORDS 18
#define SWITCH_WORDS 18
#define SIGNAL_WORDS 19
#define MOST_WORDS (SIGNAL_WORDS + SURROUNDINGS_SUMS)
/* ENTER, SIGNAL: 16 registers, flags; SIGNAL: its number, the handler.
 * SWITCH: 16 registers, flags; 1: it may have been in the trap of a probe, with ip behind its one
 * byte. Behind those of SIGNAL and SWITCH, if they may be told and it is not behind a system call,
 * the sums of its surroundings, two in each. END: 16
 * registers, flags; where in the order the system call began that ends it, or 0. RESULT: rax, rdx,
 * the hash, which are those of the call: 1: rax, 4: rdx. INSN: rax, rcx, rdx, rbx, flags. KERNEL:
 * its number, the result, six arguments; of mmap() of a file its inode and bytes; where in the
 * order it began; a struct capture_channel, if there is one, or of mmap() of a file the kernel's
 * number of its device. */
struct capture_note {
	__u32 kind;
	__u32 task;
	__u32 place;
	__u32 n_words;
	__u64 number;  /* of this task's records, also of those that found the ring full */
	__u64 order;   /* over all tasks */
	__u64 time_ns; /* less than a tick of the kernel's clock before; of a mapping exactly */
	__u64 ip, sp;
	__s32 pid; /* its process, in the collector's namespace */
	__u32 reserved;
	__u64 words[MOST_WORDS]; /* n_words are sent */
};

struct capture_bytes {
	__u32 kind; /* RING_CAPTURE_RANGE */
	__u32 task;
	__u32 len;
	__u32 unread; /* they could not be read */
	__u64 number;
	__u64 addr;
	__u8 data[CAPTURE_CHUNK_BYTES]; /* len are sent, unless unread */
};

/* What the kernel's image of clock functions has told a thread since its last record. */
struct capture_clocks {
	__u32 kind;
	__u32 task;
	__u32 n;
	__u32 lost;    /* 1: they, or others before, are not known */
	__u64 number;  /* as in a struct capture_note */
	__u64 order;   /* of the first of them; those behind it have the following numbers */
	__u64 time_ns; /* when they were read */
	__u64 first;   /* number of the first entry, from 0 */
	struct clock_entry entries[CLOCK_READ]; /* n are sent */
};

/* What the task has noted itself up to here (call_area.h) comes before what follows. */
struct capture_lane {
	__u32 kind;
	__u32 task;
	__u32 lane;	 /* number */
	__u32 told;	 /* 1: what the last of these notes is of is told by what follows */
	__u64 number;	 /* as in a struct capture_note */
	__u64 owner;	 /* the thread pointer; */
	__u64 its_owner; /* and whose it is, or was until it was closed: another one's, or nobody's
			    (0), it has no notes in it */
	__u64 head;	 /* how many notes there are, ever */
	__u64 clocks;	 /* the same of what clocks have told (clock_area.h); of those since the
			  * last such record the orders are free */
	__u64 order;	 /* from here on */
	__u64 time_ns;
	__s32 pid;
	__u32 shared; /* 1: another task that has just been made may write there from here on */
};

/* The records of one task that have come since its last batch, in their order. Before each stands
 * its length in a __u64, and it begins at a multiple of 8. One waits in the state of its task while
 * it has less than CAPTURE_BATCH_FULL bytes and is young. */
#define CAPTURE_BATCH_FULL 8192
#define CAPTURE_RECORD_MAX 4352
struct capture_batch {
	__u32 kind;
	__u32 task;
	__u8 data[CAPTURE_BATCH_FULL + CAPTURE_RECORD_MAX]; /* what is filled is sent */
};

struct capture_counters {
	__u64 lost;	    /* records that found the ring full */
	__u64 without_task; /* hits of tasks whose state could not be made */
	__u64 unseen;	    /* times that it is not known where or when a task lost the processor */
};

_Static_assert(8 + sizeof(struct capture_bytes) <= CAPTURE_RECORD_MAX &&
		       8 + sizeof(struct capture_clocks) <= CAPTURE_RECORD_MAX &&
		       8 + sizeof(struct capture_note) <= CAPTURE_RECORD_MAX,
	       "each has room");

#endif
