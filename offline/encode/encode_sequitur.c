// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_sequitur.c: see encode_sequitur.h. A rule is a ring of nodes around a guard; a sequence is
 * a rule that nothing uses. The digram table holds one place of each pair of neighbours:
 *
 *   append x:  the last pair is looked up; if it stands elsewhere too, both become a rule's name
 *              (`match`), which makes new pairs, which are looked up in turn;
 *   Rules left with one use are written out in its place (`expand`), those with none are deleted.
 *
 * Of overlapping pairs (aaa) the table holds one; when that goes the other is entered (`join`).
 *
 * Nodes are numbers, so that the array may move; node 0 is never used by a rule, and is what is
 * written to once memory has run out. */
#include "offline/encode/encode_sequitur_impl.h"

#include "offline/base/hash.h"
#include "offline/encode/encode_symbols.h"

#include <errno.h>

/* Of matches in one append; past it pairs stay as they are. */
enum { MAX_NESTING = 8192 };

/* ---- storage ---- */

int sequitur_new(bool balanced, struct sequitur **out)
{
	struct sequitur *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->balanced = balanced;
	s->mask = 1023;
	s->slots = calloc((size_t)s->mask + 1, sizeof(*s->slots));
	if (!s->slots || !VEC_PUSH(&s->nodes, (struct node){0})) {
		sequitur_free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void sequitur_free(struct sequitur *s)
{
	if (!s)
		return;
	VEC_FREE(&s->nodes);
	VEC_FREE(&s->rules);
	VEC_FREE(&s->sequences);
	VEC_FREE(&s->lonely);
	free(s->slots);
	free(s);
}

size_t sequitur_bytes(const struct sequitur *s)
{
	return s->nodes.max * sizeof(struct node) + s->rules.max * sizeof(struct rule) +
	       s->sequences.max * sizeof(uint32_t) + ((size_t)s->mask + 1) * sizeof(struct slot);
}

static uint32_t new_node(struct sequitur *s, uint32_t value)
{
	uint32_t n = s->free_node;
	if (n) {
		s->free_node = s->nodes.at[n].next;
	} else if (VEC_PUSH(&s->nodes, (struct node){0})) {
		n = s->nodes.n - 1;
	} else {
		s->failed = true;
		return NONE;
	}
	s->nodes.at[n] = (struct node){.value = value};
	if (is_rule(value)) {
		struct rule *r = &s->rules.at[rule_of(value)];
		s->nodes.at[n].next_use = r->first_use;
		s->nodes.at[r->first_use].prev_use = n;
		r->first_use = n;
		r->uses++;
	}
	return n;
}

static void free_node(struct sequitur *s, uint32_t n)
{
	const struct node node = s->nodes.at[n];
	if (is_rule(node.value)) {
		struct rule *r = &s->rules.at[rule_of(node.value)];
		if (r->first_use == n)
			r->first_use = node.next_use;
		else
			s->nodes.at[node.prev_use].next_use = node.next_use;
		s->nodes.at[node.next_use].prev_use = node.prev_use;
		if (--r->uses < 2 && !VEC_PUSH(&s->lonely, rule_of(node.value)))
			s->failed = true;
	}
	s->nodes.at[n] = (struct node){.next = s->free_node};
	s->free_node = n;
}

static uint32_t new_rule(struct sequitur *s)
{
	uint32_t r = s->free_rule;
	if (r) {
		r--;
		s->free_rule = s->rules.at[r].uses;
	} else if (s->rules.n < 0x3fffffff && VEC_PUSH(&s->rules, (struct rule){0})) {
		r = s->rules.n - 1;
	} else {
		s->failed = true;
		return 0;
	}
	uint32_t guard = new_node(s, GUARD_BIT | r);
	s->nodes.at[guard].prev = s->nodes.at[guard].next = guard;
	s->rules.at[r] = (struct rule){.guard = guard};
	return r;
}

static void free_rule(struct sequitur *s, uint32_t r)
{
	free_node(s, s->rules.at[r].guard);
	s->rules.at[r] = (struct rule){.uses = s->free_rule};
	s->free_rule = r + 1;
}

/* ---- the table of digrams ---- */

static uint32_t home_of(const struct sequitur *s, uint32_t a, uint32_t b)
{
	return (uint32_t)hash_pair(a, b) & s->mask;
}

static uint32_t find_slot(const struct sequitur *s, uint32_t a, uint32_t b)
{
	uint32_t i = home_of(s, a, b);
	while (s->slots[i].node && (s->slots[i].a != a || s->slots[i].b != b))
		i = (i + 1) & s->mask;
	return i;
}

static void grow_table(struct sequitur *s)
{
	struct slot *old = s->slots, *slots;
	uint32_t n = s->mask + 1;
	slots = n < UINT32_C(1) << 31 ? calloc(2 * (size_t)n, sizeof(*slots)) : NULL;
	if (!slots) {
		s->failed = true; /* an eighth of the table is still empty, so probing ends */
		return;
	}
	s->slots = slots;
	s->mask = 2 * n - 1;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].node)
			s->slots[find_slot(s, old[i].a, old[i].b)] = old[i];
	free(old);
}

