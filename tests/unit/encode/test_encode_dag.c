// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_encode_dag.c: claims about the graph that call trees are folded into, about chains, and
 * about the filter before them: the graph says exactly what went in, no two of its nodes are alike,
 * every call is counted once, runs longer than K make calls alike; what a filter lets through is
 * what a naive one does. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "offline/encode/encode_chains.h"
#include "offline/encode/encode_filter.h"
#include "tests/support/strings.h"

/* Tells @sink the string, as a walk would; the n-th symbol happens from 10 n to 10 n + 4. */
static void tell(const struct tree_sink *sink, const struct string *s)
{
	const struct tree_place place = {.thread = "t"};
	assert_int_equal(sink->begin(sink->ctx, &place), 0);
	for (uint32_t i = 0; i < s->n; i++) {
		struct tree_time time = {10 * i, 10 * i + 4};
		if (symbol_closes(s->at[i]))
			assert_int_equal(
				sink->close(sink->ctx,
					    &(struct tree_return){.time = time, .token = s->at[i]}),
				0);
		else
			assert_int_equal(
				sink->open(sink->ctx,
					   &(struct tree_call){.time = time, .symbol = s->at[i]}),
				0);
	}
	assert_int_equal(sink->end(sink->ctx, EDGE_THREAD), 0);
}

static int to_dag_begin(void *ctx, const struct tree_place *place)
{
	(void)place;
	return dag_begin(ctx);
}
static int to_dag_open(void *ctx, const struct tree_call *call)
{
	return dag_open(ctx, call);
}
static int to_dag_close(void *ctx, const struct tree_return *ret)
{
	return dag_close(ctx, ret);
}
static int to_dag_end(void *ctx, enum tree_edge why)
{
	(void)why;
	return dag_end(ctx);
}

static struct dag *dag_of(const struct string *strings, uint32_t n, uint32_t k)
{
	struct dag *dag;
	assert_int_equal(dag_new(k, &dag), 0);
	const struct tree_sink sink = {dag,	     to_dag_begin, to_dag_open,
				       to_dag_close, to_dag_end,   NULL};
	for (uint32_t i = 0; i < n; i++)
		tell(&sink, &strings[i]);
	return dag;
}

static int collect(void *ctx, const uint32_t *symbols, size_t n)
{
	for (size_t i = 0; i < n; i++)
		string_push(ctx, symbols[i]);
	return 0;
}

static void assert_distinct(const struct dag *dag)
{
	uint32_t n, n_items;
	const struct dag_node *nodes = dag_nodes(dag, &n);
	const struct dag_item *items = dag_items(dag, &n_items);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < i; k++)
			assert_false(nodes[i].symbol == nodes[k].symbol &&
				     nodes[i].token == nodes[k].token && nodes[i].n == nodes[k].n &&
				     !memcmp(items + nodes[i].first, items + nodes[k].first,
					     nodes[i].n * sizeof(*items)));
}

static void says_what_went_in(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct string strings[3] = {0};
		uint32_t n = 1 + seed % 3, n_nodes;
		uint64_t calls = 0, counted = 0;
		for (uint32_t i = 0; i < n; i++) {
			string_random(&strings[i], STRING_BALANCED, 10 + seed * 9, seed + i);
			for (uint32_t k = 0; k < strings[i].n; k++)
				calls += !symbol_closes(strings[i].at[k]);
		}
		struct dag *dag = dag_of(strings, n, 0);
		for (uint32_t i = 0; i < n; i++) {
			struct string said = {0};
			assert_int_equal(dag_expand(dag, i, collect, &said), 0);
			assert_int_equal(said.n, strings[i].n);
			assert_memory_equal(said.at, strings[i].at, 4 * said.n);
			string_deinit(&said);
			string_deinit(&strings[i]);
		}
		const struct dag_node *nodes = dag_nodes(dag, &n_nodes);
		for (uint32_t i = 0; i < n_nodes; i++)
			counted += nodes[i].count;
		assert_int_equal(counted, calls);
		assert_int_equal(dag_calls(dag), calls);
		assert_distinct(dag);
		dag_free(dag);
	}
}

/* A(B() C()), A(B(C())) and A() B() C() are three graphs. */
static void three_shapes(void **state)
{
	(void)state;
	static const char *const shapes[] = {"AB)C))", "ABC)))", "A)B)C)"};
	static const uint32_t nodes[] = {3, 3, 3}, roots[] = {1, 1, 3};
	struct string strings[3] = {0};
	uint32_t n;
	for (int i = 0; i < 3; i++) {
		string_letters(&strings[i], shapes[i]);
		struct dag *dag = dag_of(&strings[i], 1, 0);
		dag_nodes(dag, &n);
		assert_int_equal(n, nodes[i]);
		assert_int_equal(dag_roots(dag, &n)[0].n, roots[i]);
		dag_free(dag);
	}
	struct dag *dag = dag_of(strings, 3, 0);
	dag_nodes(dag, &n);
	assert_int_equal(n, 6); /* A in three ways, B in two, C */
	dag_free(dag);
	for (int i = 0; i < 3; i++)
		string_deinit(&strings[i]);
}

static void many_are_alike(void **state)
{
	(void)state;
	struct string s = {0}, said = {0};
	uint32_t n;
	string_letters(&s, "AB)B)B)B))AB)B)B)B)B)B))AB)B))");
	struct dag *exact = dag_of(&s, 1, 0), *many = dag_of(&s, 1, 3);
	dag_nodes(exact, &n);
	assert_int_equal(n, 4);
	const struct dag_node *nodes = dag_nodes(many, &n);
	assert_int_equal(n, 3);
	assert_int_equal(nodes[1].count, 2);
	assert_int_equal(dag_expand(many, 0, collect, &said), -EDOM);
	string_deinit(&said);
	dag_free(exact);
	dag_free(many);
	string_deinit(&s);
}

