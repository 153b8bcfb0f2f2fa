// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_sequitur_grammar.c: the grammar that Sequitur has come to, written out: numbered so that
 * used rules come before users, and without what only dropped sequences use. */
#include "offline/encode/encode_sequitur_impl.h"

#include <errno.h>

/* Numbers rules so that used ones come before users, and leaves out those with one use. */
struct flattening {
	const struct sequitur *s;
	uint32_t *uses;	     /* per rule, by what is not dropped */
	uint32_t *numbers;   /* per rule: its number + 1, or 0 */
	VEC(uint32_t) stack; /* nodes to go on at */
	VEC(uint32_t) order; /* rules in an order of use; then those to write, by number */
	uint64_t n_items;
};

static uint32_t first_of(const struct sequitur *s, uint32_t r)
{
	return s->nodes.at[s->rules.at[r].guard].next;
}

/* Counts the uses of all rules below @root, and puts them in order. */
static int count_uses(struct flattening *f, uint32_t root)
{
	const struct sequitur *s = f->s;
	if (!VEC_PUSH(&f->stack, first_of(s, root)))
		return -ENOMEM;
	while (f->stack.n) {
		uint32_t n = f->stack.at[f->stack.n - 1], value = s->nodes.at[n].value;
		if (is_guard(value)) {
			f->stack.n--;
			if (rule_of(value) != root && !VEC_PUSH(&f->order, rule_of(value)))
				return -ENOMEM;
			continue;
		}
		f->stack.at[f->stack.n - 1] = s->nodes.at[n].next;
		f->n_items++;
		if (is_rule(value) && !f->uses[rule_of(value)]++ &&
		    !VEC_PUSH(&f->stack, first_of(s, rule_of(value))))
			return -ENOMEM;
	}
	return 0;
}

static void number_rules(struct flattening *f)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->order.n; i++) {
		uint32_t r = f->order.at[i];
		if (f->uses[r] < 2)
			continue;
		f->order.at[n++] = r;
		f->numbers[r] = n;
	}
	f->order.n = n;
}

/* Writes the items of rule @r, those of rules that are used once in their place. */
static int write_rule(struct flattening *f, uint32_t r, struct grammar *g, struct grammar_rule *out)
{
	const struct sequitur *s = f->s;
	out->first = g->n_items;
	if (!VEC_PUSH(&f->stack, first_of(s, r)))
		return -ENOMEM;
	while (f->stack.n) {
		uint32_t n = f->stack.at[f->stack.n - 1], value = s->nodes.at[n].value;
		if (is_guard(value)) {
			f->stack.n--;
			continue;
		}
		f->stack.at[f->stack.n - 1] = s->nodes.at[n].next;
		uint32_t number = is_rule(value) ? f->numbers[rule_of(value)] : 0;
		if (is_rule(value) && !number) {
			if (!VEC_PUSH(&f->stack, first_of(s, rule_of(value))))
				return -ENOMEM;
			continue;
		}
		if (number)
			value = GRAMMAR_RULE | (number - 1);
		g->items[g->n_items++] = (struct grammar_item){value, 1};
	}
	out->n = g->n_items - out->first;
	return 0;
}

static int write_grammar(struct flattening *f, struct grammar *g)
{
	const struct sequitur *s = f->s;
	if (f->n_items >= UINT32_MAX)
		return -ENOMEM;
	g->items = malloc((f->n_items + 1) * sizeof(*g->items));
	g->rules = malloc((f->order.n + 1) * sizeof(*g->rules));
	g->sequences = calloc(s->sequences.n + 1, sizeof(*g->sequences));
	if (!g->items || !g->rules || !g->sequences)
		return -ENOMEM;
	int err = 0;
	for (uint32_t i = 0; !err && i < f->order.n; i++)
		err = write_rule(f, f->order.at[i], g, &g->rules[g->n_rules++]);
	for (uint32_t i = 0; !err && i < s->sequences.n; i++) {
		struct grammar_rule *to = &g->sequences[g->n_sequences++];
		if (!s->rules.at[s->sequences.at[i]].dropped)
			err = write_rule(f, s->sequences.at[i], g, to);
	}
	return err;
}

int sequitur_grammar(const struct sequitur *s, struct grammar **out)
{
	struct flattening f = {
		.s = s,
		.uses = calloc(s->rules.n + 1, sizeof(*f.uses)),
		.numbers = calloc(s->rules.n + 1, sizeof(*f.numbers)),
	};
	struct grammar *g = calloc(1, sizeof(*g));
	int err = s->failed || !f.uses || !f.numbers || !g ? -ENOMEM : 0;
	for (uint32_t i = 0; !err && i < s->sequences.n; i++)
		if (!s->rules.at[s->sequences.at[i]].dropped)
			err = count_uses(&f, s->sequences.at[i]);
	if (!err) {
		number_rules(&f);
		err = write_grammar(&f, g);
	}
	free(f.uses);
	free(f.numbers);
	VEC_FREE(&f.stack);
	VEC_FREE(&f.order);
	if (err)
		grammar_free(g);
	else
		*out = g;
	return err;
}
