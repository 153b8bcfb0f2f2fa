/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0 */
/* protocol.h: what the BPF programs and the collector say to each other: the tables that the
 * collector fills before attaching, and the records that come back through two rings. It lives only
 * between the two of one build; what is kept on disk is docs/recording-format.md.
 *
 *   ring `events`:  struct batch (of one task, in order), or what its events refer to: struct
 *                   snapshot, deep_stack, attach_stack; or struct signal_note, an event of its own;
 *                   or struct wait_note
 *   ring `process`: struct process_record
 *
 * A batch stands on its own but for the load bases, which are said again after every loss. */
#ifndef BPF_PROTOCOL_H
#define BPF_PROTOCOL_H

#ifndef __bpf__ /* there vmlinux.h has the types */
#include <linux/types.h>
#endif

#define BATCH_RECORDS 256
#define BATCH_MODULES 64
#define BATCH_MAX_SITES (1u << 22)
#define SNAPSHOT_WORDS 512
#define DEEP_WORDS 16384     /* with the snapshot */
#define DEEP_NEAR_WORDS 8192 /* that are looked at where nothing says how far to look */
#define DEEP_MAX 2048
#define ATTACH_WORDS (1u << 20) /* of a stack, when its task is attached to */
#define BATCH_SNAPSHOTS 16	/* in one batch */
#define KNOWN_PROGRAMS 64
#define OPERAND_NONE 255
#define OPERAND_RIP 16

/* enum pugmark_cfa_reg and enum pugmark_plan_capture, for BPF programs, which cannot include
 * plan.h; the collector asserts that they are the same. */
#define DESC_CFA_BP 2
#define DESC_RET 1
#define DESC_FLAGS 2
#define DESC_TARGET 4
#define DESC_SNAPSHOT 8
#define DESC_STACK 16
#define DESC_IF_AGAIN 64
#define DESC_BELOW 128
#define DESC_AT_CALL 32 /* what the site reads is passed to the call at it */
#define DESC_READS_SHIFT 4
#define DESC_READS_ARGS 7
#define DESC_READS_RESULT 8
#define DESC_CFA_REG 3
#define DESC_OUTS_SHIFT 2 /* in cfa_reg, behind that: struct out_pointers */

/* One probe, as the BPF program needs it: what the map `sites` holds at the cookie. */
struct site_desc {
	__u32 addr_off; /* address of the instruction minus the module's text_addr */
	__s32 cfa_off;
	/* PUGMARK_CAPTURE_TARGET: index in the map `operands`; of other sites that read arguments:
	 * index in the map `arg_reads`, plus 1; 0: nothing is read through them */
	__u32 operand;
	/* enum pugmark_cfa_reg; in the upper 6 bits: which arguments point to what is read when the
	 * call returns; where it does return: whether any does */
	__u8 cfa_reg;
	__u8 capture; /* enum pugmark_plan_capture, DESC_AT_CALL */
	__u8 cond;    /* x86 condition code; in the upper half enum pugmark_plan_reads */
	__u8 module;
};

struct operand_desc {
	__s64 disp; /* rip-relative: relative to the module's text_addr */
	__u8 base, index, scale, is_memory;
	__u32 reserved;
};

#define ARG_READS 6	 /* of a site */
#define ARG_TEXT_WORDS 4 /* of a text, at most */

/* What is read through the arguments at a site (user/file/arg_types.h). */
struct arg_read_desc {
	__s32 at; /* from where argument @in points to */
	__u8 in;
	__u8 text;    /* else a number of @bytes */
	__u8 through; /* what is stored there is the address of the text */
	__u8 bytes;
};

struct arg_reads_desc {
	__u32 n, reserved;
	struct arg_read_desc reads[ARG_READS];
};

/* Arguments of a call whose targets are read when it returns: functions give out handles through
 * them. The stack pointer tells the call: it is then what it was before. */
#define OUT_ARGS 6
#define OUT_CALLS 16 /* that are open, at most, in a task */

struct out_pointers {
	__u64 sp; /* 0: free */
	__u64 at[OUT_ARGS];
};

/* A word that holds the run-time address of a function of the same module, if nothing comes before
 * that; both relative to text_addr. */
