/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* conflict.h: the conflict rule, and the state that it is asked about: the marks so far, and what
 * is known of each function. Those who ask are in choose_modes.h.
 *
 * A *node* is a block that shows in the grammar: one that is marked or holds a call (where returns
 * are kept apart, also one that returns; in a function with PROG_PATHS, every block). A *decision*
 * is what can come next after a node: the nodes that are reached without passing another, or the
 * exit. The choice is made bottom-up over the call graph, so a function is known to its callers by
 * a summary:
 *   nullable  it can run without an event
 *   first     the terminals that its first event can be
 *   need      the terminals that must not come first after it returns: inside of it they would be
 *             taken for a decision against returning
 * FOLLOW is never built: each call site checks what follows it against its callee's need. */
#ifndef OFFLINE_CONFLICT_H
#define OFFLINE_CONFLICT_H

#include "offline/base/vec.h"
#include "offline/choose/choose.h"
#include "offline/choose/terminals.h"

#define NODE_EXIT UINT32_MAX
#define NODE_NONE (UINT32_MAX - 1)

struct summary {
	struct terminal_set first, need;
	bool nullable;
	bool need_global;     /* ends in a call whose callee is not known */
	int32_t global_depth; /* need_global: how far below this frame that of the unknown callee
				 lies, or further */
	bool known;	      /* false: not chosen for yet; taken as anything */
};

/* One alternative of a decision, as seen by its first events. */
struct found_term {
	struct terminal term;
	uint32_t alt;	     /* index of the alternative */
	uint32_t next;	     /* of the same place of w */
	uint32_t next_entry; /* of the entries of functions that may be entered from anywhere */
};

/* The found terminals whose w have one place. */
struct place_head {
	uint32_t stamp; /* they are of this conflicts.file_stamp */
	uint32_t first;
};

/* What the walks need of a block, packed: they are most of the work. */
struct hop {
	uint32_t succ;
	uint32_t n_succ;
	uint8_t is_node; /* marked or not */
	uint8_t flags;	 /* enum hop_flag */
};
enum hop_flag {
	HOP_RET = 1,
	HOP_ENTRY = 2,	   /* of a function with PROG_ENTRY_WITNESS */
	HOP_RET_APART = 4, /* a ret that a witness could tell from the others */
	/* The event of MARK_BLOCK, of MARK_LAST, of another mark tells this function's frame. */
	HOP_CFA_ANY = 8,
	HOP_CFA_CALL = 16,
	HOP_CFA_LAST = 32,
};

/* What leads to some place of a function in silence. */
struct watch_ways {
	uint8_t *starts, *nodes; /* per block: enum reached, by a walk from its start, or by
				    the decisions behind it */
	struct vec_u32 some_starts, some_nodes; /* the blocks for which that is not 0 */
};

/* What conflict_do_without() knows of the function whose marks are being taken away. */
struct watch {
	struct terminal *terms; /* what comes after the mark that is being taken away */
	uint32_t n_terms, cap_terms;
	struct watch_ways ours, rivals;
	uint32_t func, removals;
	bool jumps; /* something in it shows as if the function had jumped there */
	/* Per place of a block. The first three: removals, for that removal. */
	uint32_t *term_at; /* one of the terms may be of it */
	uint32_t *new_alts;
	uint32_t *ahead; /* decisions on the way to the mark lead there */
	uint8_t *loops;	 /* a cycle may lead through it */
	uint8_t *held;	 /* what is known to hold */
	uint8_t *passed; /* enum passed: what a walk needs of it, in one byte */
};

/* A walk to the nodes of a decision, that was made before: kept.nodes[at .. at + n). */
struct kept_walk {
	uint32_t epoch; /* it holds while kept.epoch is this */
	uint32_t at, n;
	uint32_t steps, work; /* that it took */
};

/* The walks of one function that are kept while its marks stay as they are: conflict_keep(). */
struct kept {
	struct kept_walk *walks;    /* two for each block: after it, from it on */
	uint32_t block, n_blocks;   /* of the function; n_blocks 0: nothing is kept */
	uint32_t max_blocks, epoch; /* epoch: 0 is never */
	struct vec_u32 nodes;
};

/* What unknown callees may need of one block. */
struct global_need {
	uint32_t ret;  /* of its mark, joined: RET_* or a call's block */
	int32_t depth; /* how far below the callee's frame it is, or further */
	bool needed;   /* false: its mark is not */
	bool any;      /* the call in the block may enter any function */
};
struct global_was {
	uint32_t block;
	struct global_need need;
};

