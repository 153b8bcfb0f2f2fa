/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_sequitur_impl.h: rules as encode_sequitur.c builds them, for encode_sequitur_grammar.c
 * too. */
#ifndef OFFLINE_ENCODE_SEQUITUR_IMPL_H
#define OFFLINE_ENCODE_SEQUITUR_IMPL_H

#include "offline/base/vec.h"
#include "offline/encode/encode_sequitur.h"

enum {
	NONE = 0,
	/* In a guard's value, with its rule; never together with GRAMMAR_RULE. */
	GUARD_BIT = 0x40000000,
};

struct node {
	uint32_t value, prev, next;
	uint32_t prev_use, next_use; /* a rule's name: its other uses, NONE at both ends */
};

struct rule {
	uint32_t guard; /* NONE: free, and `uses` is the next free rule */
	uint32_t uses, first_use;
	uint32_t net; /* brackets that it opens and does not close */
	bool is_sequence, dropped;
};

struct slot {
	uint32_t a, b, node;
};

struct sequitur {
	VEC(struct node) nodes;
	VEC(struct rule) rules;
	VEC(uint32_t) sequences; /* their rules */
	struct slot *slots;
	uint32_t mask, used;
	uint32_t free_node, free_rule; /* free_rule: rule + 1 */
	VEC(uint32_t) lonely;	       /* rules that were left with one use, or none */
	uint32_t nesting;
	bool balanced, failed;
};

static inline bool is_rule(uint32_t value)
{
	return value & GRAMMAR_RULE;
}

static inline bool is_guard(uint32_t value)
{
	return (value & (GRAMMAR_RULE | GUARD_BIT)) == GUARD_BIT;
}

static inline uint32_t rule_of(uint32_t value)
{
	return value & 0x3fffffff;
}

#endif