static void fill_slot(struct sequitur *s, uint32_t i, uint32_t n)
{
	const struct node *node = &s->nodes.at[n];
	if (s->slots[i].node) {
		s->slots[i].node = n;
		return;
	}
	if (s->used >= s->mask - s->mask / 8)
		return; /* it failed to grow */
	s->slots[i] = (struct slot){node->value, s->nodes.at[node->next].value, n};
	if (++s->used > s->mask / 8 * 5)
		grow_table(s);
}

static void empty_slot(struct sequitur *s, uint32_t i)
{
	uint32_t hole = i;
	s->used--;
	for (;;) {
		i = (i + 1) & s->mask;
		if (!s->slots[i].node)
			break;
		uint32_t home = home_of(s, s->slots[i].a, s->slots[i].b);
		if (((i - home) & s->mask) >= ((i - hole) & s->mask)) {
			s->slots[hole] = s->slots[i];
			hole = i;
		}
	}
	s->slots[hole].node = NONE;
}

/* Whether the pair may become a rule. */
static bool is_digram(const struct sequitur *s, uint32_t a, uint32_t b)
{
	if (is_guard(a) || is_guard(b))
		return false;
	if (!s->balanced)
		return true;
	bool a_closes = !is_rule(a) && symbol_closes(a), b_closes = !is_rule(b) && symbol_closes(b);
	return !a_closes && (!b_closes || !is_rule(a) || s->rules.at[rule_of(a)].net > 0);
}

static void forget_digram(struct sequitur *s, uint32_t n)
{
	uint32_t a = s->nodes.at[n].value, b = s->nodes.at[s->nodes.at[n].next].value;
	if (!is_digram(s, a, b))
		return;
	uint32_t i = find_slot(s, a, b);
	if (s->slots[i].node == n)
		empty_slot(s, i);
}

static void enter_digram(struct sequitur *s, uint32_t n)
{
	uint32_t a = s->nodes.at[n].value, b = s->nodes.at[s->nodes.at[n].next].value;
	if (is_digram(s, a, b))
		fill_slot(s, find_slot(s, a, b), n);
}

static bool same_value(const struct sequitur *s, uint32_t n, uint32_t m)
{
	return s->nodes.at[n].value == s->nodes.at[m].value;
}

/* Makes @right follow @left, which ends the pairs that they were in before. */
static void join(struct sequitur *s, uint32_t left, uint32_t right)
{
	struct node *l = &s->nodes.at[left], *r = &s->nodes.at[right];
	if (l->next) {
		forget_digram(s, left);
		if (r->prev && r->next && same_value(s, right, r->prev) &&
		    same_value(s, right, r->next))
			enter_digram(s, right);
		if (l->prev && same_value(s, left, l->next) && same_value(s, left, l->prev))
			enter_digram(s, l->prev);
	}
	l->next = right;
	r->prev = left;
}

/* ---- the algorithm ---- */

static bool check(struct sequitur *s, uint32_t n);

