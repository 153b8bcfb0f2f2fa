// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_casper_naive.c: claims that mode casper is Algorithm 1 of "Casper: An Efficient Approach to
 * Call Trace Collection" (POPL 2016) to the letter. The algorithm stands here a second time, as its
 * page has it, in plain sets, and shares nothing with the chooser but the program; both choose for
 * thousands of random programs, and for the functions of real ones, and have to choose the same.
 *
 * The paper knows functions, direct calls, library calls and returns. So what else a program has is
 * taken out of it: entries from anywhere, landing pads, calls through pointers (which become
 * library calls), and what cannot be probed. A tail jump is a call site behind which its function
 * has ended.
 *
 * What the paper leaves open is settled alike: the search for back edges begins with the first
 * function and takes calls in order; of the call sites with the most conflicts the first is taken;
 * and the reverse topological order of a graph with loops is the order in which a search of it
 * leaves its nodes, the last way first. That a call site violates the VC-transform condition is
 * taken as Figure 7 shows it: FIRST(Func') of its callee has the empty string, whatever follows. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pugmark/model.h>

#include "offline/choose/choose.h"
#include "tests/support/random_program.h"

#define PROGRAMS 6000
#define FILES "/usr/bin/gzip /usr/bin/sed /usr/bin/grep /usr/bin/lua5.4"
#define SITES_MAX 40 /* of a function of a real program that is chosen for twice */

/* ---- the program as the paper has it ---- */

static void reach_from(struct program *p, uint32_t block)
{
	if (p->blocks[block].flags & PROG_REACHED)
		return;
	p->blocks[block].flags |= PROG_REACHED;
	for (uint32_t i = 0; i < p->blocks[block].n_succ; i++)
		reach_from(p, prog_succs(p, block)[i]);
}

static void make_papers(struct program *p)
{
	for (uint32_t f = 0; f < p->n_funcs; f++)
		p->funcs[f].flags = 0;
	for (uint32_t b = 0; b < p->n_blocks; b++) {
		struct prog_block *block = &p->blocks[b];
		block->flags &= PROG_RET | PROG_TAIL | PROG_BRANCH;
		block->call = block->call == CALL_UNKNOWN ? CALL_LEAF : block->call;
		block->any = block->last =
			(struct prog_probe){(uint32_t)prog_call_addr(block), true, 600};
		block->height = block->flags & PROG_TAIL ? 0 : 16;
	}
	for (uint32_t f = 0; f < p->n_funcs; f++)
		if (p->funcs[f].n_blocks)
			reach_from(p, p->funcs[f].block);
}

static bool is_site(const struct prog_block *b)
{
	return b->call != CALL_NONE || b->flags & PROG_RET;
}

/* ---- sets ---- */

/* Of sites, one bit a block of the program, and of the empty string. */
struct set {
	uint64_t *bits;
	bool empty;
};

static bool set_join(struct set *into, const struct set *from, uint32_t words)
{
	bool grew = false;
	for (uint32_t i = 0; i < words; i++) {
		grew |= from->bits[i] & ~into->bits[i];
		into->bits[i] |= from->bits[i];
	}
	return grew;
}

static bool sets_meet(const struct set *a, const struct set *b, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		if (a->bits[i] & b->bits[i])
			return true;
	return false;
}

/* ---- Algorithm 1 ---- */

#define NODES_MAX 2048

/* The CSCFG of one function. Node 0 is its entry, whose successors are H. */
struct graph {
	uint32_t func, n;
	uint32_t site[NODES_MAX];
	bool edge[NODES_MAX][NODES_MAX];
	bool chosen[NODES_MAX], special[NODES_MAX];
	uint32_t order[NODES_MAX], n_order; /* reverse topological */
	struct set alpha[NODES_MAX];	    /* FIRST of the rule that begins with the site */
	struct set suc[NODES_MAX];	    /* FIRST(Suc'), of node 0: FIRST(Func') */
	bool ends[NODES_MAX];		    /* a return, or a tail jump */
};

struct naive {
	const struct program *p;
	uint32_t words;
	bool *chosen;	  /* per block: I */
	struct set *func; /* per function: FIRST(Func') */
	uint32_t *place;  /* per function: when the search left it, from 1 on; 0: it did not */
	uint32_t *order;
	uint32_t n_order;
	bool *entered, *seen; /* per function; per block */
	uint32_t *node_of;    /* per block */
	struct graph *g;
};

static void call_search(struct naive *n, uint32_t func)
{
	const struct prog_func *f = &n->p->funcs[func];
	n->entered[func] = true;
	for (uint32_t i = f->block; i < f->block + f->n_blocks; i++) {
		const struct prog_block *b = &n->p->blocks[i];
		if (b->call == CALL_DIRECT && !n->entered[b->callee])
			call_search(n, b->callee);
	}
	n->order[n->n_order++] = func;
	n->place[func] = n->n_order;
}

static void site_search(struct naive *n, uint32_t block)
{
	if (n->seen[block])
		return;
	n->seen[block] = true;
	for (uint32_t i = n->p->blocks[block].n_succ; i-- > 0;)
		site_search(n, prog_succs(n->p, block)[i]);
	if (is_site(&n->p->blocks[block]))
		n->g->order[n->g->n_order++] = n->node_of[block];
}

static void reach_sites(struct naive *n, uint32_t from, uint32_t block, bool *been)
{
	const struct prog_block *b = &n->p->blocks[block];
	uint32_t base = n->p->funcs[n->g->func].block;
	if (been[block - base])
		return;
	been[block - base] = true;
	if (is_site(b)) {
		n->g->edge[from][n->node_of[block]] = true;
		return;
	}
	for (uint32_t i = 0; i < b->n_succ; i++)
		reach_sites(n, from, prog_succs(n->p, block)[i], been);
}

static void build_graph(struct naive *n, uint32_t func)
{
	const struct prog_func *f = &n->p->funcs[func];
	struct graph *g = n->g;
	bool *been = calloc(f->n_blocks, sizeof(bool));
	g->func = func;
	g->n = 1;
	g->n_order = 0;
	for (uint32_t b = f->block; b < f->block + f->n_blocks; b++) {
		const struct prog_block *block = &n->p->blocks[b];
		if (!(block->flags & PROG_REACHED) || !is_site(block))
			continue;
		assert_true(g->n < NODES_MAX);
		g->ends[g->n] = block->flags & (PROG_RET | PROG_TAIL);
		g->site[g->n] = b;
		n->node_of[b] = g->n++;
	}
	for (uint32_t i = 0; i < g->n; i++)
		memset(g->edge[i], 0, g->n * sizeof(bool));
	reach_sites(n, 0, f->block, been);
	for (uint32_t i = 1; i < g->n; i++) {
		const struct prog_block *b = &n->p->blocks[g->site[i]];
		memset(been, 0, f->n_blocks * sizeof(bool));
		for (uint32_t k = 0; k < b->n_succ && !g->ends[i]; k++)
			reach_sites(n, i, prog_succs(n->p, g->site[i])[k], been);
	}
	site_search(n, f->block);
	free(been);
}

/* FIRST by its definition: what can be joined is joined, until nothing is new. */
static void find_first(struct naive *n)
{
	struct graph *g = n->g;
	for (uint32_t i = 0; i < g->n; i++) {
		memset(g->alpha[i].bits, 0, n->words * sizeof(uint64_t));
		memset(g->suc[i].bits, 0, n->words * sizeof(uint64_t));
		g->alpha[i].empty = g->suc[i].empty = false;
		if (i && g->chosen[i])
			g->alpha[i].bits[g->site[i] / 64] |= 1ull << g->site[i] % 64;
	}
	for (bool grew = true; grew;) {
		grew = false;
		for (uint32_t i = 0; i < g->n; i++) {
			const struct prog_block *b = &n->p->blocks[g->site[i]];
			struct set *alpha = &g->alpha[i], *suc = &g->suc[i];
			bool empty = i && g->ends[i];
			for (uint32_t k = 1; k < g->n; k++)
				if (g->edge[i][k]) {
					grew |= set_join(suc, &g->alpha[k], n->words);
					empty |= g->alpha[k].empty;
				}
			grew |= empty && !suc->empty;
			suc->empty |= empty;
			if (!i || g->chosen[i])
				continue;
			const struct set *callee =
				b->call == CALL_DIRECT ? &n->func[b->callee] : NULL;
			if (callee)
				grew |= set_join(alpha, callee, n->words);
			if (callee && !callee->empty)
				continue;
			grew |= set_join(alpha, suc, n->words) || (suc->empty && !alpha->empty);
			alpha->empty |= suc->empty;
		}
	}
}

static bool conflict(const struct naive *n, uint32_t a, uint32_t b)
{
	const struct graph *g = n->g;
	return g->alpha[a].empty || g->alpha[b].empty ||
	       sets_meet(&g->alpha[a], &g->alpha[b], n->words);
}

/* Whether Suc of @from has a left recursion: it comes back to @to with nothing before it. */
static bool left_recursion(const struct naive *n, uint32_t from, uint32_t to, bool *been)
{
	const struct graph *g = n->g;
	for (uint32_t k = 1; k < g->n; k++) {
		const struct prog_block *b = &n->p->blocks[g->site[k]];
		bool silent = b->call != CALL_DIRECT || n->func[b->callee].empty;
		if (!g->edge[from][k] || g->chosen[k] || !silent || g->ends[k])
			continue;
		if (k == to)
			return true;
		if (been[k])
			continue;
		been[k] = true;
		if (left_recursion(n, k, to, been))
			return true;
	}
	return false;
}

/* Definition 6 for all rules of the function. */
static bool is_ll1(struct naive *n)
{
	struct graph *g = n->g;
	find_first(n);
	for (uint32_t i = 0; i < g->n; i++) {
		bool been[NODES_MAX] = {false};
		if (i && left_recursion(n, i, i, been))
			return false;
		for (uint32_t a = 1; a < g->n; a++)
			for (uint32_t b = a + 1; b < g->n; b++)
				if (g->edge[i][a] && g->edge[i][b] && conflict(n, a, b))
					return false;
	}
	return true;
}

/* The greedy cover of the CSCG. */
static void cover(struct naive *n)
{
	static bool cscg[NODES_MAX][NODES_MAX];
	struct graph *g = n->g;
	find_first(n);
	for (uint32_t i = 0; i < g->n; i++)
		memset(cscg[i], 0, g->n * sizeof(bool));
	for (uint32_t i = 0; i < g->n; i++)
		for (uint32_t a = 1; a < g->n; a++)
			for (uint32_t b = 1; b < g->n; b++)
				if (a != b && g->edge[i][a] && g->edge[i][b] && conflict(n, a, b))
					cscg[a][b] = true;
	for (;;) {
		uint32_t best = 0, most = 0;
		for (uint32_t a = 1; a < g->n; a++) {
			uint32_t degree = 0;
			for (uint32_t b = 1; b < g->n; b++)
				degree += cscg[a][b];
			if (degree > most) {
				most = degree;
				best = a;
			}
		}
		if (!most)
			return;
		g->chosen[best] = true;
		for (uint32_t b = 1; b < g->n; b++)
			cscg[best][b] = cscg[b][best] = false;
	}
}

static void algorithm_1(struct naive *n)
{
	struct graph *g = n->g;
	for (uint32_t i = 1; i < g->n; i++) {
		const struct prog_block *b = &n->p->blocks[g->site[i]];
		bool call = b->call == CALL_DIRECT;
		bool back = call && n->place[b->callee] >= n->place[g->func];
		g->special[i] = !back && (!call || n->func[b->callee].empty);
		g->chosen[i] = back || g->special[i];
	}
	cover(n);
	for (uint32_t i = 0; i < g->n_order; i++) {
		uint32_t node = g->order[i];
		if (!g->special[node])
			continue;
		g->chosen[node] = false;
		g->chosen[node] = !is_ll1(n);
	}
}

/* ---- the comparison ---- */

static struct set new_set(uint32_t words)
{
	return (struct set){.bits = calloc(words, sizeof(uint64_t))};
}

static void naive_init(struct naive *n, const struct program *p)
{
	*n = (struct naive){.p = p, .words = p->n_blocks / 64 + 1};
	n->chosen = calloc(p->n_blocks, sizeof(bool));
	n->seen = calloc(p->n_blocks, sizeof(bool));
	n->node_of = calloc(p->n_blocks, sizeof(uint32_t));
	n->func = calloc(p->n_funcs, sizeof(*n->func));
	n->place = calloc(p->n_funcs, sizeof(uint32_t));
	n->order = calloc(p->n_funcs, sizeof(uint32_t));
	n->entered = calloc(p->n_funcs, sizeof(bool));
	n->g = calloc(1, sizeof(*n->g));
	for (uint32_t f = 0; f < p->n_funcs; f++)
		n->func[f] = new_set(n->words);
	for (uint32_t i = 0; i < NODES_MAX; i++) {
		n->g->alpha[i] = new_set(n->words);
		n->g->suc[i] = new_set(n->words);
	}
}

static void naive_deinit(struct naive *n)
{
	for (uint32_t f = 0; f < n->p->n_funcs; f++)
		free(n->func[f].bits);
	for (uint32_t i = 0; i < NODES_MAX; i++) {
		free(n->g->alpha[i].bits);
		free(n->g->suc[i].bits);
	}
	void *heap[] = {n->chosen, n->seen,  n->node_of, n->func,
			n->place,  n->order, n->entered, n->g};
	for (size_t i = 0; i < sizeof(heap) / sizeof(*heap); i++)
		free(heap[i]);
}

struct tally {
	uint32_t funcs, sites, chosen, differ;
	uint32_t all_sites, all_chosen; /* with the functions that were chosen for once */
};

/* Chooses for @func, or takes over what mode casper has, where that is much work. */
static void choose_for(struct naive *n, uint32_t func, const struct choice *ours, uint32_t max,
		       struct tally *t)
{
	struct graph *g = n->g;
	build_graph(n, func);
	bool twice = g->n - 1 <= max, differs = false;
	if (twice)
		algorithm_1(n);
	for (uint32_t i = 1; i < g->n; i++) {
		bool mark = ours->marks[g->site[i]] != MARK_NONE;
		differs |= twice && mark != g->chosen[i];
		g->chosen[i] = twice ? g->chosen[i] : mark;
		t->all_chosen += mark;
	}
	t->all_sites += g->n - 1;
	find_first(n);
	set_join(&n->func[func], &g->suc[0], n->words);
	n->func[func].empty = g->suc[0].empty;
	if (!twice)
		return;
	t->funcs++;
	t->sites += g->n - 1;
	t->differ += differs;
	for (uint32_t i = 1; i < g->n; i++)
		t->chosen += g->chosen[i];
	for (uint32_t i = 1; differs && i < g->n; i++)
		print_error("function %u, block %u: %s, mode casper %s\n", func, g->site[i],
			    g->chosen[i] ? "chosen" : "not chosen",
			    ours->marks[g->site[i]] ? "chosen" : "not chosen");
}

static void compare(struct program *p, uint32_t max, struct tally *t)
{
	struct choice ours;
	struct naive n;
	uint32_t unresolved;
	make_papers(p);
	assert_int_equal(choose_witnesses(p, MODE_CASPER, &ours, &unresolved), 0);
	naive_init(&n, p);
	for (uint32_t f = 0; f < p->n_funcs; f++)
		if (!n.entered[f])
			call_search(&n, f);
	for (uint32_t i = 0; i < n.n_order; i++)
		if (p->funcs[n.order[i]].n_blocks)
			choose_for(&n, n.order[i], &ours, max, t);
	naive_deinit(&n);
	choice_deinit(&ours);
}

static void random_programs_are_chosen_for_alike(void **state)
{
	(void)state;
	const char *text = getenv("CASPER_PROGRAMS");
	uint64_t programs = text ? strtoull(text, NULL, 0) : PROGRAMS;
	struct tally t = {0};
	for (uint64_t seed = 1; seed <= programs; seed++) {
		struct program *p = random_program(seed);
		uint32_t before = t.differ;
		compare(p, NODES_MAX, &t);
		if (t.differ != before)
			fail_msg("program %" PRIu64, seed);
		program_free(p);
	}
	print_message("%" PRIu64 " programs: %u functions, %u of %u sites chosen\n", programs,
		      t.funcs, t.chosen, t.sites);
	assert_true(t.chosen && t.chosen < t.sites);
}

static void functions_of_real_programs_are_chosen_for_alike(void **state)
{
	(void)state;
	const char *files = getenv("CASPER_FILES");
	char *text = strdup(files ? files : FILES), *save = NULL;
	uint32_t read = 0;
	for (char *path = strtok_r(text, " ", &save); path; path = strtok_r(NULL, " ", &save)) {
		struct pugmark_model *model;
		struct pugmark_diag diag;
		struct program *p;
		struct program_options options = {.costs = probe_costs_default};
		struct tally t = {0};
		if (access(path, R_OK))
			continue;
		if (pugmark_model_open(path, &model, &diag))
			fail_msg("%s: %s", path, diag.text);
		assert_int_equal(program_from_model(model, &options, &p), 0);
		compare(p, SITES_MAX, &t);
		print_message(
			"%s: %u functions alike but %u, %u of %u sites chosen; in all %.1f %% "
			"left out\n",
			path, t.funcs, t.differ, t.chosen, t.sites,
			100 - 100.0 * t.all_chosen / t.all_sites);
		assert_int_equal(t.differ, 0);
		assert_true(t.funcs);
		program_free(p);
		pugmark_model_free(model);
		read++;
	}
	free(text);
	if (!read)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs_are_chosen_for_alike),
		cmocka_unit_test(functions_of_real_programs_are_chosen_for_alike),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
