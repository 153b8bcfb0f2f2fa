/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* share_check.h: proves from the tables of a plan, and from who probes which site, and nothing
 * else, that runs under all shares can be put together: Theorem 2 of "Distributed Program Tracing"
 * (ESEC/FSE 2013) for the decisions of the grammar, at level paths as at level calls. It shares no
 * code with the making of shares, nor with their merge (docs/shares.md). */
#ifndef OFFLINE_SHARE_CHECK_H
#define OFFLINE_SHARE_CHECK_H

#include <pugmark/plan.h>

enum share_fault_kind {
	SHARE_FAULT_UNTOLD, /* no share sees something else first after `node` than after `other` */
	SHARE_FAULT_NOBODY, /* no share probes `site` */
	SHARE_FAULT_SPECIAL, /* not every share probes `site`, which is landed at */
	SHARE_FAULT_ENTRY,   /* share 1 does not probe `site`: an entry from anywhere, or a call of
				what is not known */
};

struct share_fault {
	enum share_fault_kind kind;
	uint32_t func;
	uint32_t node, other; /* 0: the function's exit; or PUGMARK_NONE */
	uint32_t site;	      /* or PUGMARK_NONE */
};

struct share_check_counts {
	uint64_t decisions; /* between two alternatives or more */
	uint64_t together;  /* of these, which several shares tell, each some pairs of ways */
	uint64_t alone; /* and those of which something is told by one share alone, with jumps that
			   are read and what is entered from anywhere: in these its run may have
			   differed from all others, and nothing says so */
	uint32_t *alone_of; /* per function of the plan: of these; NULL: not asked for */
	uint64_t faults;
};

typedef void share_fault_sink(void *ctx, const struct share_fault *fault);

/* @members: per site of @plan, a bit for each of @n_shares shares (1 to 64) that probes it. Reports
 * to @sink, which may be NULL; no fault is the proof. @counts: zeros, but for `alone_of`, which the
 * caller may point to zeros. Returns 0 or -ENOMEM. */
int share_check(const struct pugmark_plan *plan, const uint64_t *members, uint32_t n_shares,
		share_fault_sink *sink, void *ctx, struct share_check_counts *counts);

#endif
