/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* parse_tables.h: from a plan's grammar to the question that the parser asks at every decision:
 * which alternative does this event begin? Tables are built when a decision is first asked about,
 * so that a short recording of a large program costs little; one user at a time. */
#ifndef OFFLINE_PARSE_TABLES_H
#define OFFLINE_PARSE_TABLES_H

#include <pugmark/plan.h>

#include <stdbool.h>

#define FIRST_ANY_ENTRY                                                                            \
	UINT32_MAX	      /* site: the entry of any function with PUGMARK_PLAN_FUNC_ENTERED */
#define FIRST_SELF UINT32_MAX /* ret: where the deciding function itself returns to */
#define FIRST_DEPTH_UNKNOWN INT32_MIN

/* "The event of @site, in a frame whose CFA is @depth bytes lower than the deciding function's, and
 * whose activation returns to call node @ret, begins alternative @alt." */
struct first_entry {
	uint32_t site;
	int32_t depth;
	uint32_t ret;
	uint32_t alt;  /* node */
	bool or_below; /* at `depth` or any deeper: of a recursion */
};

struct decision_table {
	const struct first_entry *entries; /* by site; those of FIRST_ANY_ENTRY last */
	const uint32_t *slots;		   /* a hash of the sites, for parse_tables_first() */
	uint32_t n, n_any;
	uint32_t slot_shift; /* there are 2^(32 - slot_shift) slots */
	uint32_t empty; /* the alternative that can be silent up to the function's exit; or NONE */
	uint32_t n_empty; /* how many can: more than one only where the plan names a place of kind
			     `way`, else that is a fault of it */
	bool top;	  /* too many terms to list: nothing can be told */
	bool unsure; /* an event may begin two alternatives, or one of them and what follows the
			function as well */
	struct decision_table *older; /* the one that was built before */
};

/* What an event of a site is, whatever the state. Functions and nodes may be PUGMARK_NONE. */
struct site_facts {
	uint64_t addr;	  /* of the node; UINT64_MAX without one */
	uint32_t node;	  /* that the site witnesses */
	uint32_t entered; /* the function whose entry it witnesses */
	uint32_t begins;  /* the function whose first instruction it stands at */
	bool own_cfa;	  /* the event's CFA is that of the frame of the node */
	bool returns;	  /* it stands at a ret of its function */
	bool times_call;  /* it is in its function's first block, to tell when the call was made */
	bool times_more; /* more than a call that is made where it stands: one of the three above */
};

struct first_nullable;

/* Filled by parse_tables.c; open to the parser, which asks at every event. */
struct parse_tables {
	const struct pugmark_plan *plan;
	struct decision_table **at;  /* one a decision; NULL: not built yet */
	struct decision_table *last; /* that was built */
	struct site_facts *sites;
	struct first_nullable *silent;
	bool *enterable, *enterable_unseen, *jumps_out, *stays_inside; /* per function */
	bool *unsure_decision; /* NULL where the plan has no such places; as unsure_call: */
	bool *unsure_call;     /* per node: an event after it may as well be of what it called */
	bool *unsure_root;     /* per node: its event comes by unwinding, or after what is silent */
	bool *hides_frames;    /* per function: in a call of it there may be one of which nothing
				  tells where the callee's frame lies */
	uint32_t *returns;     /* calls, by where they return to */
	uint32_t n_returns;
	/* The last search over tail jumps (tail_jumps.c): the functions that it came to. */
	struct jump_search {
		uint32_t *funcs, n;
		uint32_t *seen; /* per function: the number of the search that came there last */
		uint32_t now;
	} jumps;
	bool go_runtime; /* which moves stacks, and makes threads go on in what nothing called */
};

int parse_tables_new(const struct pugmark_plan *plan, struct parse_tables **out);
void parse_tables_free(struct parse_tables *tables);
const struct decision_table *parse_tables_build(struct parse_tables *tables, uint32_t decision);
/* The table of @decision; NULL where memory is out. Lives as long as @tables. */
static inline const struct decision_table *parse_tables_at(struct parse_tables *tables,
							   uint32_t decision)
{
	const struct decision_table *t = tables->at[decision];
	return t ? t : parse_tables_build(tables, decision);
}

static inline uint32_t first_slot(uint32_t site, uint32_t shift)
{
	return site * 2654435769u >> shift;
}

/* The first of the entries of @site, of which those that follow it may be as well; table->n - n_any
 * where there is none. */
static inline uint32_t parse_tables_first(const struct decision_table *table, uint32_t site)
{
	uint32_t none = table->n - table->n_any, at, mask = UINT32_MAX >> table->slot_shift;
	for (uint32_t i = first_slot(site, table->slot_shift); (at = table->slots[i]) < none;
	     i = (i + 1) & mask)
		if (table->entries[at].site == site)
			return at;
	return none;
}

/* Whether @func can run from entry to return without an event. */
bool parse_tables_func_empty(const struct parse_tables *tables, uint32_t func);
/* The call node that returns to ELF address @addr, or PUGMARK_NONE; it may be a
 * PUGMARK_NODE_KIND_OPAQUE.
 */
uint32_t parse_tables_return_to(const struct parse_tables *tables, uint64_t addr);
/* Whether a frame of @func may have been made by other than a direct call. */
bool parse_tables_enterable(const struct parse_tables *tables, uint32_t func);
/* The same, where no event has told of it. */
bool parse_tables_enterable_unseen(const struct parse_tables *tables, uint32_t func);
/* Whether a frame of @func may come to be of code that the plan does not know, by tail jumps. */
bool parse_tables_jumps_out(const struct parse_tables *tables, uint32_t func);
/* Whether nothing that @func does, nor what it calls, is outside of the plan: it returns, and no
 * exception and no longjmp comes out of it, but a handler's. */
bool parse_tables_stays_inside(const struct parse_tables *tables, uint32_t func);
/* The node that @site witnesses. */
static inline uint32_t parse_tables_node_of(const struct parse_tables *tables, uint32_t site)
{
	return tables->sites[site].node;
}
/* The function whose entry @site witnesses, or PUGMARK_NONE. */
static inline uint32_t parse_tables_entered_by(const struct parse_tables *tables, uint32_t site)
{
	return tables->sites[site].entered;
}

#endif