struct bound_slot {
	__s64 slot, func;
};

/* head: bits 0 to 21 the site (its index over all modules), then what follows. */
#define HEAD_SITE_MASK (BATCH_MAX_SITES - 1)
#define HEAD_TAKEN (1u << 22)	 /* PUGMARK_CAPTURE_FLAGS: the jump will be taken */
#define HEAD_RET (1u << 23)	 /* ret holds the return address minus ip, or see RECORD_RET */
#define HEAD_SNAPSHOT (1u << 24) /* the next snapshot, by serial, is of this event */
#define HEAD_SIGNAL (1u << 25)	 /* the return address is a signal trampoline */
#define HEAD_HANDLER (1u << 26)	 /* the handler of the last signal has not returned */
#define HEAD_RECORD_SHIFT 28

/* Kinds of record, in the topmost 4 bits of head. But for the first and the last, they belong to
 * the witness after. */
enum batch_record_kind {
	RECORD_WITNESS = 0,
	RECORD_BASE = 1,   /* site: a module; value: run-time address of its text_addr */
	RECORD_TIME = 2,   /* value: time to count from */
	RECORD_CFA = 3,	   /* value: upper half of the CFAs from here on */
	RECORD_RET = 4,	   /* value: return address, too far from ip for 32 bits */
	RECORD_TARGET = 5, /* value: target of the indirect call or jump; of a site that has none,
			      bp */
	RECORD_ATTACH = 6, /* the task ran before it was recorded */
	RECORD_FORK = 7,   /* value: number of the child that goes on with a copy of the stack */
	RECORD_PAUSE = 8,  /* what is probed changes: from here to the next RECORD_ATTACH nothing
			      of the task is seen */
	RECORD_LANE = 9,   /* site: a lane, dt_ns: its area; value: PATCH_POSITION up to which its
			      records come before what follows (offline/patch/layout.h) */
	RECORD_VALUE = 10, /* value: one that the site reads, in their order; and behind arguments
			      what was read through them (struct arg_values); behind a result a
			      word with a bit for each argument whose target was read, and
			      these */
	RECORD_LANE_FROM = 11, /* the same; but the task's own begin there */
	RECORD_LANE_TIME = 13, /* value: when that of the next RECORD_LANE was so */
	RECORD_LANE_LOST = 12, /* value: how many records found no room in the lane, ever */
	RECORD_GOROUTINE = 14, /* value: the number of the one that runs */
};

struct batch_record {
	__u32 head;
	__u32 dt_ns; /* since the record before */
	union {
		struct {
			__u32 cfa; /* low half */
			__s32 ret;
		};
		__u64 value;
	};
};

enum ring_kind {
	RING_BATCH = 1,
	RING_SNAPSHOT = 2,
	RING_DEEP = 3,
	RING_ATTACH = 4,
	RING_SIGNAL = 5,
	RING_WAIT = 6
};

struct batch {
	__u32 kind;
	__u32 task;	  /* number of the task, from 1 in the order of their creation */
	__u32 n;	  /* records */
	__u32 witnesses;  /* of which witness events */
	__u64 lost;	  /* witness events lost, ever */
	__u64 time_ns;	  /* what the first dt_ns counts from */
	__u32 cfa_high;	  /* upper half of the CFAs */
	__u32 execs;	  /* how often the task has exec'ed */
	__u32 snapshots;  /* serial of the first HEAD_SNAPSHOT in it */
	__s32 pid;	  /* its process, in the collector's namespace */
	__u32 generation; /* of the tables of sites that its records refer to */
	__u32 reserved;
}; /* n records follow */

/* A copy of the stack. Only the words that may have changed are sent: those from addr up to the
 * highest one that differs from the task's snapshot before, at the same address. */
struct snapshot {
	__u32 kind;
	__u32 task;
	__u64 addr;
	__u32 n_words; /* of the snapshot */
	__u32 n_sent;  /* of them; the rest is as before */
	__u32 serial;  /* from 0, for each task; it comes before the batch of its event */
	__u32 reserved;
	__u64 heap, heap_end; /* what brk() has given the process */
	__u64 args, args_end; /* what it was started with: it lies above the first frame of all */
	__u64 words[SNAPSHOT_WORDS];
};

