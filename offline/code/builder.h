/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builder.h: what the passes over one module share while its model is made. The builder owns its
 * arrays; model.c takes over those that the model keeps. Every pass returns 0 or -ENOMEM.
 *
 *   sweep -> undescribed_code -> func_parts -> cfg -> noreturn -> jumptable, known_callees
 *                                    ^------ a table showed a cold part -----+-> cfg -> noreturn
 *                                                                               -> stack_height
 *
 * Places in code are instruction indices wherever they can be: the rank of the instruction's start
 * in `starts`. */
#ifndef OFFLINE_BUILDER_H
#define OFFLINE_BUILDER_H

#include "offline/base/addr_index.h"
#include "offline/base/vec.h"
#include "offline/code/decode.h"
#include "offline/elf/elf_image.h"

enum build_part_flag {
	PART_FRAGMENT = 1, /* a cold part: not entered by calls, belongs to another's function */
	PART_CALLED = 2,   /* something calls its start, by address or by name */
	PART_SPLIT = 4,	   /* begins inside an FDE */
	PART_SIGNAL = 8,
	PART_TABLE = 16, /* a jump table leads here from another part */
};

/* A range of code that belongs to one function: an FDE, or what was found where there is none. */
struct build_part {
	uint64_t addr, end;
	uint32_t fde;  /* index of the FDE, or PUGMARK_NONE */
	uint32_t set;  /* union-find: the parent part */
	uint32_t func; /* once functions are known */
	uint8_t flags; /* enum build_part_flag */
};

/* A direct call or jump to an instruction; both are indices. */
struct transfer {
	uint32_t insn, target;
};

/* A jump from one part into another, by an instruction or by a table. */
struct cross_jump {
	uint32_t from, to; /* parts */
	uint64_t target;
	uint64_t site; /* address of the jump */
};

enum table_grade {
	/* all targets are known: the bound is exact, and every entry up to it was read */
	TABLE_PROVEN,
	/* No other targets: the index's width is the bound, and every entry up to it was read. The
	 * table may end before. */
	TABLE_CONTAINED,
	/* the end is not proven: the natural one, or by a bound that is not exact */
	TABLE_NATURAL,
	TABLE_OPEN, /* the targets, if any, are guesses */
	TABLE_TAIL, /* not a table: an indirect tail call */
};

/* What is known of one indirect jump. */
struct jump_table {
	uint32_t insn;		    /* the jump */
	uint32_t target, n_targets; /* in table_targets: addresses */
	uint8_t grade;		    /* enum table_grade */
	bool leaves;		    /* some entries are other functions' starts */
	bool settled;		    /* proven: it stays so, whatever the functions turn out to be */
	bool stale; /* found in an earlier round; in this one nothing is known yet */
};

/* A call or jump by a pointer that goes to one place: a function, a PLT stub, or what is in a GOT
 * slot. */
struct known_callee {
	uint32_t insn;
	uint64_t addr;
};

/* The CFG of one function, indices local to it. */
struct cfg {
	VEC(struct pugmark_block) blocks;
	VEC(struct pugmark_edge) edges;
	VEC(struct pugmark_site) sites;
	VEC(uint32_t) stack; /* scratch of the search */
};

struct builder {
	struct elf_image *image;
	struct decoder decoder;
	const struct elf_code *codes;
	uint32_t n_codes;
	uint32_t main_code; /* the largest of them, where most lookups end */
	uint64_t text_addr, text_end;
	const struct pugmark_import *imports;
	uint32_t n_imports;

	VEC(struct pugmark_insn) insns; /* by address */
	struct rankmap starts;		/* of instructions; bit = address - text_addr */
	struct rankmap leaders;		/* of blocks; bits only */
	struct rankmap taken;		/* addresses in code that code or data holds; bits only */
	struct rankmap noreturn;	/* starts of functions that never return; bits only */
	struct rankmap returns_twice;	/* starts of setjmp and its like; bits only */

