/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* trace.h: reads what blocktrace.c wrote: the blocks of a process, each with its last instruction
 * decoded by Capstone, and the records of one thread in the order of execution. */
#ifndef ORACLE_TRACE_H
#define ORACLE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace_format.h"

#define NO_FUNC UINT32_MAX

enum last_kind {	     /* how a block ends */
		 LAST_OTHER, /* runs into the next instruction */
		 LAST_REP,   /* a rep string instruction: runs into itself or the next one */
		 LAST_JCC,   /* conditional, jrcxz and loop included */
		 LAST_JMP,
		 LAST_JMP_IND,
		 LAST_CALL,
		 LAST_CALL_IND,
		 LAST_RET,
};

struct tblock {
	uint64_t addr, end; /* of the block: [addr, end) */
	uint64_t last;	    /* address of the last instruction */
	uint64_t target;    /* of a direct jump or call */
	uint64_t slot;	    /* memory word that an indirect one reads, 0 where not static */
	const uint8_t *lens, *bytes;
	uint32_t func; /* of the last instruction: the tool's own numbering, NO_FUNC at first */
	/* Records of two blocks whose coming straight after this one needs no hook: flow.h. */
	uint32_t quiet[2];
	uint16_t n_insns;
	uint8_t kind;	 /* enum last_kind */
	bool plt;	 /* lies in a PLT section */
	bool many_funcs; /* for the tool: it runs through more than one function */
};

struct trace_blocks {
	char module[4096];
	struct tblock *at; /* by record: at[TRACE_FIRST_BLOCK] is the first */
	uint32_t n;	   /* records below this are valid */
	uint32_t n_undecoded;
	void *map;
	size_t map_bytes;
};

struct trace_thread {
	uint32_t pid, tid, parent_pid, parent_tid;
	uint64_t parent_records;
};

struct trace_part { /* one file, or the head of one that a fork went on from */
	const uint32_t *at, *end;
	const uint64_t *calls, *calls_end;
	uint32_t *predicted;
	uint32_t context, run;
	uint64_t left; /* records still to read here */
	bool cut;      /* the thread left it at a fork */
	void *map, *calls_map;
	size_t map_bytes, calls_bytes;
};

struct trace_reader {
	struct trace_part *parts; /* the oldest ancestor first, the thread itself last */
	unsigned n_parts, part;
	uint32_t n_records;
	uint64_t total; /* records returned so far */
};

/* Lists the threads in @dir by pid and tid, in @out (freed by the caller with free()). */
int trace_threads(const char *dir, struct trace_thread **out, size_t *n);
/* Reads and decodes the blocks of process @pid. */
int trace_blocks_open(const char *dir, uint32_t pid, struct trace_blocks *out);
void trace_blocks_close(struct trace_blocks *blocks);
/* Starts reading @thread; what its ancestors executed before the fork comes first. */
int trace_reader_open(const char *dir, const struct trace_thread *thread, uint32_t n_records,
		      struct trace_reader *out);
void trace_reader_close(struct trace_reader *reader);
/* Whether the next record is the thread's own, not one of its ancestors'. */
static inline bool trace_reader_own(const struct trace_reader *reader)
{
	return reader->part + 1 >= reader->n_parts;
}
/* Where the call at the end of the block just read wrote its return address. To be asked once for
 * each block that ends in one. */
uint64_t trace_reader_pushed(struct trace_reader *reader);
uint32_t trace_reader_next_word(struct trace_reader *reader);

/* The next record, or TRACE_END. */
static inline uint32_t trace_reader_next(struct trace_reader *reader)
{
	struct trace_part *p = &reader->parts[reader->part];
	uint32_t record;

	if (!p->run || !p->left)
		return trace_reader_next_word(reader);
	p->run--;
	p->left--;
	record = p->predicted[p->context];
	p->context = trace_context(p->context, record);
	reader->total++;
	return record;
}

#endif
