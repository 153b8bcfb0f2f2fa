/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan.h: a plan says where to place probes in one module, what each of them reads, and what the
 * parser needs to turn their events into the whole call trace. The format on disk is
 * docs/plan-format.md; a plan is opened read-only and mapped. */
#ifndef PUGMARK_PLAN_H
#define PUGMARK_PLAN_H

#include <pugmark/model.h>

#include <assert.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an event of a site stands for. Append-only: recordings outlive us. */
enum pugmark_plan_site_kind {
	PUGMARK_WITNESS_BLOCK = 0,  /* this block runs (a call site, an entry, any block) */
	PUGMARK_WITNESS_BRANCH = 1, /* this jcc runs; val is 1 if it will be taken, else 0 */
	PUGMARK_WITNESS_TARGET = 2, /* this indirect call or jump runs; val is its target address */
	PUGMARK_WITNESS_RETURN = 3, /* this ret runs */
};

/* What the probe reads. sp (or bp) and the time are always read. */
enum pugmark_plan_capture {
	PUGMARK_CAPTURE_RET = 1,   /* the 8 bytes at CFA-8: the return address of this activation */
	PUGMARK_CAPTURE_FLAGS = 2, /* the flags, reduced to one bit by the condition code */
	PUGMARK_CAPTURE_TARGET =
		4, /* the target operand, register or memory, reduced to an address */
	PUGMARK_CAPTURE_SNAPSHOT = 8, /* if the return address is outside of this module: a copy of
				 the stack from sp upwards */
	PUGMARK_CAPTURE_STACK = 16,   /* such a copy in any case */
	/* With STACK: no copy where eax is 0. The site is in the block that setjmp returns to,
	 * before eax changes: 0 is setjmp's first return, which leaves no frame, so that no stack
	 * is needed. longjmp() never lets it return 0. */
	PUGMARK_CAPTURE_IF_AGAIN = 64,
	/* With STACK: the copy begins with the word right below sp. longjmp() puts sp back to where
	 * it was during the call that it comes out of: that call's return address is still there.
	 */
	PUGMARK_CAPTURE_BELOW = 128,
};

/* Values that the probe reads for those who look at the trace; the parser needs none of them. */
enum pugmark_plan_reads {
	PUGMARK_READS_ARGS = 7,	  /* mask: the first so many of rdi, rsi, rdx, rcx, r8, r9 */
	PUGMARK_READS_RESULT = 8, /* rax, of the call that ends here */
	PUGMARK_READS_CALL =
		16, /* the arguments are those of the call at the site, not of its function */
	/* Nothing: the site is there so that its time is known, where a call begins or ends. */
	PUGMARK_READS_TIME = 32,
	/* What some of the arguments point to when the call has returned: at the result's site,
	 * behind the result. Which arguments is the recorder's to say. */
	PUGMARK_READS_OUT = 64,
};

/* The operand of an indirect call or jump, for PUGMARK_CAPTURE_TARGET. Registers are numbered as in
 * the encoding of instructions (0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8..15
 * r8..r15). */
struct pugmark_plan_operand {
	uint8_t base;	   /* register, 16: rip (disp is then an ELF address), 255: none */
	uint8_t index;	   /* register or 255 */
	uint8_t scale;	   /* 1, 2, 4, 8 */
	uint8_t is_memory; /* 0: the target is base itself */
	int32_t pad;
	int64_t disp;
};

struct pugmark_plan_site {
	uint64_t addr;	   /* ELF virtual address of the probed instruction */
	uint64_t off_file; /* its offset in the file */
	int32_t cfa_off;   /* CFA = sp or bp + cfa_off, just before the instruction */
	uint8_t cfa_reg;   /* enum pugmark_cfa_reg; PUGMARK_CFA_UNKNOWN: sp is reported as it is */
	uint8_t kind;	   /* enum pugmark_plan_site_kind */
	uint8_t capture;   /* enum pugmark_plan_capture */
	uint8_t cond;	   /* PUGMARK_CAPTURE_FLAGS: x86 condition code, 0 to 15 */
	uint8_t probe;	   /* enum pugmark_probe_class */
	uint8_t reads;	   /* enum pugmark_plan_reads */
	uint8_t bp;	   /* where the caller's bp is, as in struct pugmark_cfa */
	uint8_t elsewhere; /* 1: another share's, or nobody's: not probed (docs/shares.md) */
	uint32_t func;	   /* index in the plan's functions */
	struct pugmark_plan_operand operand; /* PUGMARK_CAPTURE_TARGET */
};

