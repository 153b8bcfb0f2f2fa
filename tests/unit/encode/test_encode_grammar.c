// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_encode_grammar.c: claims about Sequitur and the grammars made from its own: what a grammar
 * says is what went in, no pair of neighbours occurs twice and every rule is used twice, and the
 * strings of Reiss and Renieris (ICSE 2001) come out as they describe. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offline/encode/encode_sequitur.h"
#include "offline/encode/encode_symbols.h"
#include "tests/support/strings.h"

static const char paper[] = "abbbbbbbbbcdddbcdc";

static int collect(void *ctx, const uint32_t *symbols, size_t n)
{
	for (size_t i = 0; i < n; i++)
		string_push(ctx, symbols[i]);
	return 0;
}

static void assert_says(const struct grammar *g, uint32_t sequence, const struct string *want)
{
	struct string got = {0};
	assert_int_equal(grammar_expand(g, sequence, collect, &got), 0);
	assert_int_equal(got.n, want->n);
	if (want->n)
		assert_memory_equal(got.at, want->at, want->n * sizeof(*want->at));
	string_deinit(&got);
}

static struct sequitur *sequitur_of(const struct string *strings, uint32_t n, bool balanced)
{
	struct sequitur *s;
	assert_int_equal(sequitur_new(balanced, &s), 0);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t sequence;
		assert_int_equal(sequitur_begin(s, &sequence), 0);
		assert_int_equal(sequence, i);
		assert_int_equal(sequitur_put(s, i, strings[i].at, strings[i].n), 0);
	}
	return s;
}

static struct grammar *grammar_of(const char *letters)
{
	struct string string = {0};
	struct grammar *g;
	string_letters(&string, letters);
	struct sequitur *s = sequitur_of(&string, 1, false);
	assert_int_equal(sequitur_grammar(s, &g), 0);
	sequitur_free(s);
	string_deinit(&string);
	return g;
}

/* "S=a 8b R0 2d R0 c; R0=b c d" */
static const char *text_of(const struct grammar *g)
{
	static char text[512];
	FILE *out = fmemopen(text, sizeof(text), "w");
	for (uint32_t i = 0; i < g->n_sequences + g->n_rules; i++) {
		bool rule = i >= g->n_sequences;
		struct grammar_rule r = rule ? g->rules[i - g->n_sequences] : g->sequences[i];
		if (rule)
			fprintf(out, "; R%u", i - g->n_sequences);
		else
			fputs(i ? "; S" : "S", out);
		for (uint32_t k = r.first; k < r.first + r.n; k++) {
			const struct grammar_item *item = &g->items[k];
			fputc(k == r.first ? '=' : ' ', out);
			if (item->count == GRAMMAR_MANY)
				fputc('*', out);
			else if (item->count > 1)
				fprintf(out, "%u", item->count);
			if (item->symbol & GRAMMAR_RULE)
				fprintf(out, "R%u", item->symbol & ~GRAMMAR_RULE);
			else
				fputc(letter_of(item->symbol), out);
		}
	}
	fclose(out);
	return text;
}

/* Sequitur isolates bcd, and the b's take two rules, as the paper says. */
static void paper_sequitur(void **state)
{
	(void)state;
	struct grammar *g = grammar_of(paper);
	assert_string_equal(text_of(g), "S=a R1 R1 R2 d d R2 c; R0=b b; R1=R0 R0; R2=b c d");
	grammar_free(g);
}

static void paper_sequitur_runs(void **state)
{
	(void)state;
	struct grammar *g = grammar_of(paper), *runs;
	assert_int_equal(grammar_runs(g, 0, &runs), 0);
	assert_string_equal(text_of(runs), "S=a 8b R0 2d R0 c; R0=b c d");
	grammar_free(runs);
	assert_int_equal(grammar_runs(g, 3, &runs), 0);
	assert_string_equal(text_of(runs), "S=a *b R0 2d R0 c; R0=b c d");
	grammar_free(runs);
	grammar_free(g);
}

