// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_encode_fsa.c: claims about automata from k-tails: the strings of Reiss and Renieris (ICSE
 * 2001, section 4) come out as their text derives them, an automaton accepts every sequence that it
 * was built from, is deterministic and minimal, and no two of its states share a k-tail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offline/encode/encode_fsa.h"
#include "tests/support/strings.h"

static struct fsa *fsa_of(const struct string *strings, uint32_t n, uint32_t k, bool loops,
			  enum fsa_stage stage)
{
	struct fsa_builder *b;
	struct fsa *fsa;
	uint32_t automaton;
	assert_int_equal(fsa_builder_new(k, loops, &b), 0);
	assert_int_equal(fsa_builder_add(b, &automaton), 0);
	for (uint32_t i = 0; i < n; i++) {
		struct fsa_cursor c;
		fsa_begin(&c, automaton, 1);
		for (uint32_t j = 0; j < strings[i].n; j++)
			assert_int_equal(fsa_put(b, &c, strings[i].at[j]), 0);
		assert_int_equal(fsa_end(b, &c, true), 0);
	}
	assert_int_equal(fsa_finish(b, automaton, stage, &fsa), 0);
	fsa_builder_free(b);
	return fsa;
}

/* "0 a>1; 1 b>1 c>2; 2! d>1": ! accepts. */
static const char *text_of(const struct fsa *fsa)
{
	static char text[1024];
	FILE *out = fmemopen(text, sizeof(text), "w");
	for (uint32_t q = 0; q < fsa->n_states; q++) {
		fprintf(out, "%s%u%s", q ? "; " : "", q, fsa->accepted[q] ? "!" : "");
		for (uint32_t i = fsa->first[q]; i < fsa->first[q + 1]; i++)
			fprintf(out, " %c>%u", letter_of(fsa->arcs[i].symbol), fsa->arcs[i].to);
	}
	fclose(out);
	return text;
}

static void assert_fsa(const char *letters, uint32_t k, bool loops, enum fsa_stage stage,
		       const char *want)
{
	struct string string = {0};
	string_letters(&string, letters);
	struct fsa *fsa = fsa_of(&string, 1, k, loops, stage);
	assert_string_equal(text_of(fsa), want);
	assert_true(fsa_accepts(fsa, string.at, string.n));
	fsa_free(fsa);
	string_deinit(&string);
}

/* Figure 2, derived from the algorithm, since the figure itself is not legible in our copy: the
 * b's become a loop where tail bbc meets bbb, the three d's are states of their own. */
static void paper_basic(void **state)
{
	(void)state;
	assert_fsa("abbbbbbbbbcdddbcdc", 3, false, FSA_AS_BUILT,
		   "0 a>1; 1 b>1 c>2; 2 d>3; 3 c>4 d>5; 4!; 5 d>1");
	assert_fsa("abbbbbbbbbcdddbcdc", 3, false, FSA_MINIMAL,
		   "0 a>1; 1 b>1 c>2; 2 d>3; 3 c>4 d>5; 4!; 5 d>1");
}

/* Figure 3: with loops, "s1 and s3 merge"; the loop that s1 has on d is no reason to merge it with
 * s2, from where d leads to s1. */
static void paper_loops(void **state)
{
	(void)state;
	assert_fsa("abbbbbbbbbcdddbcdc", 3, true, FSA_AS_BUILT, "0 a>1; 1 b>1 c>2 d>1; 2! d>1");
	assert_fsa("abbbbbbbbbcdddbcdc", 3, true, FSA_MINIMAL, "0 a>1; 1 b>1 c>2 d>1; 2! d>1");
}

/* "The automaton would consist of seven states, a single transition from one to the next": six, and
 * the one behind their transition for the end. With loops, the first b is part of the loop, and
 * so no reason to merge the state before it with the one that has it. */
static void paper_short(void **state)
{
	(void)state;
	assert_fsa("abbbc", 3, false, FSA_MINIMAL, "0 a>1; 1 b>2; 2 b>3; 3 b>4; 4 c>5; 5!");
	assert_fsa("abbbc", 3, true, FSA_MINIMAL, "0 a>1; 1 b>2; 2 b>2 c>3; 3!");
}

static void small_ones(void **state)
{
	(void)state;
	assert_fsa("", 3, true, FSA_MINIMAL, "0!");
	assert_fsa("a", 3, true, FSA_MINIMAL, "0 a>1; 1!");
	assert_fsa("aa", 3, true, FSA_MINIMAL, "0 a>1; 1! a>1");
	assert_fsa("ab", 1, false, FSA_MINIMAL, "0 a>1; 1 b>2; 2!");
}

/* An empty sequence makes the start accept, and no end a start. */
static void empty_and_cut(void **state)
{
	(void)state;
	struct string strings[2] = {0};
	string_letters(&strings[0], "ab");
	struct fsa *fsa = fsa_of(strings, 2, 3, true, FSA_MINIMAL);
	assert_string_equal(text_of(fsa), "0! a>1; 1 b>2; 2!");
	fsa_free(fsa);

	struct fsa_builder *b;
	struct fsa_cursor c;
	uint32_t automaton;
	assert_int_equal(fsa_builder_new(3, true, &b), 0);
	assert_int_equal(fsa_builder_add(b, &automaton), 0);
	fsa_begin(&c, automaton, 5);
	assert_int_equal(fsa_put(b, &c, letter('a')), 0);
	assert_int_equal(fsa_end(b, &c, false), 0);
	assert_int_equal(fsa_finish(b, automaton, FSA_MINIMAL, &fsa), 0);
	assert_string_equal(text_of(fsa), "0 a>1; 1");
	assert_int_equal(fsa->cut[1], 5);
	assert_int_equal(fsa->arcs[0].count, 5);
	fsa_free(fsa);
	fsa_builder_free(b);
	string_deinit(&strings[0]);
}