/* A node of the grammar: what can happen in a function, seen from its callers and callees. */
enum pugmark_plan_node_kind {
	PUGMARK_NODE_KIND_EXIT = 0,    /* node 0 alone: the function returns */
	PUGMARK_NODE_KIND_CALL = 1,    /* a call of `callee` */
	PUGMARK_NODE_KIND_UNKNOWN = 2, /* indirect, or into another module: silent, or enters any
				  function with PUGMARK_PLAN_FUNC_ENTERED */
	PUGMARK_NODE_KIND_LEAF = 3, /* leaves the module and does not come back before it returns */
	PUGMARK_NODE_KIND_MARK = 4, /* a witnessed block without a call */
	PUGMARK_NODE_KIND_BRANCH =
		5, /* a witnessed jcc: `next` if not taken, `next_taken` if taken */
	PUGMARK_NODE_KIND_RETURN = 6, /* one ret, where returns are kept apart */
	PUGMARK_NODE_KIND_TARGET =
		7, /* a witnessed indirect jump: targets[targets .. targets + n_targets) */
	PUGMARK_NODE_KIND_BLOCK = 8,  /* a block without a call that no event shows (level paths) */
	PUGMARK_NODE_KIND_OPAQUE = 9, /* a call or tail jump of a function that is not traced: what
				 a stack may show of it. No decision leads to it */
};

enum pugmark_plan_node_flag {
	PUGMARK_NODE_TAIL = 1,	   /* a tail jump: the callee takes the function's place */
	PUGMARK_NODE_NORETURN = 2, /* nothing follows in this function */
	PUGMARK_NODE_CALLEE_CFA =
		8,	       /* its event's cfa is the callee's, since height is not known */
	PUGMARK_NODE_ROOT = 4, /* also entered by unwinding: landing pad, second return of setjmp */
	PUGMARK_NODE_SHOWS_BLOCK = 16, /* to pass it is to execute a block (level paths), which
				  begins at addr; of a call or tail jump: at addr - block_bytes */
	PUGMARK_NODE_SWITCHES =
		32, /* a call that may go on on another stack, and come back later */
	PUGMARK_NODE_IFUNC =
		64, /* a call of what an IFUNC of this module has chosen, in here too */
	PUGMARK_NODE_UNTOLD =
		128, /* a call of which nothing tells what it enters, or how often: a gap */
};

