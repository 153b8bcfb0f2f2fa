/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* captures.h: reads what a recording of level values captured: see docs/recording-format.md. Each
 * task has a stream of records, in order. A record of a place is made each time the instruction
 * there is about to be executed, and holds registers and memory as they are then (but an entry's
 * only if the return address is outside of the traced modules). Damage is a record CAPTURE_LOST.
 *
 * All that is handed out is borrowed until captures_free(), what a record points to until the next
 * captures_next() of that iterator. */
#ifndef OFFLINE_CAPTURE_CAPTURES_H
#define OFFLINE_CAPTURE_CAPTURES_H

#include <stdbool.h>
#include <stdint.h>

#include <pugmark/diag.h>

#include "offline/capture/surroundings.h"

#define CAPTURE_NONE UINT32_MAX
#define CAPTURE_UNKNOWN (UINT32_MAX - 1)
#define CAPTURE_NEVER ((uint64_t)1 << 62) /* of the order: not before the recording ends */
#define CAPTURE_FLAGS_KNOWN (1u << 16)
#define CAPTURE_ALL_KNOWN 0x1ffffu
/* In the flags of a SIGNAL as it is encoded, where the processor has none: rcx, r11 and the flags
 * are not told, as it found the task in the code that notes a system call, before that. */
#define CAPTURE_IN_STUB (1u << 3)
#define CAPTURE_IN_STUB_UNTOLD (1u << 1 | 1u << 11 | CAPTURE_FLAGS_KNOWN)

/* Append-only: recordings outlive us. */
enum capture_kind {
	CAPTURE_START = 1,  /* all registers; with the memory of captures_page() */
	CAPTURE_ENTER = 2,  /* control came in from outside: all registers, at the place */
	CAPTURE_RESULT = 3, /* a call out is over: rax, rdx where the place says so, outputs */
	CAPTURE_KERNEL = 4, /* exit of a system call: what it wrote, what it mapped */
	CAPTURE_SIGNAL = 5, /* a signal found the task here, and a handler runs next */
	CAPTURE_INSN = 6,   /* behind rdtsc and the like: rax, rcx, rdx, rbx, flags */
	CAPTURE_FORK = 7,
	CAPTURE_EXEC = 8,
	CAPTURE_END = 9,   /* the task ended; ip, sp and (known) registers are its last */
	CAPTURE_LOST = 10, /* records are missing: nothing is known up to the next START */
	/* The task lost the processor here, in user mode, and has got it back: between `entered`
	 * and `order` it executed nothing. All registers. */
	CAPTURE_SWITCH = 11,
};

enum capture_place_flag {
	PLACE_RDX = 1,	  /* CAPTURE_RESULT: rdx is still as the call left it */
	PLACE_FULL = 2,	  /* CAPTURE_ENTER at a landing pad or behind setjmp: always made */
	PLACE_TAIL = 4,	  /* the call out is a tail jump of what is called at the site */
	PLACE_INSIDE = 8, /* the call may as well stay inside */
	PLACE_THINNED =
		16, /* watched no longer at the end: calls out have no record from then on */
};

struct capture_place {
	uint64_t addr;		  /* ELF, of the probed instruction */
	uint64_t site, site_next; /* CAPTURE_RESULT: the call, and the instruction behind it (ELF);
				     CAPTURE_INSN: the instruction, and the one behind it */
	const char *import;	  /* what is called out; "": not known */
	uint32_t module;	  /* index as in recording.h */
	uint8_t kinds;		  /* a bit (1 << enum capture_kind) each: what records it makes */
	uint8_t flags;		  /* enum capture_place_flag */
};

struct capture_range {
	uint64_t addr;
	uint32_t len;
	bool unread; /* it was written, but the bytes could not be read */
	const uint8_t *bytes;
};