/* The examples of the Sequitur paper, section 2. */
static void sequitur_examples(void **state)
{
	(void)state;
	static const char *const examples[][2] = {
		{"abcdbc", "S=a R0 d R0; R0=b c"},
		{"abcdbcabcdbc", "S=R1 R1; R0=b c; R1=a R0 d R0"},
		{"abcdbcabc", "S=R1 d R0 R1; R0=b c; R1=a R0"},
		{"", "S"},
		{"a", "S=a"},
		{"aaa", "S=a a a"},
		{"aaaa", "S=R0 R0; R0=a a"},
	};
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		struct grammar *g = grammar_of(examples[i][0]);
		assert_string_equal(text_of(g), examples[i][1]);
		grammar_free(g);
	}
}

/* A rule once merged by "many" is merged for all that use it. */
static void many_merges(void **state)
{
	(void)state;
	struct string strings[4] = {0};
	struct grammar *g, *runs;
	string_letters(&strings[0], "xbbbbbyxbbbbby");
	string_letters(&strings[1], "xbbbbbbbyxbbbbbbby");
	struct sequitur *s = sequitur_of(strings, 2, false);
	assert_int_equal(sequitur_grammar(s, &g), 0);
	assert_int_equal(grammar_runs(g, 3, &runs), 0);
	assert_int_equal(grammar_expand(runs, 0, collect, &strings[2]), -EDOM);
	for (uint32_t i = 0; i < 2; i++)
		assert_true(runs->sequences[i].n <= g->sequences[i].n);
	grammar_free(runs);
	grammar_free(g);
	sequitur_free(s);
	for (uint32_t i = 0; i < 4; i++)
		string_deinit(&strings[i]);
}

static int64_t min_depth(const struct string *s, int64_t *net)
{
	int64_t depth = 0, min = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		depth += symbol_closes(s->at[i]) ? -1 : 1;
		min = depth < min ? depth : min;
	}
	*net = depth;
	return min;
}

static void assert_rules_balanced(struct grammar *g)
{
	struct grammar_rule *sequences = g->sequences;
	g->sequences = g->rules; /* so that rules can be expanded */
	for (uint32_t i = 0; i < g->n_rules; i++) {
		struct string said = {0};
		int64_t net;
		assert_int_equal(grammar_expand(g, i, collect, &said), 0);
		assert_int_equal(min_depth(&said, &net), 0);
		assert_int_equal(net, 0);
		string_deinit(&said);
	}
	g->sequences = sequences;
}

static void assert_sound(const struct grammar *g)
{
	uint32_t *uses = calloc(g->n_rules + 1, sizeof(*uses));
	for (uint32_t i = 0; i < g->n_rules + g->n_sequences; i++) {
		bool rule = i < g->n_rules;
		struct grammar_rule r = rule ? g->rules[i] : g->sequences[i - g->n_rules];
		for (uint32_t k = r.first; k < r.first + r.n; k++) {
			uint32_t symbol = g->items[k].symbol;
			if (!(symbol & GRAMMAR_RULE))
				continue;
			symbol &= ~GRAMMAR_RULE;
			assert_true(symbol < (rule ? i : g->n_rules));
			uses[symbol] += g->items[k].count > 1 ? 2 : 1;
		}
	}
	for (uint32_t i = 0; i < g->n_rules; i++)
		assert_true(uses[i] >= 2);
	free(uses);
}

/* @n strings at once, in one set of rules: exact in every form. */
static void try_strings(struct string *strings, uint32_t n, bool balanced)
{
	struct sequitur *s = sequitur_of(strings, n, balanced);
	struct grammar *g, *runs, *even;
	const char *broken = sequitur_broken(s);
	assert_string_equal(broken ? broken : "", "");
	assert_int_equal(sequitur_grammar(s, &g), 0);
	assert_int_equal(grammar_runs(g, 0, &runs), 0);
	assert_sound(g);
	assert_sound(runs);
	for (uint32_t i = 0; i < n; i++) {
		assert_says(g, i, &strings[i]);
		assert_says(runs, i, &strings[i]);
	}
	if (balanced) {
		assert_int_equal(grammar_balance(g, &even), 0);
		assert_rules_balanced(even);
		assert_sound(even);
		for (uint32_t i = 0; i < n; i++)
			assert_says(even, i, &strings[i]);
		grammar_free(even);
	}
	grammar_free(runs);
	grammar_free(g);
	sequitur_free(s);
}

