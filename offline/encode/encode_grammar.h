/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_grammar.h: a grammar that says some sequences exactly: a rule is a list of items, an item
 * is a symbol or another rule, and how often it stands there in a row. What Sequitur yields, what
 * is derived from it, and what is printed, saved and checked against. */
#ifndef OFFLINE_ENCODE_GRAMMAR_H
#define OFFLINE_ENCODE_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAMMAR_RULE 0x80000000u /* symbol: the rest is the index of a rule */
#define GRAMMAR_MANY UINT32_MAX	 /* count: more than K times, how often is not said */

struct grammar_item {
	uint32_t symbol;
	uint32_t count; /* from 1 */
};

/* items[first .. first + n) */
struct grammar_rule {
	uint32_t first, n;
};

struct grammar {
	struct grammar_rule *sequences; /* in the order they were begun */
	struct grammar_rule *rules;	/* each used at least twice; used ones before users */
	struct grammar_item *items;
	uint32_t n_sequences, n_rules, n_items;
};

void grammar_free(struct grammar *grammar);

/* Gets what a sequence says, in pieces. Non-zero stops. */
typedef int grammar_sink(void *ctx, const uint32_t *symbols, size_t n);

/* Says the sequence at @sequence. 0, -ENOMEM, -EDOM if a count is "many", or what @sink said. */
int grammar_expand(const struct grammar *grammar, uint32_t sequence, grammar_sink *sink, void *ctx);
/* The same, symbol by symbol. */
struct grammar_iter;
/* 0, or -ENOMEM; the caller frees it, and the grammar outlives it. */
int grammar_iter_new(const struct grammar *grammar, uint32_t sequence, struct grammar_iter **out);
void grammar_iter_free(struct grammar_iter *iter);
/* 1 and the next symbol, 0 at the end, -ENOMEM, or -EDOM if a count is "many". */
int grammar_iter_next(struct grammar_iter *iter, uint32_t *symbol);
/* How many symbols all rules and sequences have together: the size of the grammar. */
uint64_t grammar_size(const struct grammar *grammar);

/* A grammar with repetition counts in place of the rules that a run of one symbol takes, from one
 * without (all counts are 1). Counts above @k become GRAMMAR_MANY unless @k is 0. 0 and a grammar
 * that the caller frees, or -ENOMEM. */
int grammar_runs(const struct grammar *grammar, uint32_t k, struct grammar **out);
/* A grammar all of whose rules are balanced, from one that never closes in a rule what it did not
 * open there (sequitur_new with balanced set). 0 or -ENOMEM. */
int grammar_balance(const struct grammar *grammar, struct grammar **out);

#endif
