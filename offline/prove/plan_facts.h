/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_facts.h: what the check of a plan knows of an event: whose it is, how far below the function
 * in question its frame lies, and where its activation returns to; and ordered sets of that.
 * Private to plan_check*.c. */
#ifndef OFFLINE_PLAN_FACTS_H
#define OFFLINE_PLAN_FACTS_H

#include <pugmark/model.h>

#include <stdbool.h>
#include <stdint.h>

#define SITE_ENTRY_OF_ANY UINT32_MAX	   /* of any function that may be entered from anywhere */
#define SITE_UNKNOWN_CALL (UINT32_MAX - 1) /* no event: a call of code that is not known */

#define RETURNS_LIKE_SELF UINT32_MAX	   /* where the function in question returns to */
#define RETURNS_TO_DIRECT (UINT32_MAX - 1) /* to some PUGMARK_NODE_KIND_CALL */
#define RETURNS_ANYWHERE (UINT32_MAX - 2)  /* one or the other */
#define RETURNS_TO_US (UINT32_MAX - 3)	   /* to some call of the plan's; in no set */

#define BELOW_UNKNOWN INT32_MIN
#define RETURN_ADDRESS_BYTES 8 /* a callee's frame is at least that far below its caller's */

struct fact {
	uint32_t site;
	int32_t below; /* bytes: CFA of the function in question minus that of the event's frame */
	uint32_t ret;  /* call node, or one of RETURNS_* */
	bool further;  /* that far below or further */
	bool fresh;    /* added or grown since the user of the set last cleared this */
};

/* A named entry is reached by direct calls alone, so what is joined for one site returns to such.
 *
 * Ordered by site, ret, below. When there are more than FACTS_PER_SITE facts of one site (for
 * SITE_ENTRY_OF_ANY and SITE_UNKNOWN_CALL: of one return), they become one that stands for all of
 * them and more: a set only ever grows in what it stands for. */
#define FACTS_PER_SITE 64
#define FACTS_EXACT 256 /* in a set of more, new facts are joined at once */
#define FACTS_APART 4096
#define FACTS_NEAR 4 /* of one return, as many stay apart from what is joined further below */
struct facts {
	struct fact *at; /* heap */
	uint32_t n, cap;
	uint64_t *joined; /* heap, ordered: what has become one */
	uint32_t n_joined, cap_joined;
	bool wide;	/* FACTS_EXACT does not bound it */
	bool apart;	/* and FACTS_PER_SITE is of one return, up to FACTS_APART in all */
	bool unbounded; /* nor FACTS_PER_SITE */
	bool near; /* FACTS_NEAR holds: of a recursion, what lies before its second round is told
		      from all rounds */
};

enum facts_added { FACTS_SAME, FACTS_GREW, FACTS_NO_MEMORY };
enum facts_added facts_add(struct facts *set, struct fact fact);
/* Those of @site are at[*from .. *to). */
void facts_of(const struct facts *set, uint32_t site, uint32_t *from, uint32_t *to);
void facts_clear(struct facts *set);
void facts_free(struct facts *set);

/* @fact of a callee as the caller sees it, which called it at node @call, @height above. */
struct fact fact_lifted(struct fact fact, int32_t height, uint32_t call);

#endif