	VEC(uint64_t) data_refs;	  /* data that instructions name; sorted by jumptable.c */
	VEC(struct elf_cfa_row) rows;	  /* by address */
	struct addr_index row_index;	  /* of rows, once all FDEs were read */
	VEC(struct transfer) transfers;	  /* all of them, by address */
	VEC(uint64_t) undescribed_starts; /* starts of functions without an FDE, by address */
	VEC(uint64_t) split_starts;	  /* starts of functions inside an FDE, by address */
	VEC(struct build_part) parts;	  /* by address */
	struct addr_index part_index;	  /* of parts */
	VEC(struct cross_jump) crossings;
	VEC(struct cross_jump) table_crossings;
	VEC(struct pugmark_func) funcs; /* by address */
	struct addr_index func_index;	/* of funcs */
	VEC(uint32_t) func_parts;	/* parts grouped by function, the entry's first */
	VEC(struct jump_table) tables;	/* in the order in which they were found */
	uint32_t *table_of_insn;	/* index into tables plus one; 0: none */
	VEC(uint64_t) table_targets;
	VEC(struct known_callee) known_callees; /* by instruction */

	bool tables_known;   /* jumptable_resolve() has run */
	bool has_loose_ends; /* jumps into the middle of other functions are left */

	uint32_t *block_of_insn; /* scratch: block, local to the function, that starts there */
	VEC(struct pugmark_block) blocks;
	VEC(struct pugmark_edge) edges;
	VEC(struct pugmark_site) sites;
};

static inline bool in_text(const struct builder *b, uint64_t addr)
{
	return addr >= b->text_addr && addr < b->text_end;
}

static inline bool is_insn_start(const struct builder *b, uint64_t addr)
{
	return in_text(b, addr) && rankmap_has(&b->starts, addr - b->text_addr);
}

/* The index of the first instruction at or after @addr. */
static inline uint32_t insn_at(const struct builder *b, uint64_t addr)
{
	return rankmap_index(&b->starts, addr < b->text_addr  ? 0
					 : addr > b->text_end ? b->text_end - b->text_addr
							      : addr - b->text_addr);
}

static inline uint64_t insn_addr(const struct builder *b, uint32_t insn)
{
	return b->text_addr + b->insns.at[insn].off;
}

/* builder.c: lookups that several passes share. */

/* The executable section that holds @addr, or NULL. */
const struct elf_code *builder_code_at(const struct builder *b, uint64_t addr);
/* The bytes of the instruction @insn. */
const uint8_t *builder_insn_bytes(const struct builder *b, uint32_t insn);
/* Whether the indirect jump @insn is a call: right before it a word is pushed, and right behind it
 * lies a place whose address code holds, and no data, which may be a jump table. That place is
 * where the word makes what is jumped to return: so contexts begin (`push %rbp; jmp *%rbx`). Only
 * in code that no FDE describes: compilers push before a jump that goes by a table. */
bool builder_jump_calls(const struct builder *b, uint32_t insn);
/* Whether the instruction at @addr calls the register *@reg by a retpoline that stands in the same
 * function (decode_calls_register()). */
bool builder_calls_register(const struct builder *b, uint64_t addr, uint8_t *reg);
/* Whether @addr, a function, a PLT stub or a GOT slot, is of what never returns, returns twice or
 * switches stacks: enum pugmark_site_flag. */
uint8_t builder_flags_of(const struct builder *b, uint64_t addr);
/* Of a call or jump by a pointer whose place is known (known_callees.h): these flags; the import;
 * the function of this module, or PUGMARK_NONE. */
