/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_explain.h: one function of a plan as its grammar: what can follow what, which of it is
 * witnessed and why, and for each decision the first events of its alternatives. For the files
 * plan_explain_*.c, one a format. */
#ifndef USER_PLAN_EXPLAIN_H
#define USER_PLAN_EXPLAIN_H

#include "offline/recover/tables/parse_tables.h"
#include "user/plan/plan_show.h"

/* How the first events of two alternatives differ. */
enum told { TOLD_SITE, TOLD_DEPTH, TOLD_RET, TOLD_NOT, N_TOLD };
extern const char *const explainer_told_names[];

struct explainer {
	struct outbuf *out;
	const struct pugmark_plan *plan;
	const struct pugmark_plan_func *func;
	struct parse_tables *tables;
	uint32_t *decisions, n; /* those of the function, its entry's first */
};

/* Function @func of what is shown. 0 or -ENOMEM; explainer_deinit() releases in either case. */
int explainer_init(struct explainer *explainer, const struct plan_shown *shown, uint32_t func);
void explainer_deinit(struct explainer *explainer);

/* Which of the function's decisions @decision is. */
uint32_t explainer_number_of(const struct explainer *explainer, uint32_t decision);
/* How many decisions follow @node, and the @i-th of them. */
uint32_t explainer_n_ways(const struct pugmark_plan_node *node);
uint32_t explainer_way(const struct explainer *explainer, const struct pugmark_plan_node *node,
		       uint32_t i);

/* Counts in @told how pairs of terminals of different alternatives differ. Sites that differ are
 * the rule, and counted once. */
void explainer_compare(const struct explainer *explainer, const struct decision_table *table,
		       uint32_t *told);
/* Why node @index has a witness, the reasons joined. */
void explainer_put_reasons(const struct explainer *explainer, uint32_t index);
/* What @node is, and what it calls ("": nothing), in words. */
const char *explainer_kind_of(const struct pugmark_plan_node *node);
const char *explainer_callee_of(const struct explainer *explainer,
				const struct pugmark_plan_node *node);

#endif