/* ---- on random strings ---- */

/* All words of k symbols from a state, as a naive walk lists them; the end goes on for ever. The
 * last place says whether the word begins with a loop. */
struct words {
	uint32_t at[8192][4];
	uint32_t n;
};

static void list_words(const struct fsa *fsa, uint32_t q, uint32_t k, uint32_t depth,
		       uint32_t *word, struct words *out)
{
	if (depth == k) {
		assert_true(out->n < 8192);
		memcpy(out->at[out->n++], word, sizeof(out->at[0]));
		return;
	}
	if (fsa->accepted[q] && !(q == 0 && depth == 0)) {
		for (uint32_t i = depth; i < k; i++)
			word[i] = UINT32_MAX;
		assert_true(out->n < 8192);
		memcpy(out->at[out->n++], word, sizeof(out->at[0]));
	}
	for (uint32_t i = fsa->first[q]; i < fsa->first[q + 1]; i++) {
		bool loop = !depth && fsa->arcs[i].to == q;
		word[depth] = fsa->arcs[i].symbol;
		if (!depth)
			word[3] = loop;
		list_words(fsa, fsa->arcs[i].to, k, depth + 1, word, out);
	}
}

static bool share_a_word(const struct fsa *fsa, uint32_t p, uint32_t q, uint32_t k, bool loops)
{
	static struct words a, b;
	uint32_t word[4] = {0};
	a.n = b.n = 0;
	list_words(fsa, p, k, 0, word, &a);
	memset(word, 0, sizeof(word));
	list_words(fsa, q, k, 0, word, &b);
	for (uint32_t i = 0; i < a.n; i++)
		for (uint32_t j = 0; j < b.n; j++)
			if (!memcmp(a.at[i], b.at[j], k * sizeof(a.at[0][0])) &&
			    (!loops || a.at[i][3] == b.at[j][3]))
				return true;
	return false;
}

static void assert_no_shared_tail(const struct fsa *fsa, uint32_t k, bool loops)
{
	for (uint32_t p = 0; p < fsa->n_states; p++)
		for (uint32_t q = 0; q < p; q++)
			assert_false(share_a_word(fsa, p, q, k, loops));
}

static void assert_deterministic(const struct fsa *fsa)
{
	uint64_t ends = 0;
	for (uint32_t q = 0; q < fsa->n_states; q++) {
		ends += fsa->accepted[q];
		for (uint32_t i = fsa->first[q]; i < fsa->first[q + 1]; i++) {
			assert_true(fsa->arcs[i].to < fsa->n_states);
			assert_true(i == fsa->first[q] ||
				    fsa->arcs[i - 1].symbol < fsa->arcs[i].symbol);
		}
	}
	assert_true(ends > 0);
}

static uint64_t arcs_taken(const struct fsa *fsa)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < fsa->n_arcs; i++)
		n += fsa->arcs[i].count;
	return n;
}

static void random_strings(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++)
		for (int kind = 0; kind < N_STRING_KINDS; kind++) {
			struct string strings[3] = {0};
			uint32_t n = 1 + seed % 3, k = 1 + seed % 3;
			uint64_t symbols = 0;
			for (uint32_t i = 0; i < n; i++) {
				string_random(&strings[i], kind, 1 + seed, seed + i);
				symbols += strings[i].n;
			}
			for (int way = 0; way < 6; way++) {
				enum fsa_stage stage = (enum fsa_stage)(way / 2);
				struct fsa *fsa = fsa_of(strings, n, k, way & 1, stage);
				assert_deterministic(fsa);
				assert_int_equal(arcs_taken(fsa), symbols);
				for (uint32_t i = 0; i < n; i++)
					assert_true(fsa_accepts(fsa, strings[i].at, strings[i].n));
				if (stage == FSA_MERGED && fsa->n_arcs < 40)
					assert_no_shared_tail(fsa, k, way & 1);
				fsa_free(fsa);
			}
			for (uint32_t i = 0; i < n; i++)
				string_deinit(&strings[i]);
		}
}

/* What was never seen over k symbols is not accepted. */
static void does_not_accept_all(void **state)
{
	(void)state;
	struct string seen = {0}, other = {0};
	string_letters(&seen, "openreadreadreadclose");
	string_letters(&other, "openclosereadclose");
	struct fsa *fsa = fsa_of(&seen, 1, 3, true, FSA_MINIMAL);
	assert_true(fsa_accepts(fsa, seen.at, seen.n));
	assert_false(fsa_accepts(fsa, other.at, other.n));
	assert_false(fsa_accepts(fsa, seen.at, seen.n - 1));
	fsa_free(fsa);
	string_deinit(&seen);
	string_deinit(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paper_basic),	       cmocka_unit_test(paper_loops),
		cmocka_unit_test(paper_short),	       cmocka_unit_test(small_ones),
		cmocka_unit_test(empty_and_cut),       cmocka_unit_test(random_strings),
		cmocka_unit_test(does_not_accept_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