static void random_strings(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++)
		for (int kind = 0; kind < N_STRING_KINDS; kind++) {
			struct string strings[3] = {0};
			uint32_t n = 1 + seed % 3;
			for (uint32_t i = 0; i < n; i++)
				string_random(&strings[i], kind, seed % 7 * 60 + seed, seed + i);
			try_strings(strings, n, false);
			if (kind == STRING_BALANCED)
				try_strings(strings, n, true);
			for (uint32_t i = 0; i < n; i++)
				string_deinit(&strings[i]);
		}
}

/* Every string over two letters up to a length: nothing is left to chance. */
static void all_short_strings(void **state)
{
	(void)state;
	for (uint32_t n = 0; n <= 14; n++)
		for (uint32_t bits = 0; bits < 1u << n; bits++) {
			struct string string = {0};
			for (uint32_t i = 0; i < n; i++)
				string_push(&string, letter(bits >> i & 1 ? 'b' : 'a'));
			try_strings(&string, 1, false);
			string_deinit(&string);
		}
}

/* Rules as deep as the string allows: a single symbol can end many. */
static void deep_rules(void **state)
{
	(void)state;
	struct string string = {0};
	string_random(&string, STRING_STAIRCASE, 300000, 1);
	try_strings(&string, 1, false);
	string_deinit(&string);
}

/* Sequences that grow in turns, some taken out again: the others stay what they are. */
static void interleaved_and_dropped(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct string strings[6] = {0};
		struct sequitur *s;
		struct grammar *g;
		uint32_t sequence, done[6] = {0};
		assert_int_equal(sequitur_new(seed & 1, &s), 0);
		for (uint32_t i = 0; i < 6; i++) {
			string_random(&strings[i], seed & 1 ? STRING_BALANCED : (i + seed) % 5, 200,
				      seed + i / 2);
			assert_int_equal(sequitur_begin(s, &sequence), 0);
		}
		for (uint32_t step = 0, i = 0; step < 300; step++, i = (i + 1) % 6) {
			uint32_t n = strings[i].n - done[i];
			n = n > 7 ? 7 : n;
			assert_int_equal(sequitur_put(s, i, strings[i].at + done[i], n), 0);
			done[i] += n;
			if (step == 150)
				sequitur_drop(s, 2);
			if (step == 150)
				done[2] = strings[2].n;
		}
		sequitur_drop(s, 5);
		const char *broken = sequitur_broken(s);
		assert_string_equal(broken ? broken : "", "");
		assert_int_equal(sequitur_grammar(s, &g), 0);
		assert_sound(g);
		strings[2].n = strings[5].n = 0;
		for (uint32_t i = 0; i < 6; i++) {
			strings[i].n = i == 2 || i == 5 ? 0 : done[i];
			assert_says(g, i, &strings[i]);
			string_deinit(&strings[i]);
		}
		grammar_free(g);
		sequitur_free(s);
	}
}

/* Noise costs less the second time, when it is a repetition. */
static void repetition_is_cheap(void **state)
{
	(void)state;
	struct string strings[2] = {0};
	struct grammar *once, *twice;
	string_random(&strings[0], STRING_NOISE, 5000, 7);
	string_random(&strings[1], STRING_NOISE, 5000, 7);
	struct sequitur *s = sequitur_of(strings, 1, false);
	assert_int_equal(sequitur_grammar(s, &once), 0);
	sequitur_free(s);
	s = sequitur_of(strings, 2, false);
	assert_int_equal(sequitur_grammar(s, &twice), 0);
	sequitur_free(s);
	assert_true(grammar_size(twice) < grammar_size(once) * 3 / 2);
	grammar_free(once);
	grammar_free(twice);
	string_deinit(&strings[0]);
	string_deinit(&strings[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paper_sequitur),      cmocka_unit_test(paper_sequitur_runs),
		cmocka_unit_test(sequitur_examples),   cmocka_unit_test(many_merges),
		cmocka_unit_test(random_strings),      cmocka_unit_test(all_short_strings),
		cmocka_unit_test(deep_rules),	       cmocka_unit_test(interleaved_and_dropped),
		cmocka_unit_test(repetition_is_cheap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