enum capture_map_op {
	MAP_NONE,
	MAP_MAPPED,
	MAP_UNMAPPED,
	MAP_PROTECTED,
	MAP_MOVED,     /* mremap(): from map_old */
	MAP_BREAK,     /* brk(): map_addr is the new end of the heap */
	MAP_ATTACHED,  /* shmat(): of which no length is told */
	MAP_DETACHED,  /* shmdt() */
	MAP_FORGOTTEN, /* as the mapping was at first: madvise(MADV_DONTNEED); MADV_FREE, or a call
			  that failed with another error than ENOMEM: or as it was */
	MAP_WIPED_IN_CHILD, /* a fork's child has zeros there: madvise(MADV_WIPEONFORK); where
			       map_prot is 0, no longer */
};

struct capture {
	uint8_t kind; /* enum capture_kind */
	bool has_hash;
	uint16_t hash;	 /* capture_hash() of what a call keeps, at the place */
	uint32_t place;	 /* index of captures_places(), or CAPTURE_NONE */
	uint64_t number; /* of this task's records */
	uint64_t order;	 /* over all tasks; some numbers are not used */
	uint64_t time_ns;
	uint64_t ip, sp;   /* run-time */
	uint32_t known;	   /* bit i: regs[i] is told; CAPTURE_FLAGS_KNOWN: flags */
	uint64_t regs[16]; /* by number of the encoding: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8
			    */
	uint64_t flags;
	uint64_t fs_base, gs_base; /* START */
	const uint8_t *xsave;	   /* START: an XSAVE area of the standard format, or NULL */
	uint32_t xsave_bytes;
	uint32_t signal; /* SIGNAL */
	uint64_t handler;
	uint64_t entered; /* KERNEL, SWITCH: where in the order that began; 0: not known, of a
			   * SWITCH: it had none since the START */
	bool trapped;	  /* SWITCH: perhaps at the place before ip, in the trap of its probe */
	uint32_t nr;	  /* KERNEL: number, arguments and result of the system call; of
			   * restart_syscall() the number of that which it goes on with */
	uint64_t args[6];
	int64_t result;
	uint64_t lost; /* LOST: how many at least */
	const struct capture_range *ranges;
	uint32_t n_ranges;
	/* KERNEL: what it did to the mappings, though it may have failed on the way
	 * (mapping_calls.c). */
	uint8_t map_op; /* enum capture_map_op */
	uint32_t map_prot;
	uint32_t map_file; /* index of captures_files(); CAPTURE_NONE: anonymous, zeros;
			      CAPTURE_UNKNOWN: a file that nobody could look at; of a call that
			      opens one: a process' memory, to be written (memory_file.h) */
	uint64_t map_addr, map_len, map_old, map_old_len, map_off;
	/* SWITCH, SIGNAL: of the memory around (surroundings.h), 0 of what is not told;
	 * SURROUNDINGS of them, or 0: nothing is told. Else undefined. */
	uint32_t n_surroundings;
	uint32_t surroundings[SURROUNDINGS];
};

/* A mapping of the process at the start. */
/* Of a mapping in the table: others may have it as well; it ends where brk() says. */
enum { CAPTURE_MAPPING_SHARED = 1, CAPTURE_MAPPING_HEAP = 2, CAPTURE_MAPPING_WIPED = 4 };
/* There, instead of the number of a file: it has none; nobody could look at what is there. */
enum { CAPTURE_MAPPING_NO_FILE = -1, CAPTURE_MAPPING_UNREAD = -2 };

struct capture_mapping {
	uint64_t start, end, off; /* run-time; offset in the file */
	uint32_t prot;		  /* PROT_READ ... */
	/* as map_file above: index of captures_files(), CAPTURE_NONE or CAPTURE_UNKNOWN */
	uint32_t file;
	bool shared, heap;
	bool wiped;	   /* a fork's child has zeros there */
	uint64_t grows_to; /* a stack: the lowest address that is one of it when it is touched; or 0
			    */
};

struct capture_file {
	const char *path;
	uint8_t build_id[20];
	uint32_t build_id_len; /* 0: it has none */
	bool changed;	       /* it was written while it was mapped, or right before, perhaps */
};

struct captures;
struct captures_iter;

/* Opens what the recording in @dir has captured. Returns 0 and captures that the caller frees, or
 * -errno with @diag filled (-ENODATA: it was recorded without values). */
int captures_open(const char *dir, struct captures **out, struct pugmark_diag *diag);
void captures_free(struct captures *captures);

