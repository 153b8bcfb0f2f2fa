/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* program.h: what the grammar is written over. A program is functions, blocks and calls, free of
 * machine code: it comes from the model of a binary (program_from_model) or from a generator of
 * random programs in the tests. Frequencies and probe costs are part of it, so that the choice of
 * witnesses is a function of the program alone.
 *
 * A function's first block is its entry. A block holds at most one call, at its end. Where the
 * model has a jcc or a jump table that leaves the function, the program has a block of its own for
 * that tail call, without instructions ("virtual"), so that every way out is a block. */
#ifndef OFFLINE_PROGRAM_H
#define OFFLINE_PROGRAM_H

#include <pugmark/plan.h>

#include <math.h>

enum prog_call {
	CALL_NONE,
	CALL_DIRECT,  /* callee is set */
	CALL_UNKNOWN, /* indirect, or into another module that may call back: silent, or into any
			 function with PROG_ENTRY_WITNESS */
	CALL_LEAF,    /* leaves the module and does not come back into it before it returns */
};

enum prog_block_flag {
	PROG_RET = 1,	     /* ends with a return */
	PROG_TAIL = 2,	     /* its call is a tail jump: the function's frame is gone */
	PROG_NORETURN = 4,   /* its call never returns */
	PROG_BRANCH = 8,     /* ends with a jcc: succ[0] if it falls through, succ[1] if taken */
	PROG_ROOT = 16,	     /* also entered by unwinding: landing pad or second return of setjmp */
	PROG_VIRTUAL = 32,   /* has no instruction of its own */
	PROG_OPEN = 64,	     /* ends with an indirect jump whose target is read, not known */
	PROG_REACHED = 128,  /* on a path from the entry or from a root */
	PROG_TABLE = 512,    /* ends with an indirect jump whose targets are known */
	PROG_INDIRECT = 256, /* its call is through a register or memory, not an import */
	PROG_FORKS = 1024, /* its call returns in a child process as well, or runs another program,
			      or is made under a frame larger than the stack that is copied: it has
			      to show that it was reached */
	PROG_READ = 2048,  /* values are read where it begins: at `any`, where they still are */
	PROG_READ_CALL = 4096, /* values are read at its call; or the time, at its return */
	PROG_TO_OPAQUE = 8192, /* CALL_UNKNOWN: of the function callee, which is not traced */
	PROG_SWITCHES = 16384, /* its call may go on on another stack, and come back later */
	PROG_STRAY = 32768,   /* its jump leads to what is no function's entry: into another one, */
	PROG_OUTSIDE = 65536, /* or into code that is in none (.fini in a stripped program) */
	PROG_SETJMP = 524288, /* PROG_ROOT: the block that setjmp returns to, by longjmp() again */
	PROG_AGAIN = 131072,  /* PROG_SETJMP: where a probe may be in it, eax is what setjmp
				 returned: 0 the first time, never later */
	PROG_TO_UNKNOWN =
		262144, /* its indirect call or jump may enter code that is in no function */
};

/* Where a witness could stand, and what one hit of it costs. */
struct prog_probe {
	uint32_t off : 31; /* bytes from program.base on */
	uint32_t cfa_known : 1;
	float cost_ns; /* INFINITY: cannot be probed */
};

/* A program has millions of them. */
struct prog_block {
	uint64_t addr; /* of its first instruction; of its jump where it is virtual */
	uint32_t func;
	uint32_t succ; /* run in program->succs, in the order of the model's edges */
	uint32_t n_succ : 28;
	uint32_t call_len : 4; /* bytes: it returns to so much behind its call */
	uint32_t callee;       /* CALL_DIRECT: function index */
	int32_t height;	     /* CFA minus the callee's CFA; PUGMARK_HEIGHT_UNKNOWN; 0 for a tail */
	uint32_t call_off;   /* where the call or tail jump is: bytes from addr on */
	uint32_t origin;     /* block of the model, or PUGMARK_NONE */
	uint32_t site;	     /* site of the model that is the block's call, or PUGMARK_NONE */
	uint32_t flags : 22; /* enum prog_block_flag */
	uint32_t call : 2;   /* enum prog_call */
	uint32_t reads : 8;  /* enum pugmark_plan_reads: PROG_READ, PROG_READ_CALL */
	float freq;	     /* expected executions in a run */
	struct prog_probe any;	/* the cheapest instruction of the block */
	struct prog_probe last; /* the call, jcc, ret or indirect jump at its end */
};

enum prog_func_flag {
	PROG_ENTRY_WITNESS = 1,	 /* may be entered from where no direct call says so */
	PROG_OPAQUE = 2,	 /* out of scope: its calls are not traced */
	PROG_FOREIGN = 256,	 /* PROG_OPAQUE, as it is foreign code */
	PROG_UNCALLED = 128,	 /* nothing is known to enter it: it seldom runs */
	PROG_COUNTED = 64,	 /* freq is counted, and that of such blocks as a recording tells */
	PROG_PATHS = 8,		 /* the trace is to hold every block that it executes */
	PROG_FUNC_SWITCHES = 16, /* leaves the stack that it was called on */
	PROG_FUNC_LEAVES = 32, /* a jump in it goes to another stack; it resumes when another switch
				  jumps back behind it */
	PROG_ENTERED_TAIL = 4, /* its frame may be one that was entered as by PROG_ENTRY_WITNESS: by
				  itself, or by a function that jumped to it */
};