uint8_t builder_known_flags(const struct builder *b, uint32_t insn);
uint32_t builder_known_import(const struct builder *b, uint32_t insn);
uint32_t builder_known_func(const struct builder *b, uint32_t insn);
/* Where a direct call or jump goes. */
uint64_t builder_insn_target(const struct builder *b, uint32_t insn);
/* The part that holds @addr, or PUGMARK_NONE. */
uint32_t builder_part_at(const struct builder *b, uint64_t addr);
/* The function that starts at @addr, or PUGMARK_NONE. */
uint32_t builder_func_starting(const struct builder *b, uint64_t addr);
/* The function of the part that ends right before @addr, or PUGMARK_NONE. */
uint32_t builder_func_ending(const struct builder *b, uint64_t addr);
struct pugmark_cfa builder_cfa_at(const struct builder *b, uint64_t addr);
static inline bool cfa_is_entry(struct pugmark_cfa cfa)
{
	return cfa.reg == PUGMARK_CFA_SP && cfa.offset == 8;
}
/* Sorts addresses and drops duplicates; returns how many are left. */
uint32_t sort_unique(uint64_t *at, uint32_t n);
/* Marks the blocks of one function that nothing leads to. Edges name them from @base on; @stack has
 * room for all of them. */
void builder_mark_reached(struct pugmark_block *blocks, uint32_t n_blocks,
			  const struct pugmark_edge *edges, uint32_t base, uint32_t *stack);
/* The row of the indirect jump @insn, or NULL before it was looked at. */
const struct jump_table *builder_table_of(const struct builder *b, uint32_t insn);
void builder_deinit(struct builder *b);
/* Where the code of an FDE starts: a signal trampoline's FDE may start a byte early. */
uint64_t builder_fde_start(const struct builder *b, const struct elf_fde *fde);

/* The passes. */

/* sweep.c: decodes every FDE from end to end; fills insns, starts, rows, taken, data_refs. */
int sweep_code(struct builder *b);
/* thunk_rows.c: corrects CFA rows that begin within a retpoline; once those of FDEs are there. */
int thunk_rows_correct(struct builder *b);
/* Notes the addresses that an instruction names. */
int sweep_note_refs(struct builder *b, const struct decoded_refs *refs);
/* Adds instructions, in any order, of which none is there yet and no two are at one place. */
int sweep_merge(struct builder *b, const struct pugmark_insn *more, uint32_t n_more);
/* Finds the direct calls and jumps, and marks where those lead that end blocks; once all
 * instructions are known. */
int sweep_transfers(struct builder *b);
/* Refuses probes on what instructions there are in part of [addr, addr + len). */
void sweep_refuse(struct builder *b, uint64_t addr, uint32_t len);
/* Refuses probes on instructions that relocations fill in when the file is loaded: the kernel takes
 * what it executes in place of one from the file. Once all instructions are known. */
void sweep_refuse_patched(struct builder *b);
/* undescribed_code.c: finds and decodes code without an FDE; fills undescribed_starts, adds to
 * insns and starts. */
int undescribed_find(struct builder *b);
/* Whether the bytes at @addr are those that an assembler fills up with. */
bool builder_is_padding(const struct builder *b, uint64_t addr);
/* func_parts.c: parts and functions, from scratch each time. */
int func_parts_find(struct builder *b);
/* cfg.c: the CFG of one function; all of them, into blocks, edges and sites. */
int cfg_build(struct builder *b, uint32_t func, struct cfg *flow);
void cfg_deinit(struct cfg *flow);
int cfg_build_all(struct builder *b);
/* noreturn.c: the calls that never return; then cuts what follows them from the blocks. */
/* Marks this module's own longjmp and setjmp, whose code does not show what they do. */
void noreturn_seed(struct builder *b);
int noreturn_solve(struct builder *b);
/* jumptable.c: resolves the indirect jumps that are not settled. *crossed tells that
 * table_crossings grew, *changed that blocks and edges are not up to date any more. @backslice: all
 * zeroes the first time; backslice_deinit() after the last. */
struct backslice;
int jumptable_resolve(struct builder *b, struct backslice *backslice, bool *crossed, bool *changed);
/* stale_rows.c: corrects CFA rows that are of the code before. */
int stale_rows_correct(struct builder *b);
/* stack_height.c: stack heights of the sites, and CFA rows where there is no FDE. */
int stack_height_solve(struct builder *b);

#endif