static void insert_after(struct sequitur *s, uint32_t n, uint32_t added)
{
	join(s, added, s->nodes.at[n].next);
	join(s, n, added);
}

static void delete_node(struct sequitur *s, uint32_t n)
{
	join(s, s->nodes.at[n].prev, s->nodes.at[n].next);
	forget_digram(s, n);
	free_node(s, n);
}

/* The pair at @n becomes the name of rule @r. */
static void substitute(struct sequitur *s, uint32_t n, uint32_t r)
{
	uint32_t before = s->nodes.at[n].prev;
	delete_node(s, s->nodes.at[n].next);
	delete_node(s, n);
	insert_after(s, before, new_node(s, GRAMMAR_RULE | r));
	if (s->failed)
		return;
	if (!check(s, before))
		check(s, s->nodes.at[before].next);
}

static uint32_t net_of(const struct sequitur *s, uint32_t value)
{
	if (!s->balanced)
		return 0;
	if (is_rule(value))
		return s->rules.at[rule_of(value)].net;
	return symbol_closes(value) ? -1 : 1;
}

/* Whether the pair at @n is the whole of rule @r. */
static bool is_whole_rule(const struct sequitur *s, uint32_t n, uint32_t *r)
{
	uint32_t before = s->nodes.at[n].prev, after = s->nodes.at[s->nodes.at[n].next].next;
	uint32_t value = s->nodes.at[before].value;
	*r = rule_of(value);
	return before == after && is_guard(value) && !s->rules.at[*r].is_sequence;
}

/* The pair at @n stands at @m as well. */
static void match(struct sequitur *s, uint32_t n, uint32_t m)
{
	uint32_t r;
	if (is_whole_rule(s, m, &r)) {
		substitute(s, n, r);
		return;
	}
	if (is_whole_rule(s, n, &r)) {
		substitute(s, m, r);
		if (s->nodes.at[n].prev == s->rules.at[r].guard)
			enter_digram(s, n);
		return;
	}
	uint32_t a = s->nodes.at[n].value, b = s->nodes.at[s->nodes.at[n].next].value;
	r = new_rule(s);
	uint32_t first = new_node(s, a), second = new_node(s, b);
	if (s->failed)
		return;
	uint32_t guard = s->rules.at[r].guard;
	s->rules.at[r].net = net_of(s, a) + net_of(s, b);
	s->nodes.at[guard].next = s->nodes.at[second].prev = first;
	s->nodes.at[guard].prev = s->nodes.at[first].next = second;
	s->nodes.at[first].prev = s->nodes.at[second].next = guard;
	substitute(s, m, r); /* nothing else uses @r yet, so it can match no further */
	enter_digram(s, first);
	substitute(s, n, r);
}

/* Merges rules @twin and @rule, which have become the same pair. (That takes sequences that grow in
 * turns.) */
static void merge_twin(struct sequitur *s, uint32_t twin, uint32_t rule)
{
	while (s->rules.at[twin].uses && !s->failed) {
		uint32_t n = s->rules.at[twin].first_use, before = s->nodes.at[n].prev;
		delete_node(s, n);
		insert_after(s, before, new_node(s, GRAMMAR_RULE | rule));
		if (!s->failed && !check(s, before))
			check(s, s->nodes.at[before].next);
	}
}

/* Looks the pair at @n up. True if it was found elsewhere, and then @n may be gone. */
static bool check(struct sequitur *s, uint32_t n)
{
	uint32_t next = s->nodes.at[n].next;
	uint32_t a = s->nodes.at[n].value, b = s->nodes.at[next].value;
	if (s->failed || !is_digram(s, a, b))
		return false;
	uint32_t i = find_slot(s, a, b), m = s->slots[i].node;
	if (!m) {
		fill_slot(s, i, n);
		return false;
	}
	if (m == n || m == next || s->nodes.at[m].next == n || s->nesting >= MAX_NESTING)
		return false;
	uint32_t twin, rule;
	s->nesting++;
	if (is_whole_rule(s, n, &twin) && is_whole_rule(s, m, &rule))
		merge_twin(s, twin, rule);
	else
		match(s, n, m);
	s->nesting--;
	return true;
}

