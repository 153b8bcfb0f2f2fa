// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_grammar.c: see encode_grammar.h. A derived grammar is drafted rule by rule, each after the
 * rules that it uses; rules with equal right-hand sides become one. A rule that is used only once
 * is then written out at its place, and the others are numbered anew. */
#include "offline/encode/encode_grammar.h"

#include "offline/base/hash.h"
#include "offline/base/vec.h"
#include "offline/encode/encode_symbols.h"

#include <errno.h>
#include <string.h>

typedef VEC(struct grammar_item) item_vec;

void grammar_free(struct grammar *g)
{
	if (!g)
		return;
	free(g->sequences);
	free(g->rules);
	free(g->items);
	free(g);
}

uint64_t grammar_size(const struct grammar *g)
{
	return g->n_items;
}

static bool is_rule(uint32_t symbol)
{
	return symbol & GRAMMAR_RULE;
}

static uint32_t rule_of(uint32_t symbol)
{
	return symbol & ~GRAMMAR_RULE;
}

/* ---- a draft ---- */

struct draft {
	item_vec items;
	VEC(struct grammar_rule) rules;
	VEC(struct grammar_rule) sequences;
	uint32_t *slots; /* rule + 1, by right-hand side */
	uint32_t mask;
};

static void draft_deinit(struct draft *d)
{
	VEC_FREE(&d->items);
	VEC_FREE(&d->rules);
	VEC_FREE(&d->sequences);
	free(d->slots);
}

static int draft_init(struct draft *d)
{
	*d = (struct draft){.mask = 255};
	d->slots = calloc(d->mask + 1, sizeof(*d->slots));
	return d->slots ? 0 : -ENOMEM;
}

static uint64_t hash_items(const struct grammar_item *items, uint32_t n)
{
	return hash_bytes(items, n * sizeof(*items));
}

static uint32_t *draft_slot(const struct draft *d, const struct grammar_item *items, uint32_t n)
{
	uint32_t i = (uint32_t)hash_items(items, n) & d->mask;
	for (; d->slots[i]; i = (i + 1) & d->mask) {
		const struct grammar_rule *r = &d->rules.at[d->slots[i] - 1];
		if (r->n == n && !memcmp(d->items.at + r->first, items, n * sizeof(*items)))
			break;
	}
	return &d->slots[i];
}

