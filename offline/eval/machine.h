/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* machine.h: evaluates the code of one task's traced modules from a given state, up to what it
 * cannot know by itself: a system call, code outside, an unpredictable instruction, a place where
 * the owner wants to look. The owner tells what happened there and goes on.
 *
 * Values are exact, assumed or unknown by the byte (memory.h). An instruction without semantics
 * makes what it writes unknown. Two things stop with a reason because nothing behind them would
 * mean anything: a branch on an unknown value, and a store to an unknown address. */
#ifndef OFFLINE_EVAL_MACHINE_H
#define OFFLINE_EVAL_MACHINE_H

#include "offline/eval/inexact.h"
#include "offline/eval/insn/insn.h"
#include "offline/eval/memory/memory.h"
#include "offline/eval/insn/state.h"

enum value_stop {
	VALUE_STOP_LIMIT,   /* as many instructions as were asked for */
	VALUE_STOP_OUTSIDE, /* rip is in none of the code ranges */
	VALUE_STOP_SYSCALL, /* rip is behind the syscall; rcx and r11 are as it leaves them */
	VALUE_STOP_CHANCE,  /* rip is at the instruction; the owner sets its results */
	VALUE_STOP_TRAP,    /* rip is at ud2, int3, hlt or undecodable bytes */
	VALUE_STOP_FAULT,   /* rip is at an access of memory that is not mapped, or a division */
	VALUE_STOP_UNKNOWN_BRANCH, /* rip is at it, or at the write of a segment's base */
	VALUE_STOP_UNKNOWN_STORE,  /* rip is at it */
	VALUE_STOP_PLACE,	   /* rip is at an address of value_machine_place() */
	VALUE_STOP_TRACE_FULL,	   /* the owner empties the trace and goes on */
	VALUE_STOP_NO_MEMORY,
};

/* A straight piece of code: up to a jump, a call, a place, or VALUE_BLOCK_INSNS. */
enum { VALUE_BLOCK_INSNS = 64 };
struct value_block {
	uint64_t ip;
	uint64_t needs;	  /* registers read before they are written (bits of state.h) */
	uint64_t defines; /* registers written as a whole */
	uint32_t number;  /* from 0 in the order of translation */
	uint16_t n_insns;
	uint16_t n_ops;
	uint16_t n_addresses; /* what one execution adds to a trace, at most */
	uint16_t n_results;
	bool place;   /* an owner's place is at ip */
	bool seldom;  /* and it is of value_machine_seldom() */
	bool single;  /* of one instruction, made to stop anywhere */
	uint8_t side; /* enum value_side */
	bool gone;    /* is found no more; it stays for its number */
	bool made;    /* of code that may change (value_machine_made()) */
	bool string;  /* has a string instruction: its trace is longer than said above */
	struct value_insn *insns;
	struct value_op *ops;
	struct value_block *link[2]; /* where it goes on: jumps taken, or not */
	struct value_block *chain;   /* of the table of blocks */
	const uint8_t *bytes;	     /* the code, if it is made */
	struct value_block *older;   /* next in made_code.c's list of this address */
};

/* What was executed, while a trace is on. Addresses and results are those of each instruction of a
 * block in order: an address for each memory operand (insn.h; of a string instruction: destination,
 * source and count of turns), a result for each output but flags: the eight bytes of a general
 * register, the value that a memory operand has been given where it is not a plain copy of a
 * register, 32 bytes of a vector register. rsp of push, pop, call and ret is not a result. */
struct value_trace {
	uint32_t *blocks;
	uint64_t *addresses;
	uint64_t *results;
	size_t n_blocks, n_addresses, n_results;
	size_t max_blocks, max_addresses, max_results;
};

/* Room for so many, of each. False: out of memory, and there is nothing to free. */
bool value_trace_init(struct value_trace *trace, size_t blocks, size_t addresses, size_t results);
void value_trace_deinit(struct value_trace *trace);

struct value_machine;

/* Whose code it is. Only that of one side is executed at a time: control that comes to the other
 * stops as VALUE_STOP_OUTSIDE. */
enum value_side { VALUE_SIDE_TRACED, VALUE_SIDE_LIBRARY, VALUE_SIDES };

/* @memory is borrowed and must outlive the machine. NULL: no memory. */
struct value_machine *value_machine_new(struct value_memory *memory);
void value_machine_free(struct value_machine *m);

/* Code in [start, end) is evaluated; it must not change while it is registered. */
int value_machine_code(struct value_machine *m, uint64_t start, uint64_t end);
/* The same for code of libraries that are not traced; and which side is executed from now on (at
 * first the traced one). All questions about code are about that side. */
int value_machine_library(struct value_machine *m, uint64_t start, uint64_t end);
void value_machine_side(struct value_machine *m, enum value_side side);
enum value_side value_machine_side_now(const struct value_machine *m);
/* The same for code of that side which may change: what was translated is found no more when it
 * has. Instructions with bytes that are not exact are none. */