struct checked;
struct conflicts {
	const struct program *prog;
	uint8_t *marks;
	bool *capture_ret;
	struct summary *sums;
	bool returns_apart;
	bool plain;	 /* terminals are sites only, and no alternative may be empty (the paper) */
	bool some_empty; /* plain: some alternatives are empty, since nothing there can be probed;
			    so there are needs */
	const uint8_t *given; /* per block: marks that are there in any case; NULL: none */
	bool note_rets;	 /* record in capture_ret which comparisons hold by the return address */
	bool keeps_rets; /* the same in checked_rets */
	struct checked *checked; /* per function: its last check; conflict_checked.c */
	struct vec_u32 checked_rets;
	uint32_t checking_from; /* where those of the check under way begin */
	bool failed;		/* out of memory */

	/* Blocks with the same successors go on alike: one of them stands for all, so that a
	 * decision behind many copies of one dispatch is looked at once. */
	uint32_t *alike;
	struct hop *hops;
	uint32_t *preds, *pred_at; /* reverse edges: preds[pred_at[b] .. pred_at[b + 1]) */

	struct global_need *global; /* per block: what unknown callees may need */
	bool global_jumps; /* the needs have entries that were jumped to, which return to calls of
			      unknown code */
	bool global_top;
	bool global_grew; /* since this was cleared */
	bool global_kept; /* what the needs were is kept in: */
	bool jumps_before, top_before;
	VEC(struct global_was) global_before;

	/* Scratch of one query, per place of a block; stamps make clearing free. */
	uint32_t *seen_walk, *seen_closure, *seen_back, *seen_alike, *seen_fan, stamp, file_stamp;
	uint32_t *seen_end, end_stamp; /* conflict_find_ends() */
	uint32_t places_mask;
	struct place_head *heads; /* of ch->found */
	struct vec_u32 alts, walk, closure, back, decisions;
	struct vec_u32
		unresolved; /* in the end: three numbers for each, see struct choice_unresolved */
	struct found_term *found;
	uint32_t n_found, cap_found;
	uint64_t steps; /* work done, to bound the pruning of huge functions */
	uint64_t spent; /* steps that huge functions took beyond their own */
	/* conflict_begin(): all that was looked at; where the function's own part of that ends, and
	 * where all that it may take does; what is left for those that take more than their part.
	 */
	uint64_t work, work_own, work_end, work_spare;
	uint32_t looks;
	bool *hubs;  /* per function: took too much without them, and they are marked (force_hubs())
		      */
	bool *whole; /* per function: took too much in any case, and is marked all over */
	bool *stale; /* per function: its summary may not be all; scratch of who makes summaries */
	struct watch watch;
	struct kept kept;
};

/* A decision: what follows @block when it has been passed by way of successor @way (PROG_BRANCH
 * and PROG_OPEN marks), or by any (WAY_ALL); block NONE: the entry of @func. */
#define WAY_ALL UINT32_MAX
struct decision {
	uint32_t func, block, way;
};

#define WORK_SPARE                                                                                 \
	(640ull << 20) /* of the work of one choice: beyond what each function may take */
/* Whether the function at hand has taken all the work that it may: what is asked of it from then on
 * does not hold. */
static inline bool conflict_spent(const struct conflicts *ch)
{
	return ch->work >= ch->work_end;
}
/* Too much of something else was met: no more work is done. */
static inline void conflict_spend(struct conflicts *ch)
{
	ch->work_end = ch->work;
}
/* A look at @func, whose work is bounded up to the matching conflict_end(); that returns whether it
 * was too much. A look within another is part of it. */
void conflict_begin(struct conflicts *ch, uint32_t func);
bool conflict_end(struct conflicts *ch);

/* Where scratch for @block is. The blocks of a function come one after the other, so no two of them
 * share a place; those of different functions do, and stamps say whose it is. Thus all of it is of
 * the size of the largest function. */
static inline uint32_t conflict_place(const struct conflicts *ch, uint32_t block)
{
	return block & ch->places_mask;
}

int conflict_init(struct conflicts *ch, const struct program *prog);
/* Makes @ch what conflict_init() made of it, for another choice for the same program; marks,
 * capture_ret and whole may have been taken out of it. Returns 0 or -ENOMEM. */
int conflict_restart(struct conflicts *ch);
/* Only so much that conflict_is_node() and conflict_alternatives() can be asked. */
int conflict_init_walks(struct conflicts *ch, const struct program *prog);
void conflict_deinit(struct conflicts *ch);