static int draft_grow(struct draft *d)
{
	uint32_t *slots = calloc(2 * (size_t)d->mask + 2, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(d->slots);
	d->slots = slots;
	d->mask = 2 * d->mask + 1;
	for (uint32_t i = 0; i < d->rules.n; i++)
		*draft_slot(d, d->items.at + d->rules.at[i].first, d->rules.at[i].n) = i + 1;
	return 0;
}

static int draft_items(struct draft *d, const struct grammar_item *items, uint32_t n,
		       struct grammar_rule *out)
{
	if (!VEC_RESERVE(&d->items, n))
		return -ENOMEM;
	*out = (struct grammar_rule){d->items.n, n};
	if (n)
		memcpy(d->items.at + d->items.n, items, n * sizeof(*items));
	d->items.n += n;
	return 0;
}

/* The rule with these items, new or known. */
static int draft_rule(struct draft *d, const struct grammar_item *items, uint32_t n, uint32_t *rule)
{
	uint32_t *slot = draft_slot(d, items, n);
	if (*slot) {
		*rule = *slot - 1;
		return 0;
	}
	struct grammar_rule r;
	int err = draft_items(d, items, n, &r);
	if (err || !VEC_PUSH(&d->rules, r))
		return -ENOMEM;
	*slot = d->rules.n;
	*rule = d->rules.n - 1;
	return 2 * d->rules.n > d->mask ? draft_grow(d) : 0;
}

static int draft_sequence(struct draft *d, const struct grammar_item *items, uint32_t n)
{
	struct grammar_rule r;
	int err = draft_items(d, items, n, &r);
	return !err && VEC_PUSH(&d->sequences, r) ? 0 : -ENOMEM;
}

/* Adds an item at the end, as part of the run there if it continues one; @k: see grammar_runs().
 * Counts that do not fit stay apart. */
static int push_item(item_vec *items, struct grammar_item item, bool runs, uint32_t k)
{
	struct grammar_item *last = items->n ? &items->at[items->n - 1] : NULL;
	if (runs && last && last->symbol == item.symbol) {
		bool many = last->count == GRAMMAR_MANY || item.count == GRAMMAR_MANY;
		uint64_t sum = (uint64_t)last->count + item.count;
		if (many || sum < GRAMMAR_MANY) {
			last->count = many || (k && sum > k) ? GRAMMAR_MANY : (uint32_t)sum;
			return 0;
		}
	}
	if (k && item.count > k)
		item.count = GRAMMAR_MANY;
	return VEC_PUSH(items, item) ? 0 : -ENOMEM;
}

/* Items of a rule that are still to be written out. */
struct to_write {
	uint32_t item, end;
};

/* Adds the rule's items; those of a rule that is used once take its place. */
static int write_out(const struct draft *d, struct grammar_rule rule, const uint32_t *uses,
		     const uint32_t *numbers, bool runs, uint32_t k, item_vec *out)
{
	VEC(struct to_write) stack = {0};
	int err =
		VEC_PUSH(&stack, (struct to_write){rule.first, rule.first + rule.n}) ? 0 : -ENOMEM;
	while (!err && stack.n) {
		struct to_write *p = &stack.at[stack.n - 1];
		if (p->item == p->end) {
			stack.n--;
			continue;
		}
		struct grammar_item item = d->items.at[p->item++];
		if (is_rule(item.symbol) && uses[rule_of(item.symbol)] < 2) {
			struct grammar_rule used = d->rules.at[rule_of(item.symbol)];
			if (!VEC_PUSH(&stack, (struct to_write){used.first, used.first + used.n}))
				err = -ENOMEM;
			continue;
		}
		if (is_rule(item.symbol))
			item.symbol = GRAMMAR_RULE | (numbers[rule_of(item.symbol)] - 1);
		err = push_item(out, item, runs, k);
	}
	VEC_FREE(&stack);
	return err;
}

/* Counts uses from the sequences down; users have higher numbers than what they use. */
static void count_uses(const struct draft *d, uint32_t *uses)
{
	for (uint32_t pass = d->rules.n + d->sequences.n; pass-- > 0;) {
		bool sequence = pass >= d->rules.n;
		struct grammar_rule r =
			sequence ? d->sequences.at[pass - d->rules.n] : d->rules.at[pass];
		if (!sequence && !uses[pass])
			continue;
		for (uint32_t i = r.first; i < r.first + r.n; i++) {
			uint32_t symbol = d->items.at[i].symbol;
			if (is_rule(symbol) && uses[rule_of(symbol)] < 2)
				uses[rule_of(symbol)] += d->items.at[i].count > 1 ? 2 : 1;
		}
	}
}

static int fill_grammar(const struct draft *d, bool runs, uint32_t k, const uint32_t *uses,
			uint32_t *numbers, struct grammar *g)
{
	item_vec items = {0};
	int err = 0;
	g->rules = malloc((d->rules.n + 1) * sizeof(*g->rules));
	g->sequences = malloc((d->sequences.n + 1) * sizeof(*g->sequences));
	if (!g->rules || !g->sequences)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < d->rules.n + d->sequences.n; i++) {
		bool sequence = i >= d->rules.n;
		if (!sequence && uses[i] < 2)
			continue;
		struct grammar_rule from =
			sequence ? d->sequences.at[i - d->rules.n] : d->rules.at[i];
		item_vec one = {0};
		err = write_out(d, from, uses, numbers, runs, k, &one);
		struct grammar_rule to = {items.n, one.n};
		if (!err && !VEC_RESERVE(&items, one.n + 1))
			err = -ENOMEM;
		if (!err && one.n)
			memcpy(items.at + items.n, one.at, one.n * sizeof(*one.at));
		items.n += err ? 0 : one.n;
		VEC_FREE(&one);
		if (sequence)
			g->sequences[g->n_sequences++] = to;
		else
			g->rules[g->n_rules++] = to;
		if (!sequence)
			numbers[i] = g->n_rules;
	}
	g->items = items.at;
	g->n_items = items.n;
	return err;
}

static int draft_finish(const struct draft *d, bool runs, uint32_t k, struct grammar **out)
{
	uint32_t *uses = calloc(d->rules.n + 1, sizeof(*uses));
	uint32_t *numbers = calloc(d->rules.n + 1, sizeof(*numbers));
	struct grammar *g = calloc(1, sizeof(*g));
	int err = uses && numbers && g ? 0 : -ENOMEM;
	if (!err) {
		count_uses(d, uses);
		err = fill_grammar(d, runs, k, uses, numbers, g);
	}
	free(uses);
	free(numbers);
	if (err)
		grammar_free(g);
	else
		*out = g;
	return err;
}

/* ---- repetition counts ---- */

/* @item in the derived grammar, where old rule i has become became[i]. */
static struct grammar_item translate(struct grammar_item item, const struct grammar_item *became)
{
	if (!is_rule(item.symbol))
		return item;
	return became[rule_of(item.symbol)];
}

static int run_items(const struct grammar *g, struct grammar_rule rule,
		     const struct grammar_item *became, uint32_t k, item_vec *out)
{
	out->n = 0;
	for (uint32_t i = rule.first; i < rule.first + rule.n; i++) {
		int err = push_item(out, translate(g->items[i], became), true, k);
		if (err)
			return err;
	}
	return 0;
}

