/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0 */
/* layout.h: the memory that patched instructions, the BPF programs and the recorder share. It lives
 * only between the three of one build.
 *
 * An *area* is what one program image is given: two memfds, and two anonymous pieces. Forked
 * children inherit all of it. Whoever has a shared mapping of a file can come by one of all the
 * rest of that file (remap_file_pages), so a memfd that has code has nothing that is shared: a
 * child with fewer rights could else write what its parent executes.
 *
 *   code    (first memfd, private, read and execute) struct patch_header, the runtime, trampolines,
 *           call frame information of these
 *   record  (first memfd, not mapped in the process)  struct patch_record: what is patched, and
 * what was there, for whoever takes it out again: another recorder, if need be chunks  (second
 * memfd, shared)  struct patch_shared, then chunks of PATCH_CHUNK bytes local   (anonymous) struct
 * patch_local: a child of fork has a copy of it rings   (anonymous, wiped on fork) struct
 * patch_ring, one a thread: a child finds zeros
 *
 * A thread's events go to its *lane*: a sequence of chunks, numbered from 1 by `serial`. Which ring
 * is the thread's stands in a word of its thread control block that glibc leaves unused
 * (PATCH_SLOT); 0: it has none yet.
 *
 *   reserve:  old = ring->next; ring->next += length   (one instruction, so that a signal handler's
 *             events come wholly before or wholly after)
 *   write:    the head last, so that a record with a head is whole
 *
 * A record is a head (PATCH_HEAD bits), a frame word (sp or bp), and what the head says follows.
 *
 * A stamp fills a record that was reserved for an event, whose trampoline reserves another one. Its
 * time is read after it was reserved: all records before it were reserved by then. A signal's
 * handler may come in between, and write what follows earlier than that; but how far the lane had
 * come is noted, with a time, when the signal is delivered.
 *
 * A handler may come between reserving and looking whether that is below the end, and take another
 * chunk. What it interrupted is then written behind PATCH_FILLED, or, if it sees that it is too
 * late, made a stamp: the chunk is not whole before. */
#ifndef OFFLINE_PATCH_LAYOUT_H
#define OFFLINE_PATCH_LAYOUT_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/* tcbhead_t.__glibc_unused2 ends at 0x280: room that an old dynamic linker saved registers in. */
#define PATCH_SLOT 0x278

#define PATCH_CHUNK (256u << 10)
#define PATCH_CHUNK_HEADER 64
/* At a chunk's end there is room for what handlers reserve which interrupt one another before they
 * have looked where it ends: 36 of them. */
#define PATCH_TAIL 1024
#define PATCH_FILLED (PATCH_CHUNK - PATCH_TAIL)
#define PATCH_NOWHERE (1ull << 63) /* of a ring that has no chunk: `next`, and more */
#define PATCH_STAMP_BYTES 4096	   /* so many lie between two stamps, where there are any */
#define PATCH_RINGS 16384	   /* threads of one process, ever */
#define PATCH_CHUNKS_GROWN 16384   /* that threads may hold beside what waits to be read */

/* What a record's head says, beside the site in bits 0 to 21. */
#define PATCH_HEAD_TAKEN (1u << 22)
#define PATCH_HEAD_RET (1u << 23)    /* 8 bytes: the return address */
#define PATCH_HEAD_TARGET (1u << 24) /* 8 bytes: where an indirect call or jump goes */
#define PATCH_HEAD_STAMP (1u << 25)  /* no event: the frame word is what rdtsc said */
#define PATCH_HEAD_SET (1u << 31)    /* so that no head is 0, as what is not yet written is */
#define PATCH_HEAD_SITE ((1u << 22) - 1)

/* Of a lane: the chunk's number, and how far into it. */
#define PATCH_POSITION(serial, off) ((__u64)(serial) << 32 | (off))

struct patch_ring {
	__u64 next; /* where the next record goes */
	__u64 end;  /* in place of one that would begin here or above comes a stamp, or, behind
		       PATCH_FILLED, another chunk */
	__u64 last; /* the last record */
	__u32 serial;
	__u32 lane;  /* 0: none yet, or this is a child of fork */
	__u64 chunk; /* address of the current one; 0: none */
	__u64 lost;  /* events that found no chunk, ever */
	__u64 reserved[2];
};
#define PATCH_RING_BYTES 64

/* In a chunk's header. Whoever takes a free chunk sets `state` before all else; it is written last
 * when the chunk is full, and when it is given back. */
enum patch_chunk_state {
	PATCH_FREE,
	PATCH_TAKEN,
	PATCH_FULL,
	PATCH_ENDED, /* nobody writes to its lane any more; by the recorder alone */
};
struct patch_chunk {
	__u32 state;
	__u32 lane;
	__u32 serial;
	__u32 index;
	__u64 lost;   /* of the thread, before its first record */
	__u64 time;   /* rdtsc when it was taken */
	__u32 closed; /* when it is full: records before this offset are there, or will be */
	__u32 reserved_0;
	__u64 reserved[3];
};

