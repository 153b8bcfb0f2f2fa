/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* machine_impl.h: what the files of the evaluator share. machine.c owns the tables; places.c says
 * where it may run and has to stop, made_code.c which code may change; lower.c turns an instruction
 * into operations; translate.c makes blocks; exec.c runs them, masked.c floating point, and
 * exec_trace.c tells of them; slow.c runs one instruction whose inputs are not all exact, worth.c
 * what that makes of each byte, and known.c keeps how well registers are known. */
#ifndef OFFLINE_EVAL_MACHINE_IMPL_H
#define OFFLINE_EVAL_MACHINE_IMPL_H

#include "offline/eval/inexact.h"
#include "offline/eval/machine.h"
#include "offline/eval/stub.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* One operation of the threaded code. Registers of general operands are byte offsets into
 * value_state.gpr (so that ah is 1), of vector operands numbers, of addresses numbers. */
struct value_op {
	const void *code[2]; /* in value_exec(), in value_exec_traced() */
	uint8_t a, b;	     /* destination, source */
	uint8_t base, index, shift;
	uint8_t log;   /* what a trace is told: enum value_log */
	uint16_t insn; /* index in its block */
	uint16_t id;   /* OP_..., while it is lowered */
	int64_t disp;
	uint64_t imm;
	uint64_t next; /* address of the next instruction; of a stub: its description */
};

/* 0: nothing; 1: all outputs, as the instruction says; else one general register, LOG_GPR + 4 times
 * its number. */
enum value_log { LOG_NOTHING, LOG_ALL, LOG_GPR = 2 };

/* What a stub operation refers to. */
struct value_stub_use {
	value_stub_fn *fn;
	uint16_t len;  /* of the memory operand, 0: none */
	uint16_t tops; /* rows of value_state.vec that it reads or writes: bits as in no_tops */
	bool load, store, mxcsr, x87, points;
	bool controls; /* x87: it saves, loads or sets the control word, and computes nothing */
	bool flushes;  /* SSE: of all that is tiny zeros, where MXCSR asks for that */
	/* AVX-512: the mask register that says which lanes of memory are touched, 0: all; how many
	 * lanes there are, and the bytes of each, 0: each is of all bytes. */
	uint8_t mask, lanes, lane;
};

/* Executes a stub of which all that is to be read is in m->state and m->buffer (masked.c). False:
 * it has no semantics with these inputs. */
bool value_run_masked(struct value_machine *m, const struct value_stub_use *use);

enum {
#define OP(name, ...) OP_##name,
#define OP_END(name, ...) OP_##name,
#include "offline/eval/ops.def"
#undef OP
#undef OP_END
	OPS,
};

/* Beside enum value_stop. */
enum { STOP_SLOW = -1, STEP_DONE = -2 };

enum { TABLE_FIRST = 14 /* bits */, JUMPS = 1 << 12, PER_INSN = 3, MADE_LISTS = 1 << 12 };
/* Of code that may change so much is translated: about 200 MB. */
enum { MADE_INSNS = 1 << 19 };
#define VALUE_PLACE_BIT ((uint64_t)1 << 63)  /* in value_block.needs */
#define VALUE_SELDOM_BIT ((uint64_t)1 << 63) /* in value_machine.places: no address has it */

struct arena_chunk;
struct code_range {
	uint64_t start, end;
	uint8_t side; /* enum value_side */
	bool made;
};

struct value_machine {
	struct value_state state; /* first: the hot part */
	struct value_known known;
	struct value_memory *memory;
	bool loose;	  /* slow.c is at work: bytes are used whatever their quality */
	bool supposed;	  /* value_machine_supposed() */
	bool guessing;	  /* what is loaded does not matter: the result is unknown anyway */
	uint64_t resumed; /* address of the place that was reported last and not left yet */
	uint64_t count;
	uint64_t turns;		       /* value_machine_turns() */
	uint64_t translatable;	       /* instructions that may be translated yet */
	bool full;		       /* value_machine_is_full() */
	const struct value_insn *left; /* value_machine_left() */
	uint8_t side;		       /* enum value_side: whose code is executed now */
	struct value_block **jumps;    /* those of this side */
	struct value_block *jump_tables[VALUE_SIDES][JUMPS];
	struct value_block **table; /* by ip, of 1 << table_bits lists, no fewer than live blocks */
	unsigned table_bits;
	struct value_block **blocks; /* by number */
	uint32_t n_blocks, room_blocks;
	uint32_t *live; /* numbers of those that are not gone, room_blocks of them */
	uint32_t n_live;
	struct code_range *code;
	size_t n_code;
	uint64_t made_changes;	   /* value_memory.changes up to which made code was looked at */
	bool unwatched;		   /* for one instruction nothing is watched: its blocks go */
	uint32_t n_made_live;	   /* blocks of it that are found */
	uint32_t makeable;	   /* instructions of it that may be translated yet */
	struct value_block **made; /* by ip, of MADE_LISTS lists; NULL: there is none */
	uint64_t *places;	   /* a hash set, with VALUE_SELDOM_BIT; 0: free */
	size_t n_places, room_places;
	uint64_t wanted[VALUE_WANTED]; /* of the seldom ones; 0: none */
	uint64_t expected;	       /* one of them, of value_machine_expect(); 0: none */
	bool expected_place;	       /* it is one for that reason alone */
	bool expects;		       /* and it is expected now */
	uint64_t expected_regs[16];
	uint16_t expected_known;
	uint8_t differed; /* the register that was another one the last time */
	struct value_stubs *stubs;
	ZydisDecoder decoder;
	const void *const *labels[2];
	struct arena_chunk *arena;
	uint64_t assumed, unknown;	/* instructions with such an output */
	struct value_inexacts inexacts; /* those of the traced side */
	uint64_t sayings;		/* value_known.said */
	value_recall_fn *recall;	/* value_machine_recall() */
	void *recall_ctx;
	uint8_t bounce[16];
	uint64_t bounced; /* guest address whose bytes are in bounce; 0: none */
	uint8_t bounced_len;
	uint8_t buffer[VALUE_STUB_BUFFER] __attribute__((aligned(64)));
};