/* Writes rule @r out where it has its only use. */
static void expand(struct sequitur *s, uint32_t r)
{
	uint32_t n = s->rules.at[r].first_use, guard = s->rules.at[r].guard;
	uint32_t left = s->nodes.at[n].prev, right = s->nodes.at[n].next;
	uint32_t first = s->nodes.at[guard].next, last = s->nodes.at[guard].prev;
	delete_node(s, n);
	free_rule(s, r);
	/* The two neighbours are not linked yet, nor is the rule's guard a link any more. */
	s->nodes.at[left].next = first;
	s->nodes.at[first].prev = left;
	s->nodes.at[last].next = right;
	s->nodes.at[right].prev = last;
	if (!check(s, left) || s->nodes.at[right].prev == last)
		check(s, s->nodes.at[right].prev);
}

/* Rules left with one use are written out in its place, those with none are deleted. */
static void keep_useful(struct sequitur *s)
{
	while (s->lonely.n && !s->failed) {
		uint32_t r = s->lonely.at[--s->lonely.n], guard = s->rules.at[r].guard;
		if (!guard || s->rules.at[r].uses > 1 || s->rules.at[r].is_sequence)
			continue;
		if (s->rules.at[r].uses) {
			expand(s, r);
			continue;
		}
		while (s->nodes.at[guard].next != guard)
			delete_node(s, s->nodes.at[guard].next);
		free_rule(s, r);
	}
}

/* ---- sequences ---- */

int sequitur_begin(struct sequitur *s, uint32_t *sequence)
{
	uint32_t r = new_rule(s);
	if (s->failed || !VEC_PUSH(&s->sequences, r)) {
		s->failed = true;
		return -ENOMEM;
	}
	s->rules.at[r].is_sequence = true;
	*sequence = s->sequences.n - 1;
	return 0;
}

int sequitur_put(struct sequitur *s, uint32_t sequence, const uint32_t *symbols, size_t n)
{
	uint32_t guard = s->rules.at[s->sequences.at[sequence]].guard;
	for (size_t i = 0; i < n && !s->failed; i++) {
		uint32_t last = s->nodes.at[guard].prev, added = new_node(s, symbols[i]);
		if (!added)
			break;
		struct node *nodes = s->nodes.at;
		nodes[added].prev = last;
		nodes[added].next = guard;
		nodes[last].next = nodes[guard].prev = added;
		check(s, last);
		if (s->lonely.n)
			keep_useful(s);
	}
	return s->failed ? -ENOMEM : 0;
}

void sequitur_drop(struct sequitur *s, uint32_t sequence)
{
	s->rules.at[s->sequences.at[sequence]].dropped = true;
}

/* ---- for tests ---- */

static const char *rule_broken(const struct sequitur *s, uint32_t r)
{
	uint32_t guard = s->rules.at[r].guard, length = 0;
	for (uint32_t n = s->nodes.at[guard].next; n != guard; n = s->nodes.at[n].next) {
		uint32_t next = s->nodes.at[n].next;
		uint32_t a = s->nodes.at[n].value, b = s->nodes.at[next].value;
		length++;
		if (s->nodes.at[next].prev != n)
			return "the links of a rule disagree";
		if (!is_digram(s, a, b))
			continue;
		uint32_t other = s->slots[find_slot(s, a, b)].node;
		if (!other)
			return "a digram is not in the table";
		if (other != n && s->nodes.at[other].next != n && next != other)
			return "a digram occurs twice";
	}
	return !s->rules.at[r].is_sequence && length < 2 ? "a rule is shorter than two" : NULL;
}

const char *sequitur_broken(const struct sequitur *s)
{
	for (uint32_t r = 0; r < s->rules.n; r++) {
		if (!s->rules.at[r].guard)
			continue;
		const char *broken = rule_broken(s, r);
		if (broken)
			return broken;
		if (!s->rules.at[r].is_sequence && s->rules.at[r].uses < 2)
			return "a rule is used less than twice";
	}
	return NULL;
}