struct patch_shared {
	__u32 n_lanes;	   /* given out so far */
	__u32 n_chunks;	   /* in use; grows with how many are held by threads */
	__u32 waits;	   /* where no chunk is free: wait for one, or lose what comes */
	__u32 alive;	   /* grows as long as somebody drains */
	__u32 hint;	   /* chunk to look at first */
	__u32 stamp_bytes; /* PATCH_STAMP_BYTES; PATCH_CHUNK: one a chunk */
	__u32 full;	   /* no chunk was free, and none was given back since */
	__u32 reserved[9];
};

/* What is mapped of an area that begins with @n chunks. What is not used takes no memory. */
static inline __u64 patch_chunks_bytes(__u32 n)
{
	return PATCH_CHUNK * (__u64)(1 + n + PATCH_CHUNKS_GROWN);
}

struct patch_local {
	__u32 n_rings; /* given out, to be never given out again */
	__u32 reserved_0;
	__u64 magic, self; /* by which a later recorder finds it: the rings stay */
	__u32 reserved[10];
};
#define PATCH_LOCAL_BYTES 4096 /* before the rings */
/* In it: struct r_debug_extended of glibc, where debuggers find struct patch_map. */
#define PATCH_LOCAL_OBJECTS 256

#define PATCH_NAME_BYTES 392
/* At the start of the code. */
struct patch_header {
	__u64 magic;
	__u64 rings, local, shared; /* addresses in the process */
	__u64 off_record;	    /* in the first memfd */
	__u64 bases[64]; /* of each module: run-time address of its text_addr; 0: not patched */
	/* For whoever unwinds: the code that .eh_frame_hdr at `index` is of, and where to ask for
	 * other code. */
	__u64 code_from, code_to, index, find_next;
	/* For debuggers: struct link_map (<link.h>) and the name of an ELF file of the same. */
	struct patch_map {
		__u64 addr, name, dynamic, next, prev;
	} map;
	/* That are mapped. What is shared says how many are in use, and whoever has fewer rights
	 * may have written there. */
	__u64 chunks_most;
	char name[PATCH_NAME_BYTES];
};
#define PATCH_MAGIC 0x356b72616d677570ull /* "pugmark5" */

/* A word of the process that leads to what is in the code, for unwinders and debuggers. */
enum patch_word_kind {
	PATCH_WORD_PLAIN,
	PATCH_WORD_CHAIN,    /* a list, whose next member stands in the word at `next` */
	PATCH_WORD_OF_CHAIN, /* goes back if the list has no other member */
};
struct patch_word {
	__u64 addr, was, now, next;
	__u32 kind;
	__u8 written, reserved[3];
};
#define PATCH_WORDS 3

/* One change of the text, or two: behind an entry whose patch jumps to an island there is one of
 * PATCH_ENTRY_ISLAND for that: of idle bytes, or of instructions that have moved. All addresses are
 * run-time ones. */
enum { PATCH_ENTRY_WITNESS, PATCH_ENTRY_ISLAND };
struct patch_entry {
	__u64 addr;
	__u64 own;  /* the witness's instruction: its probe goes while this is written */
	__u64 told; /* where a thread is as the event is told; of PATCH_ENTRY_ISLAND: the island */
	__u32 site; /* over all modules */
	__u8 kind;
	__u8 len;
	__u8 probe_at; /* where in these bytes a probe of ours may be; PATCH_NO_PROBE: nowhere */
	__u8 own_was;  /* the byte at `own` without a probe */
	__u8 written;
	__u8 left; /* a thread stood in its midst: it stays as it was */
	__u8 reserved[6];
	__u8 was[24], now[24];
};
#define PATCH_NO_PROBE 255

struct patch_record {
	__u64 magic;
	__u64 rings, rings_bytes;
	__u64 shared, chunks_bytes,
		chunks_ino; /* what is mapped of the second memfd, and which it is */
	/* CLOCK_MONOTONIC: all threads are stopped then, and when they go on it is patched. */
	__u64 patched_ns;
	__u64 recorder_start; /* in ticks since boot */
	__s32 recorder;	      /* its pid */
	__u32 n_regions, n_entries, n_words;
	struct patch_word words[PATCH_WORDS];
	struct patch_region {
		__u64 code, code_bytes;	  /* in the process */
		__u64 text_from, text_to; /* what its entries are of */
		__u32 first, n;		  /* of the entries */
	} regions[64];
	struct patch_entry entries[];
};
#define PATCH_CODE_START 1024 /* where the runtime begins */

/* What a thread pushes before it runs into the probe of the runtime, below its red zone. */
#define PATCH_RARE_CALLED (1u << 22) /* the return address of a call was pushed before that */
#define PATCH_RARE_FLAGS (1u << 23)  /* which way a conditional jump goes is known: */
#define PATCH_RARE_TAKEN (1u << 24)
#define PATCH_RARE_WORDS 25 /* from here on, signed: the witness's sp is so many words above */
#define PATCH_RARE_WORDS_MAX 63
#define PATCH_RARE_BYTES (128 + 16) /* from the stack pointer there up to that of the site */

#ifndef __bpf__
_Static_assert(sizeof(struct patch_ring) == PATCH_RING_BYTES, "the runtime counts on it");
_Static_assert(sizeof(struct patch_chunk) == PATCH_CHUNK_HEADER, "the runtime counts on it");
_Static_assert(sizeof(struct patch_header) <= PATCH_CODE_START, "the runtime lies behind it");
#endif

#endif