static inline struct value_block **value_table_slot(const struct value_machine *m, uint64_t ip)
{
	return &m->table[ip * 0x9e3779b97f4a7c15 >> (64 - m->table_bits)];
}

/* Puts @b, which is in the list of live blocks, where it is found. */
static inline void value_put_block(struct value_machine *m, struct value_block *b)
{
	struct value_block **slot = value_table_slot(m, b->ip);
	b->chain = *slot;
	*slot = b;
}

/* The block at @ip, translated if need be; @single: of one instruction. NULL: @ip is no code, or
 * memory is out (@*no_memory). */
struct value_block *value_translate(struct value_machine *m, uint64_t ip, bool single,
				    bool *no_memory);
/* What was translated of code that has changed since is found no more (made_code.c). */
void value_made_look_again(struct value_machine *m);
static inline void value_made_sync(struct value_machine *m)
{
	if (unlikely(m->memory && m->made_changes != m->memory->changes))
		value_made_look_again(m);
}
/* The block of code that may change at @ip which was translated before and whose bytes are there
 * again, and which is found from now on; NULL: there is none. */
struct value_block *value_made_again(struct value_machine *m, uint64_t ip, bool single);
/* Whether the code at @ip may change while others are awake, who may make it writable and write to
 * it at any time. */
bool value_made_is_crowded(const struct value_machine *m, uint64_t ip);
/* Whether no more of the code at @ip, which may change, is to be translated. */
bool value_made_is_full(const struct value_machine *m, uint64_t ip);
/* If @b, which was just translated, is of code that may change, that is watched from now on. False:
 * memory is out. */
bool value_made_keep(struct value_machine *m, struct value_block *b);
/* Takes blocks out for which @which says so; those stay where they are, for their numbers. */
typedef bool value_block_fn(const struct value_block *b, uint64_t of);
void value_take_out(struct value_machine *m, value_block_fn *which, uint64_t of);
/* From the machine's arena; NULL: no memory. */
void *value_arena(struct value_machine *m, size_t size);
void value_arena_free(struct value_machine *m);
bool value_is_place(const struct value_machine *m, uint64_t addr);
bool value_is_seldom(const struct value_machine *m, uint64_t addr);
/* Whether the machine stops at the place that @b begins with. */
static inline bool value_stops_before(const struct value_machine *m, const struct value_block *b)
{
	if (!b->seldom || (m->expects && b->ip == m->expected))
		return true;
	for (unsigned i = 0; i < VALUE_WANTED; i++)
		if (b->ip == m->wanted[i])
			return true;
	return false;
}
/* What was expected last is no place any more. */
void value_expect_nothing(struct value_machine *m);

/* Appends the operations of an instruction to @ops (at most PER_INSN) and returns how many; 0: no
 * semantics. @quiet: nobody reads the flags that it writes. */
unsigned value_lower(struct value_machine *m, const ZydisDecodedInstruction *zi,
		     const ZydisDecodedOperand *ops, const uint8_t *bytes,
		     const struct value_insn *insn, bool quiet, struct value_op *out);

/* Runs from rip. Returns why it stopped; STOP_SLOW: the instruction at rip has inputs that are not
 * exact (or no semantics, or faults): value_step_slow() is next. */
int value_exec(struct value_machine *m, uint64_t until, struct value_trace *trace);
/* Runs the single-instruction block @b in whatever mode; the same results. */
int value_exec_single(struct value_machine *m, struct value_block *b, struct value_trace *trace);
/* Appends the results of @insn, which was just executed, to @trace. */
void value_trace_results(struct value_machine *m, struct value_trace *trace,
			 const struct value_insn *insn);
/* Appends an instruction that the threaded code has not executed, as a block of its own: the places
 * as the registers are now. NULL is no trace. */
void value_trace_insn(struct value_machine *m, struct value_trace *trace,
		      const struct value_block *single);
/* How long @trace was before its last block. */
struct value_trace_mark {
	size_t n_blocks, n_addresses, n_results;
};
/* Of the last block, @b, only the first @n instructions were executed: they are blocks of their own
 * in @trace. Returns 0, or -1: memory is out. */
int value_trace_cut(struct value_machine *m, struct value_trace *trace, const struct value_block *b,
		    unsigned n, const struct value_trace_mark *mark);
const void *const *value_exec_labels(bool traced);

/* One instruction; an enum value_stop, or STEP_DONE. */
int value_step_slow(struct value_machine *m, struct value_trace *trace);

#endif
