// SPDX-License-Identifier: LGPL-2.1-or-later
/* grammar_iter.c: what a grammar says (encode_grammar.h): its symbols one after the other. The
 * stack has a place for each rule that is being read. */
#include "offline/encode/encode_grammar.h"

#include "offline/base/vec.h"

#include <errno.h>
#include <stdlib.h>

struct place {
	uint32_t item, end; /* items to go on with */
	uint32_t left;	    /* of the current item's count */
};

struct grammar_iter {
	const struct grammar *g;
	VEC(struct place) stack;
};

static int enter_rule(struct grammar_iter *it, struct grammar_rule rule)
{
	return VEC_PUSH(&it->stack, (struct place){rule.first, rule.first + rule.n, 0}) ? 0
											: -ENOMEM;
}

int grammar_iter_new(const struct grammar *g, uint32_t sequence, struct grammar_iter **out)
{
	struct grammar_iter *it = calloc(1, sizeof(*it));
	if (!it)
		return -ENOMEM;
	it->g = g;
	int err = enter_rule(it, g->sequences[sequence]);
	if (err)
		grammar_iter_free(it);
	else
		*out = it;
	return err;
}

void grammar_iter_free(struct grammar_iter *it)
{
	if (!it)
		return;
	VEC_FREE(&it->stack);
	free(it);
}

int grammar_iter_next(struct grammar_iter *it, uint32_t *symbol)
{
	while (it->stack.n) {
		struct place *p = &it->stack.at[it->stack.n - 1];
		if (p->item == p->end) {
			it->stack.n--;
			continue;
		}
		const struct grammar_item *item = &it->g->items[p->item];
		if (item->count == GRAMMAR_MANY)
			return -EDOM;
		if (!p->left)
			p->left = item->count;
		if (!--p->left)
			p->item++;
		if (!(item->symbol & GRAMMAR_RULE)) {
			*symbol = item->symbol;
			return 1;
		}
		int err = enter_rule(it, it->g->rules[item->symbol & ~GRAMMAR_RULE]);
		if (err)
			return err;
	}
	return 0;
}

int grammar_expand(const struct grammar *g, uint32_t sequence, grammar_sink *sink, void *ctx)
{
	struct grammar_iter *it;
	uint32_t out[1024], n = 0;
	int got, err = grammar_iter_new(g, sequence, &it);
	if (err)
		return err;
	while (!err && (got = grammar_iter_next(it, &out[n])) == 1)
		if (++n == sizeof(out) / sizeof(*out)) {
			err = sink(ctx, out, n);
			n = 0;
		}
	grammar_iter_free(it);
	if (!err && got < 0)
		err = got;
	return err || !n ? err : sink(ctx, out, n);
}