int grammar_runs(const struct grammar *g, uint32_t k, struct grammar **out)
{
	struct draft d;
	item_vec items = {0};
	struct grammar_item *became = malloc((g->n_rules + 1) * sizeof(*became));
	int err = draft_init(&d);
	if (!became)
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < g->n_rules; i++) {
		err = run_items(g, g->rules[i], became, k, &items);
		if (!err && items.n == 1) {
			became[i] = items.at[0];
			continue;
		}
		uint32_t rule = 0;
		if (!err)
			err = draft_rule(&d, items.at, items.n, &rule);
		became[i] = (struct grammar_item){GRAMMAR_RULE | rule, 1};
	}
	for (uint32_t i = 0; !err && i < g->n_sequences; i++) {
		err = run_items(g, g->sequences[i], became, k, &items);
		if (!err)
			err = draft_sequence(&d, items.at, items.n);
	}
	if (!err)
		err = draft_finish(&d, true, k, out);
	VEC_FREE(&items);
	free(became);
	draft_deinit(&d);
	return err;
}

/* ---- balanced rules ---- */

/* What an old rule has become: a rule of the draft, or, where it leaves brackets open, the items to
 * write in its place: opening symbols, and rules of the draft between them. */
struct balanced {
	bool open;
	uint32_t rule;
	struct grammar_rule parts; /* in struct balancing's parts */
};

struct balancing {
	const struct grammar *g;
	struct draft draft;
	struct balanced *became;
	item_vec parts;
	item_vec items;	     /* of the rule at hand */
	VEC(uint32_t) opens; /* places in items that are not closed yet */
};

static int push_balanced(struct balancing *b, struct grammar_item item)
{
	uint32_t at = b->items.n;
	if (!is_rule(item.symbol)) {
		if (!symbol_closes(item.symbol)) {
			if (!VEC_PUSH(&b->opens, at))
				return -ENOMEM;
		} else if (b->opens.n) {
			b->opens.n--;
		}
	}
	return VEC_PUSH(&b->items, item) ? 0 : -ENOMEM;
}

/* The items of an old rule or sequence, with rules that leave brackets open written out. */
static int balance_items(struct balancing *b, struct grammar_rule rule)
{
	int err = 0;
	b->items.n = b->opens.n = 0;
	for (uint32_t i = rule.first; !err && i < rule.first + rule.n; i++) {
		struct grammar_item item = b->g->items[i];
		if (!is_rule(item.symbol)) {
			err = push_balanced(b, item);
			continue;
		}
		const struct balanced *to = &b->became[rule_of(item.symbol)];
		if (!to->open) {
			item.symbol = GRAMMAR_RULE | to->rule;
			err = push_balanced(b, item);
			continue;
		}
		for (uint32_t k = 0; !err && k < to->parts.n; k++)
			err = push_balanced(b, b->parts.at[to->parts.first + k]);
	}
	return err;
}

/* The items from @from up to @end, behind the last open bracket, are balanced: they become one
 * part. */
static int push_part(struct balancing *b, uint32_t from, uint32_t end)
{
	if (end - from == 0)
		return 0;
	struct grammar_item part = b->items.at[from];
	if (end - from > 1) {
		uint32_t rule;
		int err = draft_rule(&b->draft, b->items.at + from, end - from, &rule);
		if (err)
			return err;
		part = (struct grammar_item){GRAMMAR_RULE | rule, 1};
	}
	return VEC_PUSH(&b->parts, part) ? 0 : -ENOMEM;
}

static int balance_rule(struct balancing *b, uint32_t i)
{
	struct balanced *to = &b->became[i];
	int err = balance_items(b, b->g->rules[i]);
	if (err)
		return err;
	if (!b->opens.n) {
		to->open = false;
		return draft_rule(&b->draft, b->items.at, b->items.n, &to->rule);
	}
	to->open = true;
	to->parts.first = b->parts.n;
	uint32_t from = 0;
	for (uint32_t k = 0; k < b->opens.n; k++) {
		uint32_t open = b->opens.at[k];
		err = push_part(b, from, open);
		if (err || !VEC_PUSH(&b->parts, b->items.at[open]))
			return -ENOMEM;
		from = open + 1;
	}
	err = push_part(b, from, b->items.n);
	to->parts.n = b->parts.n - to->parts.first;
	return err;
}

int grammar_balance(const struct grammar *g, struct grammar **out)
{
	struct balancing b = {.g = g, .became = calloc(g->n_rules + 1, sizeof(*b.became))};
	int err = draft_init(&b.draft);
	if (!b.became)
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < g->n_rules; i++)
		err = balance_rule(&b, i);
	for (uint32_t i = 0; !err && i < g->n_sequences; i++) {
		err = balance_items(&b, g->sequences[i]);
		if (!err)
			err = draft_sequence(&b.draft, b.items.at, b.items.n);
	}
	if (!err)
		err = draft_finish(&b.draft, false, 0, out);
	VEC_FREE(&b.parts);
	VEC_FREE(&b.items);
	VEC_FREE(&b.opens);
	free(b.became);
	draft_deinit(&b.draft);
	return err;
}