/* A opens at 0..4 and closes at 30..34: it took from 26 to 34. */
static void times_are_bounds(void **state)
{
	(void)state;
	struct string s = {0};
	uint32_t n;
	string_letters(&s, "AB))");
	struct dag *dag = dag_of(&s, 1, 0);
	const struct dag_node *nodes = dag_nodes(dag, &n);
	assert_int_equal(n, 2);
	assert_true(nodes[1].times.min == 26 && nodes[1].times.max == 34 &&
		    nodes[1].times.squares == 900);
	assert_true(dag_times_deviation(&nodes[1].times, 1) == 0);
	dag_free(dag);
	string_deinit(&s);
}

/* ---- chains ---- */

static int to_chains_begin(void *ctx, const struct tree_place *place)
{
	(void)place;
	return chains_begin(ctx);
}
static int to_chains_open(void *ctx, const struct tree_call *call)
{
	return chains_open(ctx, call);
}
static int to_chains_close(void *ctx, const struct tree_return *ret)
{
	return chains_close(ctx, ret);
}
static int ends(void *ctx, enum tree_edge why)
{
	(void)ctx, (void)why;
	return 0;
}

/* How often the string has a call whose innermost symbols are @want: naively. */
static uint64_t count_chain(const struct string *s, const uint32_t *want, uint32_t n, uint32_t max)
{
	uint32_t stack[4096], depth = 0;
	uint64_t count = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		if (symbol_closes(s->at[i])) {
			depth--;
			continue;
		}
		stack[depth++] = s->at[i];
		uint32_t length = depth < max ? depth : max;
		count += length == n && !memcmp(stack + depth - n, want, n * sizeof(*want));
	}
	return count;
}

static void chains_are_counted(void **state)
{
	(void)state;
	for (uint32_t max = 1; max <= 4; max++)
		for (uint64_t seed = 0; seed < 30; seed++) {
			struct string s = {0};
			struct chains *chains;
			uint32_t n;
			uint64_t calls = 0, counted = 0;
			string_random(&s, STRING_BALANCED, 600, seed);
			assert_int_equal(chains_new(max, &chains), 0);
			const struct tree_sink sink = {chains,	       to_chains_begin,
						       to_chains_open, to_chains_close,
						       ends,	       NULL};
			tell(&sink, &s);
			const struct chain *list = chains_list(chains, &n);
			for (uint32_t i = 0; i < n; i++) {
				const uint32_t *symbols = chains_symbols(chains) + list[i].first;
				counted += list[i].count;
				assert_int_equal(list[i].count,
						 count_chain(&s, symbols, list[i].n, max));
			}
			for (uint32_t i = 0; i < s.n; i++)
				calls += !symbol_closes(s.at[i]);
			assert_int_equal(counted, calls);
			chains_free(chains);
			string_deinit(&s);
		}
}

/* ---- the filter ---- */

static int keep_begin(void *ctx, const struct tree_place *place)
{
	(void)ctx, (void)place;
	return 0;
}
static int keep_open(void *ctx, const struct tree_call *call)
{
	string_push(ctx, call->symbol);
	return 0;
}
static int keep_close(void *ctx, const struct tree_return *ret)
{
	string_push(ctx, ret->token);
	return 0;
}

static uint8_t verdict(void *ctx, uint32_t name)
{
	char c = (char)('A' + name);
	(void)ctx;
	return (c == 'S' ? FILTER_SKIP : 0) | (c == 'R' ? FILTER_ROOT : 0) |
	       (c == 'H' ? FILTER_HIDE : 0) | (c == 'F' ? FILTER_FACE : 0);
}

static void assert_passes(const char *string, struct filter_rules rules, const char *want)
{
	struct string s = {0}, kept = {0}, wanted = {0};
	struct filter *filter;
	const struct tree_sink keep = {&kept, keep_begin, keep_open, keep_close, ends, NULL};
	rules.verdict = verdict;
	rules.to_ns = rules.to_ns ? rules.to_ns : UINT64_MAX;
	assert_int_equal(filter_new(&rules, &keep, &filter), 0);
	string_letters(&s, string);
	string_letters(&wanted, want);
	tell(filter_sink(filter), &s);
	assert_int_equal(kept.n, wanted.n);
	if (kept.n)
		assert_memory_equal(kept.at, wanted.at, 4 * kept.n);
	assert_int_equal(filter_passed(filter), kept.n / 2);
	filter_free(filter);
	string_deinit(&s);
	string_deinit(&kept);
	string_deinit(&wanted);
}

static void filters(void **state)
{
	(void)state;
	const struct filter_rules none = {0}, roots = {.roots = true}, face = {.face = true},
				  two = {.depth = 2}, late = {.from_ns = 20}, early = {.to_ns = 15};
	assert_passes("AB)C))", none, "AB)C))");
	assert_passes("ASB))C))", none, "AB)C))");
	assert_passes("AHB))C))", none, "AC))");
	assert_passes("ARB))C)R))", roots, "RB))R)");
	assert_passes("ARHR)))C))", roots, "R)");
	assert_passes("AF)FFB)))C)F))", face, "F)F)F)");
	assert_passes("ABC))D))", two, "AB)D))");
	assert_passes("ASBC))))", two, "AB))");
	assert_passes("AB)C))", late, "C)");
	assert_passes("AB)C))", early, "AB))");
	assert_passes("H)", none, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_went_in),  cmocka_unit_test(three_shapes),
		cmocka_unit_test(many_are_alike),     cmocka_unit_test(times_are_bounds),
		cmocka_unit_test(chains_are_counted), cmocka_unit_test(filters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