/* What lies above a snapshot, where the frames of foreign code are large: only the words that are
 * addresses in the module, in the program, where libraries are mapped (return addresses are among
 * these), or of the stack there (saved frame pointers); where that is too much, in the module. */
struct deep_stack {
	__u32 kind;
	__u32 task;
	__u32 serial;  /* of the snapshot */
	__u32 n_words; /* how far it goes, from the snapshot's address */
	__u32 n;
	__u32 reserved;
	__u64 words[DEEP_MAX]; /* n are sent: DEEP_PLACE and DEEP_VALUE of each */
};
#define DEEP_VALUE(word) ((word)&0xffffffffffffull)
#define DEEP_PLACE(word) ((__s64)(word) >> 48) /* address, less that of the snapshot, in words */

/* The stack of a task that ran before, at its first hit, in pieces upwards, without the pages that
 * are not there; each with the registers. It comes before the batch of that event. */
struct attach_stack {
	__u32 kind;
	__u32 task;
	__u64 addr; /* of words[0] */
	__u64 ip;
	__u64 regs[16]; /* by their DWARF number */
	__u32 n_words;
	__u32 reserved;
	__u64 words[SNAPSHOT_WORDS]; /* n_words are sent */
};

/* A signal is delivered to the task, after all that its batches and other records have told. */
struct signal_note {
	__u32 kind;
	__u32 task;
	__u64 time_ns;
	__u64 lost; /* as in struct batch */
	__u32 execs;
	__s32 pid; /* 0: its process is no more what it was */
	__u32 has_snapshot;
	__u32 snapshot; /* its serial */
	__u64 ip;
	__u64 regs[16];	      /* by their DWARF number */
	__u64 handler;	      /* 0: none */
	__u64 alt, alt_bytes; /* the stack that the handler runs on, if another */
};

/* The task did not run between two times, and its lane had come up to there. */
struct wait_note {
	__u32 kind;
	__u32 task;
	__u32 area, lane;
	__u64 pos; /* as of RECORD_LANE */
	__u64 from_ns, to_ns;
};

enum process_kind { PROCESS_TASK = 16, PROCESS_EXEC, PROCESS_EXIT, PROCESS_STOP };

/* The last of SIGSEGV, SIGILL, SIGTRAP and SIGBUS that a task took. signal 0: none. */
struct fault_note {
	__u32 signal;
	__s32 code; /* si_code: above 0 the kernel made it of what the task did, else it was sent */
	__u64 addr; /* si_addr, if the kernel made it */
	__u64 ip;
	__u64 time_ns;
};

/* One step in a task's life. Numbers of processes are those of the recorder's own namespace. */
struct process_record {
	__u32 kind;
	__u32 task;
	__u32 parent; /* PROCESS_TASK: task that forked it, 0: not known */
	__s32 tid, pid;
	__s32 exit_code;
	__u32 attached; /* PROCESS_TASK: it ran before */
	__u32 last;	/* PROCESS_EXIT: no thread is left */
	__u32 execs;	/* how often the task has exec'ed */
	__u32 stopped;	/* PROCESS_EXIT: not by a system call of its own */
	__u64 time_ns;
	__u64 start_ns;		 /* since boot */
	__u64 sp, ip;		 /* PROCESS_EXIT, PROCESS_STOP: the last ones of user mode */
	__u64 lost;		 /* PROCESS_EXIT, PROCESS_STOP: witness events lost, ever */
	struct fault_note fault; /* PROCESS_EXIT */
	char comm[16];
	char file[128]; /* PROCESS_EXEC */
};

/* Counters of what could not even be counted per task. */
struct batch_counters {
	__u64 process_lost;	 /* process records that found their ring full */
	__u64 hits_without_task; /* hits of a task whose state could not be allocated */
	__u64 snapshots_lost;
	__u64 live;	 /* tasks with a state that have not ended */
	__u64 untracked; /* processes not followed as the table of them was full */
	__u64 unplanned; /* hits in processes that the module's plan does not hold for */
	/* With a bound on the overhead: how many stacks were sent, and the time that took. */
	__u64 stacks, stacks_ns;
	__u64 stacks_cut; /* of tasks that were attached to: the ring had no room for all */
};

#endif