int value_machine_made(struct value_machine *m, uint64_t start, uint64_t end);
void value_machine_no_made(struct value_machine *m);
/* Forgets all ranges of libraries, those of made code too, and what was translated. */
void value_machine_no_libraries(struct value_machine *m);
/* The same of one side. */
bool value_machine_has_code(const struct value_machine *m, uint64_t addr, enum value_side side);
bool value_machine_is_code(const struct value_machine *m, uint64_t addr);
/* Takes traced code away, which is no longer mapped, and what was translated of it. */
void value_machine_no_code(struct value_machine *m, uint64_t start, uint64_t end);
/* Stop whenever rip comes to @addr. 0 or -ENOMEM. */
int value_machine_place(struct value_machine *m, uint64_t addr);
/* The same, but only while @addr is expected, or among those that value_machine_want() was told
 * last. Of no effect where it is a place already. */
int value_machine_seldom(struct value_machine *m, uint64_t addr);
enum { VALUE_WANTED = 4 };
void value_machine_want(struct value_machine *m, const uint64_t addrs[VALUE_WANTED]);
bool value_machine_stops_at(const struct value_machine *m, uint64_t addr);
/* Stop there for now, until another address is expected or none (0); but not while one of the
 * registers of the mask @known is exact and not as @regs says. 0 or -ENOMEM. */
int value_machine_expect(struct value_machine *m, uint64_t addr, const uint64_t regs[16],
			 uint16_t known);

struct value_state *value_machine_state(struct value_machine *m);
struct value_known *value_machine_known(struct value_machine *m);
struct value_memory *value_machine_memory(struct value_machine *m);

/* How many instructions were executed since the start; a rep string instruction counts as one.
 * Setting it is for an owner that goes back to a snapshot. */
uint64_t value_machine_count(const struct value_machine *m);
void value_machine_set_count(struct value_machine *m, uint64_t count);
/* How many turns of string instructions may be executed from now on, UINT64_MAX at first: one that
 * would have more faults. For an owner who executes what anybody may have written. */
uint64_t value_machine_turns(const struct value_machine *m);
void value_machine_set_turns(struct value_machine *m, uint64_t turns);
/* At most so many instructions are translated, all blocks together and whatever else asks for one;
 * one more stops as VALUE_STOP_NO_MEMORY. For the same owner. */
void value_machine_set_translated_max(struct value_machine *m, uint64_t most);
/* Whether that has refused one. */
bool value_machine_is_full(const struct value_machine *m);
/* The place at rip was met: what runs next goes on from there. After value_machine_set_count() it
 * is met once more else. */
void value_machine_met(struct value_machine *m);
/* Of them: with an output that is assumed, or unknown. */
void value_machine_inexact(const struct value_machine *m, uint64_t *assumed, uint64_t *unknown);

/* The traced instructions that were counted so since the machine was made, those executed anew
 * after a step back twice. */
const struct value_inexacts *value_machine_inexacts(const struct value_machine *m);

void value_machine_set_inexact(struct value_machine *m, uint64_t assumed, uint64_t unknown);

/* An assumed value has decided where control goes or which memory is written: what follows would be
 * another execution if the assumption is wrong. Says whether that happened since it was asked last.
 */
void value_machine_suppose(struct value_machine *m);
bool value_machine_supposed(struct value_machine *m);

/* Goes on until value_machine_count() is @until, or something else stops it. After a stop at a
 * place the next call goes on from there. @trace (NULL: none) is added to. */
enum value_stop value_machine_run(struct value_machine *m, uint64_t until,
				  struct value_trace *trace);

/* After VALUE_STOP_CHANCE: the owner has set what the instruction at rip writes; goes behind it, as
 * it does over any other that the owner executes itself.
 * 0; -EAGAIN: @trace is full; -ENOENT: there is no instruction. */
int value_machine_skip(struct value_machine *m, struct value_trace *trace);

/* At VALUE_STOP_OUTSIDE: the instruction that control left by, or NULL; the address that its memory
 * operand has (the GOT slot of a jump), 0: none. */
const struct value_insn *value_machine_left(const struct value_machine *m, uint64_t *slot);

/* Sets a general register and the quality of its bytes; and whole classes of registers. */
void value_set_gpr(struct value_machine *m, unsigned reg, uint64_t value, uint8_t quality);
void value_set_vec(struct value_machine *m, unsigned reg, const uint8_t bytes[32], uint8_t quality);
void value_forget(struct value_machine *m, uint64_t bits, uint8_t quality);
/* What is exact in the registers of @bits is assumed from now on. */
void value_doubt(struct value_machine *m, uint64_t bits);
/* What is in a general register that an instruction reads, and of which value_known.said is @said;
 * false: it stays unknown. */
typedef bool value_recall_fn(void *ctx, unsigned reg, uint64_t said, uint64_t *value);
/* Whoever has forgotten registers may be asked when one of them is read. */
void value_machine_recall(struct value_machine *m, value_recall_fn *fn, void *ctx);
/* The worst quality of the registers of @bits. */
uint8_t value_quality(const struct value_machine *m, uint64_t bits);

/* The block with that number, and the instruction at rip (translated if need be; NULL: no code). */
const struct value_block *value_machine_block(const struct value_machine *m, uint32_t number);
const struct value_insn *value_machine_insn(struct value_machine *m, uint64_t ip);

/* Whether an instruction has semantics here, without executing anything: for coverage. */
struct value_judge;
struct value_judge *value_judge_new(void);
void value_judge_free(struct value_judge *judge);
bool value_judge_insn(struct value_judge *judge, const ZydisDecodedInstruction *zi,
		      const ZydisDecodedOperand *ops, const uint8_t *bytes);

#endif