struct prog_func {
	uint32_t block, n_blocks;
	uint32_t flags;
	uint32_t origin; /* function of the model */
	uint64_t addr;
	float freq; /* expected activations in a run */
};

/* A call or tail jump of a function without blocks, which may come back into the module. */
struct prog_opaque_call {
	uint64_t addr;
	uint32_t func;
	uint32_t callee;   /* function index, or PUGMARK_NONE: any, of this module or another */
	int32_t height;	   /* as in prog_block */
	uint32_t above_bp; /* bytes, where height is not known: CFA minus bp, or PUGMARK_NONE */
	uint16_t flags;	   /* PROG_TAIL, PROG_NORETURN */
	uint8_t bp;	   /* where the caller's bp is, as in struct pugmark_cfa */
	uint8_t len;	   /* bytes: it returns to addr + len */
};

struct program {
	uint64_t base; /* what probes count from */
	struct prog_func *funcs;
	struct prog_block *blocks;
	struct prog_opaque_call *opaque_calls; /* by function */
	uint32_t *succs;
	/* What may be code though it is in no function (model.h), but for what is foreign code if
	 * it is code. */
	struct pugmark_range *unknown;
	float *chances; /* of each of succs: that its block goes on there; or NULL: not kept */
	uint32_t n_funcs, n_blocks, n_succs, n_opaque_calls, n_unknown;
	bool patched; /* patches carry what they can */
	/* Is told now and then what part of the choice for it is made, from 0 to 1, as far as can
	 * be guessed; NULL: nobody asks. */
	void (*told)(void *ctx, double part);
	void *told_ctx;
};

/* What one hit costs: by probe class, with one capture of the return address, or patched. */
struct probe_costs {
	float emulated_ns, stepped_ns, ret_ns, patched_ns;
};
extern const struct probe_costs probe_costs_default;

struct program_options {
	struct probe_costs costs;
	/* Per instruction of the model: a patch carries what tells that it runs, at patched_ns; or
	 * NULL: probes carry all. */
	const uint8_t *patchable;
	const bool *opaque;	/* per function of the model, or NULL: none */
	const bool *foreign;	/* per function of the model, which of the opaque ones are foreign
				   code (foreign_code.h); or NULL: none */
	const uint8_t *entered; /* per function of the model: exported ones that another module is
				   known to import; or NULL: a program's none, a library's all */
	const uint8_t *traced;	/* per import of the model: a module that is traced as well has it;
				   or NULL: none */
	const uint8_t *bound; /* per import of the model: it is the module's own function, no other
				 comes before it; or NULL: none is known to be */
	const uint8_t *never; /* per import of the model: never returns, though no name says so; or
				 NULL: none is known */
	const uint8_t *switches; /* per site of the model: its call may go on on another stack,
				    though nothing in the model says so; or NULL: none is known */
	const bool *paths;	 /* per function of the model, or NULL: none has PROG_PATHS */
	/* What is to be read of calls of each function, and of each import, of the model (enum
	 * plan_reads); or NULL: nothing. */
	const uint8_t *func_reads, *import_reads;
	const uint64_t *counts; /* executions per block of the model from an earlier recording,
				   UINT64_MAX: not counted; or NULL: static estimates */
};

/* Returns 0 and a program that the caller frees with program_free(), or -ENOMEM. */
int program_from_model(const struct pugmark_model *model, const struct program_options *options,
		       struct program **out);
void program_free(struct program *program);

/* Of the calls that functions without blocks make, keeps those that may come back into a function
 * with blocks. A call of such a function is then like one into another module. 0 or -ENOMEM. */
int program_settle_opaque(struct program *program);
/* Sets PROG_ENTERED_TAIL from PROG_ENTRY_WITNESS and the tail calls. */
void program_mark_entered_tails(struct program *program);

/* Fills chances, and freq of blocks (per activation) and functions from the flow graph: loops go
 * round about eight times (LOOP_BACK of freq_static.c: 1 / (1 - 0.88)), branches halve, ways that
 * end in a call that never returns are rare. @odds: per block with PROG_BRANCH the log of taken
 * over not taken, as its instructions suggest; or NULL: nothing is known. 0 or -ENOMEM. */
int program_estimate(struct program *program, const float *odds);
/* Replaces the estimate where a recording has counted: @counts as in program_options. After
 * program_estimate(). Returns 0 or -ENOMEM. */
int program_measure(struct program *program, const uint64_t *counts);

static inline uint64_t prog_call_addr(const struct prog_block *b)
{
	return b->addr + b->call_off;
}

static inline uint64_t prog_probe_addr(const struct program *program,
				       const struct prog_probe *probe)
{
	return program->base + probe->off;
}

/* Whether there can be a probe at all. */
static inline bool prog_probeable(const struct prog_probe *probe)
{
	return isfinite(probe->cost_ns);
}

/* Whether the block ends with an indirect jump inside the function whose target can be read. */
static inline bool prog_jump_read(const struct prog_block *b)
{
	return b->flags & (PROG_OPEN | PROG_TABLE);
}

/* Whether a witness at the block's end can say by which of several ways it is left. */
static inline bool prog_way_shows(const struct prog_block *b)
{
	return b->n_succ > 1 && (b->flags & PROG_BRANCH || prog_jump_read(b));
}

_Static_assert(sizeof(struct prog_block) == 64, "millions of them: mind their size");

static inline const uint32_t *prog_succs(const struct program *program, uint32_t block)
{
	return program->succs + program->blocks[block].succ;
}

#endif