struct pugmark_plan_node {
	uint64_t addr; /* of the call or tail jump; for the others, of the block */
	uint32_t func;
	uint32_t site; /* the witness whose event shows the node, or PUGMARK_NONE: silent */
	/* NODE_KIND_CALL: function; NODE_KIND_UNKNOWN: the one that has the import's name, or
	 * without such the one that is not traced; NODE_KIND_OPAQUE: function, if it is known; else
	 * PUGMARK_NONE */
	uint32_t callee;
	uint32_t import; /* offset in strings of the import's name, or 0 */
	/* What follows. `kind` is the tag; the functions below read the arm of that kind, and
	 * nothing else does but what makes plans, and what checks a file. Decisions: or
	 * PUGMARK_NONE. */
	union pugmark_plan_node_arm {
		struct {
			uint32_t next;	/* the decision if not taken */
			uint32_t taken; /* if taken */
		} branch;		/* PUGMARK_NODE_KIND_BRANCH */
		struct {
			uint32_t first; /* of the plan's targets */
			uint32_t n;
		} targets; /* PUGMARK_NODE_KIND_TARGET */
		struct {
			uint32_t next;	      /* PUGMARK_NONE: no decision leads to it */
			uint32_t cfa_from_bp; /* where its height is not known: CFA minus bp, or
						 PUGMARK_NONE */
		} opaque;		      /* PUGMARK_NODE_KIND_OPAQUE */
		struct {
			uint32_t next;	      /* the decision that follows */
			uint32_t block_bytes; /* a call or tail jump with PUGMARK_NODE_SHOWS_BLOCK:
						 its block begins so far before addr */
		} other;		      /* every other kind */
	} arm;
	int32_t height;	  /* the function's CFA minus the callee's; PUGMARK_HEIGHT_UNKNOWN */
	uint8_t kind;	  /* enum pugmark_plan_node_kind */
	uint8_t flags;	  /* enum pugmark_plan_node_flag */
	uint8_t call_len; /* bytes: the call returns to addr + call_len */
	union {
		uint8_t bp; /* PUGMARK_NODE_KIND_OPAQUE: where the caller's bp is, as in struct
			       pugmark_cfa */
		/* PUGMARK_NODE_KIND_CALL, _UNKNOWN, _LEAF: where an exception out of it lands: the
		 * function's nodes with PUGMARK_NODE_ROOT are counted from 1; or as below */
		uint8_t landing;
	};
};
#define PUGMARK_LANDING_NOT_KNOWN 0
#define PUGMARK_LANDING_NONE 255  /* not in this function */
#define PUGMARK_LANDING_OTHER 254 /* at one that is too far to be counted */
static_assert(sizeof(struct pugmark_plan_node) == 40, "plan files depend on this layout");
/* The arm of a node after which nothing comes, of any kind but PUGMARK_NODE_KIND_TARGET. */
#define PUGMARK_NODE_NOTHING_NEXT                                                                  \
	{                                                                                          \
		{                                                                                  \
			PUGMARK_NONE, PUGMARK_NONE                                                 \
		}                                                                                  \
	}

enum pugmark_plan_func_flag {
	PUGMARK_PLAN_FUNC_ENTERED = 1, /* its entry is witnessed: it may be entered from anywhere */
	PUGMARK_PLAN_FUNC_OPAQUE = 2,  /* not traced */
	PUGMARK_PLAN_FUNC_EXPORTED =
		4, /* another module can call it by name: also what an IFUNC may choose */
	PUGMARK_PLAN_FUNC_START = 8,	 /* the file's entry, which only the kernel enters */
	PUGMARK_PLAN_FUNC_SWITCHES = 16, /* leaves the stack that it was called on */
	PUGMARK_PLAN_FUNC_LEAVES = 32,	 /* a jump in it goes to another stack; it resumes when
					    another switch jumps back behind it */
	PUGMARK_PLAN_FUNC_WHOLE =
		64, /* to choose for it would take too much: it is marked all over */
	PUGMARK_PLAN_FUNC_FOREIGN = 128, /* opaque, as it is taken for another module's code */
};

struct pugmark_plan_func {
	uint64_t addr;
	uint32_t name;		/* offset in strings */
	uint32_t entry;		/* the decision at its entry, or PUGMARK_NONE: not modelled */
	uint32_t flags;		/* enum pugmark_plan_func_flag */
	uint32_t node, n_nodes; /* its nodes */
	uint32_t personality;	/* index of the function that the unwinder asks whether to land in a
				   frame of this one, plus one; 0: none of this module is known */
};

/* What can come next: alternatives[first .. first + n) are nodes. */
struct pugmark_plan_decision {
	uint32_t first, n;
};

/* The way out of the function: any address that is none of the jump's other targets. */
#define PUGMARK_PLAN_TARGET_ELSEWHERE UINT64_MAX

struct pugmark_plan_target {
	uint64_t addr; /* ELF address that the jump goes to, or PUGMARK_PLAN_TARGET_ELSEWHERE */
	uint32_t decision;
	uint32_t reserved;
};

/* Where a thread is, between witnesses: from here on, up to the next point, @next is what the
 * grammar has next in that frame. Whatever else could be next is told apart by a witness. */
