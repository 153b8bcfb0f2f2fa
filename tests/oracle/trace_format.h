/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* trace_format.h: the files that the QEMU plugin (blocktrace.c) writes and the oracle's tools read.
 *
 *   DIR/PID.TID.trace   struct trace_header, then u32 words, 0 = end of trace
 *   DIR/PID.TID.calls   u64 each: where a call of the module wrote its return address; in the order
 *                       of those blocks in the trace that end in a call
 *   DIR/PID.blocks      struct blocks_header, then one block after the other:
 *                       struct block_record, u8 len[n_insns], u8 bytes[size]
 *
 * The trace is a sequence of records. A record from TRACE_FIRST_BLOCK on is a block: its number in
 * PID.blocks plus TRACE_FIRST_BLOCK; the smaller ones are marks. Both sides keep a table that says
 * what came last after each record (and one more for "after it and TRACE_OUTSIDE"); a word with
 * TRACE_RUN set stands for that many records in a row which this table predicted, every other word
 * is a record that it did not. trace_context() is the index into that table.
 *
 * All addresses are ELF virtual addresses of the chosen module. */
#ifndef ORACLE_TRACE_FORMAT_H
#define ORACLE_TRACE_FORMAT_H

#include <stdint.h>

#define TRACE_MAGIC 0x31636172746d6770ull  /* "pgmtrac1" */
#define BLOCKS_MAGIC 0x316b636c626d6770ull /* "pgmblck1" */

enum trace_mark {
	TRACE_END = 0,	     /* the file is longer than the trace: what follows was never written */
	TRACE_OUTSIDE = 1,   /* at least one block outside the module ran here */
	TRACE_SIGNAL = 2,    /* the next block is the first of a registered signal handler */
	TRACE_SIGRETURN = 3, /* rt_sigreturn: the interrupted code goes on */
	/* The next block was jumped to from outside the module, by code that has as many calls open
	 * as when the module was left: what it pops is a return address of the module's own call.
	 */
	TRACE_JUMPED = 4,
	TRACE_FIRST_BLOCK = 8,
};

#define TRACE_RUN 0x80000000u

/* Where the successor of @record is remembered, @context being the same for the record before. */
static inline uint32_t trace_context(uint32_t context, uint32_t record)
{
	return record == TRACE_OUTSIDE ? context | 1 : record * 2;
}

struct trace_header {
	uint64_t magic;
	uint32_t pid, tid;
	/* A thread that fork() made: the first @parent_records of that trace came before. */
	uint32_t parent_pid, parent_tid; /* 0: a thread of its own */
	uint64_t parent_records;
	uint64_t base; /* load base: run-time address minus ELF address */
	char pad[24];
};

struct blocks_header {
	uint64_t magic;
	char module[4096]; /* path of the module's file, NUL-terminated */
};

struct block_record {
	uint64_t addr;
	uint16_t size;	  /* bytes */
	uint16_t n_insns; /* at least 1 */
	uint32_t pad;
};

_Static_assert(sizeof(struct trace_header) == 64, "the tools read it as it is");
_Static_assert(sizeof(struct block_record) == 16, "the tools read it as it is");

#endif