const struct capture_place *captures_places(const struct captures *captures, uint32_t *n);
const struct capture_mapping *captures_mappings(const struct captures *captures, uint32_t *n);
const struct capture_file *captures_files(const struct captures *captures, uint32_t *n);
/* Whether bytes of a mapping of @file with that protection (PROT_*) may change without a record:
 * others may write what is shared (if it is a regular file only where it is writable), or the file
 * was written meanwhile, or, but for code, that cannot be told. */
bool captures_may_change(const struct captures *captures, uint32_t file, bool shared, int prot);
/* How many bytes of the file are damaged or cut: what they told is not known, even of which task it
 * was. The whole file is read. */
uint64_t captures_damaged_bytes(const struct captures *captures);
/* Whether all that was captured is there, up to the end: the recorder was not killed, has found
 * room for all of it, and is not at it any more; and no segment is missing or has a damaged header,
 * and no table is damaged. True of whole recordings of older recorders, which do not tell. */
bool captures_ended(const struct captures *captures);
/* The numbers of the tasks that have records. */
const uint32_t *captures_tasks(const struct captures *captures, uint32_t *n);
/* Whether every system call has a record and the code of every library is kept, so that libraries
 * can be executed again as well. */
bool captures_whole(const struct captures *captures);
/* The run-time address of ELF address 0 of a traced module at the start; false: it was not mapped.
 */
bool captures_bias(const struct captures *captures, uint32_t module, uint64_t *bias);

/* The page at the run-time address @addr at the start. 0; -ENOENT: it is as its mapping says
 * (zeros, or the file's bytes); -EBADMSG: it is damaged, or may have been
 * among what is missing. */
int captures_page(const struct captures *captures, uint64_t addr, uint8_t out[4096]);
/* The first page at or behind @addr that is kept of the start; UINT64_MAX: there is none. */
uint64_t captures_page_from(const struct captures *captures, uint64_t addr);
/* Whether such a page may be among what is missing. */
bool captures_page_lost(const struct captures *captures);
/* @len bytes of a file at @off that the recording keeps: 0, -ENOENT, -EBADMSG. */
int captures_file_bytes(const struct captures *captures, uint32_t file, uint64_t off, uint32_t len,
			uint8_t *out);
/* Whether all that the recording keeps of a file is in what stands at its path now: 1, or 0 (also
 * where nothing does); -ENOENT: nothing intact is kept of it. */
int captures_file_is(const struct captures *captures, uint32_t file);

/* What cpuid tells with @leaf in eax and @subleaf in ecx, in eax, ebx, ecx and edx, on whichever
 * processor of the machine; @varies: the bits that depend on which. False: it is not told.
 * captures_has_subleaves(): whether ecx matters. */
bool captures_cpuid(const struct captures *captures, uint32_t leaf, uint32_t subleaf,
		    uint32_t out[4], uint32_t varies[4]);
bool captures_has_subleaves(uint32_t leaf);
/* What xgetbv tells of XCR0; false: it is not told. */
bool captures_xcr0(const struct captures *captures, uint64_t *out);

/* The import that the PLT stub at @addr (run-time) is of, or that the GOT slot at @addr is of;
 * NULL: there is none. */
const char *captures_stub(const struct captures *captures, uint64_t addr);
const char *captures_slot(const struct captures *captures, uint64_t addr);

int captures_iter_new(const struct captures *captures, uint32_t task, struct captures_iter **out);
void captures_iter_free(struct captures_iter *iter);
/* 1 and the next record, 0 at the end, or -errno. */
int captures_next(struct captures_iter *iter, struct capture *out);

static inline uint64_t capture_hash_step(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15;
	return h ^ h >> 29;
}

/* Of the registers that a call keeps, by number of the encoding. */
static inline uint16_t capture_hash(const uint64_t regs[16])
{
	static const uint8_t kept[] = {3, 4, 5, 12, 13, 14, 15};
	uint64_t h = 0;

	for (unsigned i = 0; i < sizeof(kept); i++)
		h = capture_hash_step(h, regs[kept[i]]);
	return (uint16_t)(h >> 48);
}

#endif