struct pugmark_plan_point {
	uint32_t off;  /* address minus text_addr */
	uint32_t next; /* node, 0: the exit; with PUGMARK_POINT_PASSED: the node whose event has
			  been, but  not its call; where nothing is next, with PUGMARK_POINT_AFTER
			  the node that was  last, 0: the entry; PUGMARK_NONE: that is not known
			  either */
	uint32_t func; /* PUGMARK_NONE: the code is of none */
	int32_t cfa;   /* enum pugmark_cfa_reg, and 4 times the offset of the CFA from it */
};
#define PUGMARK_POINT_PASSED (1u << 31)
#define PUGMARK_POINT_AFTER (1u << 30)
#define PUGMARK_POINT_NODE(next) ((next) & ~(PUGMARK_POINT_PASSED | PUGMARK_POINT_AFTER))
#define PUGMARK_POINT_CFA(reg, off) (4 * (off) + (int)(reg))

/* Why the trace may have a gap at a place: what cannot be told there, because no instruction that
 * would tell it can be probed. Append-only. */
enum pugmark_plan_unresolved_kind {
	PUGMARK_UNRESOLVED_ENTRY = 0,	/* that the function was entered, and from where */
	PUGMARK_UNRESOLVED_LANDING = 1, /* that the unwinder landed there, or in which frame */
	PUGMARK_UNRESOLVED_JUMP = 2,	/* where an indirect jump goes */
	PUGMARK_UNRESOLVED_STOP = 3,	/* that what never returns was reached */
	PUGMARK_UNRESOLVED_FRAME = 4,	/* where the frame of what is called lies */
	PUGMARK_UNRESOLVED_WAY = 5,	/* which way is taken from there */
	PUGMARK_UNRESOLVED_ROUNDS = 6,	/* how often a call is made */
	PUGMARK_UNRESOLVED_END = 7,	/* whether what is called there has ended */
	PUGMARK_UNRESOLVED_CODE = 8,	/* that it runs, if it is code: it is in no function, and an
					   indirect call of it is like one of another module, unless
					   the call's event reads where it goes */
};
#define PUGMARK_UNRESOLVED_KINDS 9

struct pugmark_plan_unresolved {
	uint64_t addr; /* of the block, call or jump */
	uint32_t func;
	uint32_t node;	    /* or PUGMARK_NONE: the function's entry, or no node of the grammar */
	uint32_t kind;	    /* enum pugmark_plan_unresolved_kind */
	uint32_t len_bytes; /* CODE: of the range, which is of no function; these come last */
};

struct pugmark_plan {
	const struct pugmark_plan_site *sites;
	const struct pugmark_plan_func *funcs; /* by address */
	const struct pugmark_plan_node *nodes; /* 0 is the exit; grouped by function */
	const struct pugmark_plan_decision *decisions;
	const uint32_t *alternatives;
	const struct pugmark_plan_target *targets;
	const struct pugmark_plan_point *points; /* by address; none in a plan of version 1 */
	const char *strings;			 /* offset 0 is the empty string */
	uint32_t n_sites, n_funcs, n_nodes, n_decisions, n_alternatives, n_targets;
	uint32_t n_points, strings_bytes;
	uint32_t mode; /* enum plan_mode */
	uint8_t build_id[32];
	uint32_t build_id_len;
	float expected_cost_ns; /* of one run, by the estimates; good for comparisons only */
	uint32_t unresolved;	/* places at which the trace may have gaps; of version 1: 0 */
	const struct pugmark_plan_unresolved *unresolved_at; /* NULL in plans before version 3 */
	uint64_t text_addr, text_end;
	/* A share of a plan: which, from 1, of how many, and of which set. 0: a plan of its own. */
	uint32_t share, n_shares;
	uint64_t share_set;
	void *storage; /* what the arrays point into: private */
	size_t storage_bytes;
	bool storage_is_file; /* read from a plan file */
};

/* The arms of a node. In builds that define PUGMARK_CHECKED, asking for what a node of that kind
 * has not ends the program. */