static inline bool conflict_shows_blocks(const struct conflicts *ch, uint32_t block)
{
	return ch->prog->funcs[ch->prog->blocks[block].func].flags & PROG_PATHS;
}
static inline bool conflict_is_node(const struct conflicts *ch, uint32_t block)
{
	const struct hop *hop = &ch->hops[block];
	return ch->marks[block] | hop->is_node | (ch->returns_apart & hop->flags / HOP_RET_APART);
}
/* Whether the mark of @block also says which of its successors is next. */
static inline bool conflict_tells_way(const struct conflicts *ch, uint32_t block)
{
	uint8_t mark = ch->marks[block];
	return mark == MARK_BRANCH ||
	       (mark == MARK_TARGET && prog_jump_read(&ch->prog->blocks[block]));
}
/* The nodes (or NODE_EXIT) that a decision is between, in @out. */
void conflict_alternatives(struct conflicts *ch, struct decision d, struct vec_u32 *out);
/* From now on walks to alternatives within @func are kept, until conflict_keep_nothing() or another
 * call of this. Meanwhile marks of @func change by conflict_do_without() alone. */
void conflict_keep(struct conflicts *ch, uint32_t func);
void conflict_keep_nothing(struct conflicts *ch);
/* Fills ch->found with the first terminals of every alternative in @alts; returns the number of
 * alternatives that may be empty, and in @top whether a first set was unbounded. */
uint32_t conflict_first(struct conflicts *ch, const struct vec_u32 *alts, bool *top);
/* Whether the decision's alternatives are pairwise distinguishable. */
bool conflict_decision_holds(struct conflicts *ch, struct decision d);
/* Whether what follows the call in @block is distinguishable from what its callee needs. */
bool conflict_follow_holds(struct conflicts *ch, uint32_t block);
/* Whether every run from @block back to it shows an event, if it makes calls (with PROG_PATHS:
 * every run). */
bool conflict_progress_holds(struct conflicts *ch, uint32_t block);
/* Sets @left for each function that can call itself (by way of others or not) before anything
 * shows, or call such a function. @funcs: all, callees first. */
void conflict_left_recursion(struct conflicts *ch, const uint32_t *funcs, bool *left);
/* Whether all that could feel a change of the mark of @block holds. */
bool conflict_surroundings_hold(struct conflicts *ch, uint32_t func, uint32_t block);
/* Begins to take marks of @func away: notes which decisions hold with all of them. */
void conflict_watch(struct conflicts *ch, uint32_t func);
/* Takes the mark of @block of that function away, if everything that could feel it holds without;
 * returns whether it did. Until the next conflict_watch() marks may change by this function
 * alone. */
bool conflict_do_without(struct conflicts *ch, uint32_t func, uint32_t block);
/* The pairs of nodes of @func that some decision cannot tell apart, in @edges as a, b, a, b, …, in
 * any order, each once; for terminals that are sites only. Returns false if there are more than
 * @max, which is under 2^30. */
bool conflict_edges(struct conflicts *ch, uint32_t func, struct vec_u32 *edges, uint32_t max);
/* The same as groups of nodes none of which can be told from another, each group ended by
 * NODE_NONE. Returns how many groups there are. */
uint32_t conflict_groups(struct conflicts *ch, uint32_t func, struct vec_u32 *members);
/* What does not hold behind the node @block: a bit for each enum pugmark_plan_unresolved_kind. */
uint32_t conflict_faults_after(struct conflicts *ch, uint32_t block);
/* Whether all decisions and calls of @func hold. */
bool conflict_function_holds(struct conflicts *ch, uint32_t func);
/* The same; if so that is known from then on, with the return addresses that it needs, until
 * conflict_uncheck(): who changes what @func depends on calls that. */
bool conflict_check(struct conflicts *ch, uint32_t func);
void conflict_uncheck(struct conflicts *ch, uint32_t func);
bool conflict_known_to_hold(const struct conflicts *ch, uint32_t func);
/* Records in capture_ret what the check of @func, which is known to hold, has needed. */
void conflict_note_checked(struct conflicts *ch, uint32_t func);
/* Computes the summary of @func from its marks; returns whether it grew. */
bool conflict_summarise(struct conflicts *ch, uint32_t func);
/* Whether the function of @sum needs more than its summary has room for: each time that it is
 * summarised more of that joins the global need. */
bool conflict_needs_more(const struct summary *sum);
/* From now on the global need is kept as it is, until conflict_global_forget(), or
 * conflict_global_restore(), which brings it back. */
void conflict_global_keep(struct conflicts *ch);
void conflict_global_restore(struct conflicts *ch);
void conflict_global_forget(struct conflicts *ch);
/* Joins what functions need that may be entered from anywhere to the global need. */
void conflict_globalise(struct conflicts *ch);

#endif
