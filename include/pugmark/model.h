/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* model.h: the static model of one ELF module: functions, blocks, edges, call sites, and what a
 * probe on each instruction costs. Everything is arrays and indices: a func, block, site or import
 * is named by its index, PUGMARK_NONE stands for "none". The model owns every array and string in
 * it; all are borrowed until pugmark_model_free(). Nothing in it changes once it is opened.
 *
 *   functions --block, n_blocks--> blocks --insn, n_insns--> insns
 *       |                            |----edge, n_edges---> edges --to--> blocks
 *       |--site, n_sites--> sites <--site--|
 *       `--part, n_parts--> parts (address ranges; the first holds the entry)
 *
 * A block ends after every call, so a block holds at most one call site, and that is its last
 * instruction. All addresses are ELF virtual addresses. */
#ifndef PUGMARK_MODEL_H
#define PUGMARK_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pugmark/diag.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PUGMARK_NONE UINT32_MAX
#define PUGMARK_HEIGHT_UNKNOWN INT32_MIN

/* What the kernel does with a breakpoint on an instruction; see docs/model.md for the costs. */
enum pugmark_probe_class {
	PUGMARK_PROBE_EMULATED, /* call rel32, jmp rel, jcc, push r64, most nops: cheap */
	PUGMARK_PROBE_NOP5,	/* any 5-byte nop: never probed (the optimised path corrupts the
				   program) */
	PUGMARK_PROBE_STEPPED,	/* single-stepped out of line: about ten times dearer */
	PUGMARK_PROBE_REFUSED,	/* the kernel refuses it, or it would be unsafe */
};

enum pugmark_insn_kind {
	PUGMARK_INSN_OTHER,
	PUGMARK_INSN_CALL,     /* call rel32 */
	PUGMARK_INSN_CALL_IND, /* call reg or memory */
	PUGMARK_INSN_JMP,      /* jmp rel8/32 */
	PUGMARK_INSN_JMP_IND,  /* jmp reg or memory */
	PUGMARK_INSN_JCC,      /* conditional jump on the flags */
	PUGMARK_INSN_JCXZ, /* jrcxz, loop, loope, loopne: conditional, but not on the flags alone */
	PUGMARK_INSN_RET,
	PUGMARK_INSN_TRAP, /* ud2, hlt, int3: does not go on */
	PUGMARK_INSN_XBEGIN,
};

struct pugmark_insn {
	uint32_t off; /* address minus model->text_addr */
	uint8_t len;
	uint8_t kind;  /* enum pugmark_insn_kind */
	uint8_t probe; /* enum pugmark_probe_class */
	uint8_t cond;  /* PUGMARK_INSN_JCC: the x86 condition code, 0 (O) to 15 (NLE) */
};

enum pugmark_block_end {
	PUGMARK_END_FALL,  /* runs into the next block */
	PUGMARK_END_JMP,   /* direct jump inside the function */
	PUGMARK_END_JCC,   /* two ways: edges PUGMARK_EDGE_TAKEN and PUGMARK_EDGE_FALL; a way that
		      leaves the function is a   conditional tail jump: then site is set and that edge
		      missing (PUGMARK_SITE_FALLS tells   which; PUGMARK_BLOCK_TWO_SITES: both) */
	PUGMARK_END_TABLE, /* indirect jump with known targets */
	PUGMARK_END_OPEN,  /* indirect jump whose targets are not known (edges: those guessed, if
			      any) */
	PUGMARK_END_CALL,  /* call that may return: PUGMARK_EDGE_RETURN, and PUGMARK_EDGE_UNWIND to
			      its landing pads */
	PUGMARK_END_TAIL,  /* jump to another function: site is set */
	PUGMARK_END_RET,
	PUGMARK_END_NORETURN, /* call that never returns: only PUGMARK_EDGE_UNWIND, if any */
	PUGMARK_END_TRAP,
	PUGMARK_END_STRAY, /* runs out of the function or into bytes that do not decode */
};

enum pugmark_block_flag {
	PUGMARK_BLOCK_LANDING_PAD = 1, /* entered by the unwinder */
	PUGMARK_BLOCK_SETJMP_RETURN =
		2, /* the return point of a setjmp-like call, or one that switches */
	PUGMARK_BLOCK_ADDRESS_TAKEN =
		4,		     /* its address is data: a label of a computed goto, for one */
	PUGMARK_BLOCK_UNREACHED = 8, /* no edge from the entry or from a landing pad leads here */
	PUGMARK_BLOCK_TABLE_NATURAL =
		16, /* PUGMARK_END_TABLE graded "natural only": it may go elsewhere as well */
	PUGMARK_BLOCK_TWO_SITES = 32, /* PUGMARK_END_JCC: site + 1 is where it goes if not taken */
};

struct pugmark_block {
	uint64_t addr;
	uint32_t size; /* bytes */
	uint32_t func;
	uint32_t insn, n_insns;
	uint32_t edge, n_edges;
	uint32_t site; /* the call or tail jump that ends the block, or PUGMARK_NONE */
	uint8_t end;   /* enum pugmark_block_end */
	uint8_t flags; /* enum pugmark_block_flag */
};

enum pugmark_edge_kind {
	PUGMARK_EDGE_FALL,
	PUGMARK_EDGE_TAKEN,
	PUGMARK_EDGE_JUMP,
	PUGMARK_EDGE_TABLE,
	PUGMARK_EDGE_RETURN, /* from a call to what follows it */
	PUGMARK_EDGE_UNWIND, /* from a call to its landing pad */
};

/* A module has millions of them. */
struct pugmark_edge {
	uint32_t to : 29;  /* block, always of the same function */
	uint32_t kind : 3; /* enum pugmark_edge_kind */
};

enum pugmark_site_kind {
	PUGMARK_SITE_CALL,
	PUGMARK_SITE_TAIL, /* jmp or jcc to another function, at the frame's own height */
};

enum pugmark_site_via {
	PUGMARK_VIA_DIRECT, /* target is set, or NONE where the bytes at target_addr are no known
			     * function
			     */
	PUGMARK_VIA_IMPORT, /* through a PLT stub or straight through the GOT: import is set; target
		       as well where the module itself defines that symbol (it may still be
		       interposed) */
	PUGMARK_VIA_INDIRECT, /* through a register or memory */
};

enum pugmark_site_flag {
	PUGMARK_SITE_NORETURN = 1,
	PUGMARK_SITE_RETURNS_TWICE = 2, /* setjmp, vfork and their like */
	PUGMARK_SITE_CONDITIONAL = 4, /* a jump that leaves the function, or stays in it: a jcc, or
				 an indirect jump of which some targets only are other functions */
	PUGMARK_SITE_FALLS =
		8, /* PUGMARK_SITE_TAIL that is no jump: the code runs into the next function */
	PUGMARK_SITE_SWITCHES =
		16, /* swapcontext and its like, or a function with PUGMARK_FUNC_SWITCHES: the
	       thread may go on on another stack, and come back to this one later */
};

struct pugmark_site {
	uint64_t addr;	      /* of the call or jump instruction */
	uint64_t return_addr; /* of the instruction after it */
	uint64_t target_addr; /* PUGMARK_VIA_DIRECT: where it goes; else 0 */
	uint32_t func;	      /* the caller */
	uint32_t block;
	uint32_t target; /* the callee, or PUGMARK_NONE */
	uint32_t import; /* index of the import, or PUGMARK_NONE */
	int32_t height; /* bytes: this function's CFA minus sp just before the instruction, which is
			   the callee's CFA for a call; PUGMARK_HEIGHT_UNKNOWN where not static.
			   PUGMARK_SITE_TAIL at its frame's own height: 8 */
	uint8_t kind;	/* enum pugmark_site_kind */
	uint8_t via;	/* enum pugmark_site_via */
	uint8_t flags;	/* enum pugmark_site_flag */
};

enum pugmark_func_flag {
	PUGMARK_FUNC_ADDRESS_TAKEN =
		1, /* an indirect call of this or another module may reach it: relocations,
		      lea and immediates, data words, entry point, init and fini arrays */
	PUGMARK_FUNC_EXPORTED = 2, /* in .dynsym: another module may call it by name */
	PUGMARK_FUNC_NORETURN = 4,
	PUGMARK_FUNC_OPEN_JUMP = 8,	 /* holds an PUGMARK_END_OPEN block */
	PUGMARK_FUNC_NO_CFI = 16,	 /* no FDE: found by symbol, entry point or a direct call */
	PUGMARK_FUNC_IFUNC = 32,	 /* an IFUNC resolver */
	PUGMARK_FUNC_OPAQUE = 64,	 /* could not be modelled (does not decode): no blocks */
	PUGMARK_FUNC_SIGNAL_FRAME = 128, /* a signal trampoline: augmentation 'S' */
	PUGMARK_FUNC_SWITCHES = 256, /* sets the stack pointer to what is not of its own frame */
	PUGMARK_FUNC_MAYBE_TAKEN =
		512, /* not PUGMARK_FUNC_ADDRESS_TAKEN, but an indirect call may reach it: a word
			of data that is not aligned, or an offset in data, leads to its entry */
	PUGMARK_FUNC_UNCALLED = 1024, /* nothing is known to lead to it: it is never entered, or in
					 a way that is not seen */
};

struct pugmark_func {
	uint64_t addr;	  /* the entry */
	uint64_t size;	  /* bytes, all parts */
	const char *name; /* as in the symbol table, or sub_<hex> */
	uint32_t part, n_parts;
	uint32_t block, n_blocks; /* the entry's block first */
	uint32_t site, n_sites;	  /* by address within a part */
	uint32_t flags;		  /* enum pugmark_func_flag */
	uint32_t personality; /* the function that the unwinder asks whether to land in a frame of
				 this one, or PUGMARK_NONE: none of this module */
};

struct pugmark_part {
	uint64_t addr, end;
	uint32_t func;
	bool cold;
};

struct pugmark_import {
	const char *name;    /* without version, "" where unknown */
	uint64_t plt_addr;   /* its PLT stub, or 0 */
	uint64_t got_addr;   /* its GOT slot, or 0 */
	uint32_t local_func; /* the function of this module that defines the same symbol, or NONE */
	uint8_t flags;	     /* enum pugmark_site_flag: NORETURN, RETURNS_TWICE, SWITCHES */
	bool ifunc;	     /* an IFUNC of this module: what its resolver chooses is in here too */
};

/* How the canonical frame address is computed at one instruction, from .eh_frame. */
enum pugmark_cfa_reg { PUGMARK_CFA_UNKNOWN, PUGMARK_CFA_SP, PUGMARK_CFA_BP };

struct pugmark_cfa {
	uint8_t reg;	/* enum pugmark_cfa_reg */
	uint8_t bp;	/* where the caller's bp is: PUGMARK_BP_KEPT, n: at CFA - 8 n, or UNKNOWN */
	int32_t offset; /* CFA = reg + offset, in bytes */
};
#define PUGMARK_BP_KEPT 0 /* still in bp */
#define PUGMARK_BP_UNKNOWN 255

struct pugmark_range {
	uint64_t addr, end; /* ELF addresses */
};

struct pugmark_model {
	const char *path;
	uint8_t build_id[32];
	uint32_t build_id_len;	      /* bytes, 0 where the file has none */
	uint64_t text_addr, text_end; /* span of all executable sections */
	bool pie;		      /* ET_DYN */
	uint64_t entry;		      /* e_entry, 0 for a library */

	const struct pugmark_insn *insns;
	const struct pugmark_block *blocks;
	const struct pugmark_edge *edges;
	const struct pugmark_site *sites;
	const struct pugmark_func *funcs; /* by entry address */
	const struct pugmark_part *parts; /* grouped by function */
	const struct pugmark_import *imports;
	uint32_t n_insns, n_blocks, n_edges, n_sites, n_funcs, n_parts, n_imports;

	/* What is in no function, and may be code all the same: nothing that is read leads there.
	 * By address. */
	const struct pugmark_range *unknown;
	uint32_t n_unknown;
};

/* Opens @path and computes its model.
 * Returns 0 and a model that the caller frees with pugmark_model_free(), or -errno with @diag
 * filled (-ENOEXEC: not a 64-bit x86 ELF file; -EBADMSG: damaged). */
int pugmark_model_open(const char *path, struct pugmark_model **out, struct pugmark_diag *diag);
void pugmark_model_free(struct pugmark_model *model);

/* The function whose parts hold @addr, or PUGMARK_NONE. O(log n). */
uint32_t pugmark_model_func_at(const struct pugmark_model *model, uint64_t addr);
/* The block that holds @addr, or PUGMARK_NONE. O(log n). */
uint32_t pugmark_model_block_at(const struct pugmark_model *model, uint64_t addr);
/* The function called @name (linker or demangled name, or sub_<hex>), or PUGMARK_NONE. */
uint32_t pugmark_model_func_named(const struct pugmark_model *model, const char *name);
/* @name demangled, in a string the caller frees; a copy of @name where it is not mangled. */
char *pugmark_demangle(const char *name);
/* The CFA rule just before the instruction at @addr executes. */
struct pugmark_cfa pugmark_model_cfa_at(const struct pugmark_model *model, uint64_t addr);
/* The same, and in *@end how far from @addr on it holds; up to 1 byte where nothing is known. */
struct pugmark_cfa pugmark_model_cfa_from(const struct pugmark_model *model, uint64_t addr,
					  uint64_t *end);
/* The file offset of @addr, or UINT64_MAX where no loaded segment holds it. */
uint64_t pugmark_model_file_offset(const struct pugmark_model *model, uint64_t addr);
/* The bytes at @addr in the file, and how many follow it in that segment; NULL where none. */
const uint8_t *pugmark_model_bytes(const struct pugmark_model *model, uint64_t addr,
				   size_t *len_bytes);

#ifdef __cplusplus
}
#endif

#endif