#ifdef PUGMARK_CHECKED
#define PUGMARK_ARM(is_there) assert(is_there)
#else
#define PUGMARK_ARM(is_there) ((void)0)
#endif

/* The decision that follows, or PUGMARK_NONE; of a branch, if it is not taken. Not of a
 * PUGMARK_NODE_KIND_TARGET. */
static inline uint32_t pugmark_node_next(const struct pugmark_plan_node *node)
{
	PUGMARK_ARM(node->kind != PUGMARK_NODE_KIND_TARGET);
	return node->arm.other.next; /* all arms but `targets` begin with it */
}

/* PUGMARK_NODE_KIND_BRANCH: the decision if it is taken. */
static inline uint32_t pugmark_node_taken(const struct pugmark_plan_node *node)
{
	PUGMARK_ARM(node->kind == PUGMARK_NODE_KIND_BRANCH);
	return node->arm.branch.taken;
}

/* PUGMARK_NODE_KIND_TARGET: how many targets it has, and these, in @plan. */
static inline uint32_t pugmark_node_n_targets(const struct pugmark_plan_node *node)
{
	PUGMARK_ARM(node->kind == PUGMARK_NODE_KIND_TARGET);
	return node->arm.targets.n;
}
static inline const struct pugmark_plan_target *
pugmark_node_targets(const struct pugmark_plan *plan, const struct pugmark_plan_node *node)
{
	PUGMARK_ARM(node->kind == PUGMARK_NODE_KIND_TARGET);
	return plan->targets + node->arm.targets.first;
}

/* PUGMARK_NODE_KIND_OPAQUE: CFA minus bp, or PUGMARK_NONE. */
static inline uint32_t pugmark_node_cfa_from_bp(const struct pugmark_plan_node *node)
{
	PUGMARK_ARM(node->kind == PUGMARK_NODE_KIND_OPAQUE);
	return node->arm.opaque.cfa_from_bp;
}

/* A call or tail jump with PUGMARK_NODE_SHOWS_BLOCK: bytes from the beginning of its block. */
static inline uint32_t pugmark_node_block_bytes(const struct pugmark_plan_node *node)
{
	PUGMARK_ARM(node->flags & PUGMARK_NODE_SHOWS_BLOCK &&
		    (node->kind == PUGMARK_NODE_KIND_CALL ||
		     node->kind == PUGMARK_NODE_KIND_UNKNOWN ||
		     node->kind == PUGMARK_NODE_KIND_LEAF));
	return node->arm.other.block_bytes;
}

/* Maps the plan file @path and checks all of it: every index is inside its array.
 * Returns 0 and a plan that the caller frees with pugmark_plan_free(); -EBADMSG with @diag filled
 * where the file is no plan or damaged, -EPROTO where its version is not known, or -errno. */
int pugmark_plan_open(const char *path, struct pugmark_plan **out, struct pugmark_diag *diag);
/* Writes @plan to @path atomically: a reader sees the old file or the new one. A symbolic link
 * stays what it is, and its target is replaced; a device or a pipe is written straight. 0 or
 * -errno. */
int pugmark_plan_write(const struct pugmark_plan *plan, const char *path,
		       struct pugmark_diag *diag);
void pugmark_plan_free(struct pugmark_plan *plan);
/* The function of @plan that begins at ELF address @addr, or PUGMARK_NONE. O(log n). */
uint32_t pugmark_plan_func_at(const struct pugmark_plan *plan, uint64_t addr);
/* The function whose code is at ELF address @addr, or PUGMARK_NONE: none is known. O(log n). */
uint32_t pugmark_plan_func_of(const struct pugmark_plan *plan, uint64_t addr);
/* The first of the unresolved places of kind CODE: where they begin in plan->unresolved_at, up to
 * its end; plan->unresolved where there is none. O(log n). */
uint32_t pugmark_plan_unknown_code(const struct pugmark_plan *plan);
/* Whether ELF address @addr lies in one of these. O(log n). */
bool pugmark_plan_in_unknown_code(const struct pugmark_plan *plan, uint64_t addr);

#ifdef __cplusplus
}
#endif

#endif
