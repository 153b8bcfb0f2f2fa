// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_casper_paper.c: claims that mode casper does what "Casper: An Efficient Approach to Call
 * Trace Collection" (POPL 2016) says, on the paper's running example, compiled: Figures 2 to 5.
 * What is expected is typed in from the paper. Figures 6 and 7 are in test_casper_cover.c. */
#include "tests/unit/code/model_helper.h"

#include "offline/choose/conflict.h"
#include "offline/program/callgraph.h"
#include "offline/code/cscfg.h"
#include "offline/plan/plan_build.h"
#include "offline/recover/parser.h"

#include <errno.h>

#define BIAS 0x555500000000ull
#define FOREIGN 0x7f0000001000ull
#define STACK 0x7ffffff00000ull
#define TEXT_MAX 512

struct example {
	struct pugmark_model *model;
	struct program *program;
	struct choice choice;
	struct pugmark_plan *plan;
	struct parse_tables *tables;
};

static const struct {
	const char *name, *func, *callee;
} call_sites[] = {
	{"c0", "start", "main"}, {"c1", "main", "A"}, {"c2", "main", "B"},
	{"c3", "main", "E"},	 {"c4", "main", "H"}, {"c5", "B", "C"},
	{"c6", "B", "D"},	 {"c7", "E", "C"},    {"c8", "E", "D"},
};
static const struct {
	const char *name, *func;
} return_sites[] = {{"r0", "start"}, {"r1", "main"}, {"r2", "A"}, {"r3", "B"},
		    {"r4", "C"},     {"r5", "D"},    {"r6", "E"}, {"r7", "H"}};
#define N_CALLS (sizeof(call_sites) / sizeof(*call_sites))
#define N_RETURNS (sizeof(return_sites) / sizeof(*return_sites))

static struct example plan_example(enum plan_mode mode)
{
	struct example x = {0};
	uint32_t unresolved = 0;
	struct program_options options = {.costs = probe_costs_default};
	x.model = compiled("gcc", "-O0 -nostdlib -static -no-pie -fno-pie -Wl,-e,start",
			   "casper_figure2.c");
	assert_int_equal(program_from_model(x.model, &options, &x.program), 0);
	assert_int_equal(choose_witnesses(x.program, mode, &x.choice, &unresolved), 0);
	assert_int_equal(plan_build(x.program, &x.choice, mode, x.model, &x.plan), 0);
	assert_int_equal(parse_tables_new(x.plan, &x.tables), 0);
	return x;
}

static void free_example(struct example *x)
{
	parse_tables_free(x->tables);
	pugmark_plan_free(x->plan);
	choice_deinit(&x->choice);
	program_free(x->program);
	pugmark_model_free(x->model);
}

static uint32_t func_named(const struct example *x, const char *name)
{
	uint32_t func = pugmark_model_func_named(x->model, name);
	if (func == PUGMARK_NONE)
		fail_msg("no function %s", name);
	return func;
}

static const char *func_name(const struct example *x, uint32_t func)
{
	return x->plan->strings + x->plan->funcs[func].name;
}

/* What the figure calls a node of the grammar: a call by its place among the calls of its function,
 * a return by its function. */
static const char *node_name(const struct example *x, uint32_t node)
{
	const struct pugmark_plan_node *n = &x->plan->nodes[node];
	const char *func = func_name(x, n->func);
	uint32_t place = 0;
	for (uint32_t i = x->plan->funcs[n->func].node; i < node; i++)
		place += x->plan->nodes[i].kind == PUGMARK_NODE_KIND_CALL;
	for (size_t i = 0; n->kind == PUGMARK_NODE_KIND_CALL && i < N_CALLS; i++)
		if (!strcmp(call_sites[i].func, func) && !place--)
			return call_sites[i].name;
	for (size_t i = 0; n->kind == PUGMARK_NODE_KIND_RETURN && i < N_RETURNS; i++)
		if (!strcmp(return_sites[i].func, func))
			return return_sites[i].name;
	return "?";
}

static uint32_t node_named(const struct example *x, const char *name)
{
	for (uint32_t i = 1; i < x->plan->n_nodes; i++)
		if (!strcmp(node_name(x, i), name))
			return i;
	fail_msg("no node %s", name);
	return 0;
}

static void add_word(char text[TEXT_MAX], const char *word)
{
	if (!strcmp(word, "c0") || !strcmp(word, "r0"))
		return; /* not of the figure: start's */
	size_t len = strlen(text);
	snprintf(text + len, TEXT_MAX - len, "%s%s", len ? " " : "", word);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void decision_text(const struct example *x, uint32_t decision, char text[TEXT_MAX])
{
	const struct pugmark_plan_decision *d = &x->plan->decisions[decision];
	const char *names[32];
	assert_true(d->n < 32);
	for (uint32_t i = 0; i < d->n; i++)
		names[i] = node_name(x, x->plan->alternatives[d->first + i]);
	qsort(names, d->n, sizeof(*names), by_name);
	*text = 0;
	for (uint32_t i = 0; i < d->n; i++)
		add_word(text, names[i]);
}

static void call_sites_are_those_of_figure_2(void **state)
{
	(void)state;
	struct example x = plan_example(MODE_FULL);
	for (size_t i = 0; i < N_CALLS; i++) {
		const struct pugmark_plan_node *n =
			&x.plan->nodes[node_named(&x, call_sites[i].name)];
		assert_string_equal(func_name(&x, n->callee), call_sites[i].callee);
	}
	assert_int_equal(x.model->n_sites, N_CALLS);
	free_example(&x);
}

/* The CSCFG as the model has it: an edge where a path leads from one call site to the next. */
static void graphs_are_those_of_figure_3(void **state)
{
	static const struct {
		const char *func;
		const char *edges[6]; /* from the entry, from each site, in order */
	} expected[] = {
		{"main", {"0", "1 2", "1 2 3", "1 2 3", "exit"}},
		{"B", {"0 1", "exit", "exit"}},
		{"E", {"0 1", "exit", "exit"}},
		{"A", {"exit"}},
		{"C", {"exit"}},
		{"D", {"exit"}},
		{"H", {"exit"}},
	};
	(void)state;
	struct example x = plan_example(MODE_CASPER);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		struct cscfg g;
		assert_int_equal(cscfg_build(x.model, func_named(&x, expected[i].func), &g), 0);
		for (uint32_t k = 0; k <= g.n_sites; k++) {
			uint32_t from = k ? k - 1 : g.entry;
			bool reached[16] = {false};
			char text[TEXT_MAX] = "", word[16];
			for (uint32_t e = g.first[from]; e < g.first[from + 1]; e++)
				reached[g.to[e]] = true;
			for (uint32_t to = 0; to < g.n_sites; to++) {
				snprintf(word, sizeof(word), "%u", to);
				if (reached[to])
					add_word(text, word);
			}
			if (reached[g.exit])
				add_word(text, "exit");
			assert_string_equal(text, expected[i].edges[k]);
		}
		cscfg_deinit(&g);
	}
	free_example(&x);
}

static const struct {
	const char *left, *right; /* Suc of a call site, or Func of a function */
} figure_4a[] = {
	{"main", "c1"}, {"A", "r2"},  {"B", "c5 c6"},	  {"C", "r4"},	      {"D", "r5"},
	{"E", "c7 c8"}, {"H", "r7"},  {"c1", "c2 c3"},	  {"c2", "c2 c3 c4"}, {"c4", "r1"},
	{"c5", "r3"},	{"c6", "r3"}, {"c3", "c2 c3 c4"}, {"c7", "r6"},	      {"c8", "r6"},
};

static void grammar_is_that_of_figure_4(void **state)
{
	(void)state;
	struct example x = plan_example(MODE_CASPER);
	uint32_t rules = 0;
	char text[TEXT_MAX];
	for (size_t i = 0; i < sizeof(figure_4a) / sizeof(*figure_4a); i++) {
		const char *left = figure_4a[i].left;
		uint32_t decision =
			left[0] == 'c' ? pugmark_node_next(&x.plan->nodes[node_named(&x, left)])
				       : x.plan->funcs[func_named(&x, left)].entry;
		decision_text(&x, decision, text);
		assert_string_equal(text, figure_4a[i].right);
		rules += x.plan->decisions[decision].n;
	}
	assert_int_equal(rules, 22);
	free_example(&x);
}

static void five_call_sites_are_chosen(void **state)
{
	(void)state;
	struct example x = plan_example(MODE_CASPER);
	char text[TEXT_MAX] = "";
	for (uint32_t i = 1; i < x.plan->n_nodes; i++)
		if (x.plan->nodes[i].site != PUGMARK_NONE)
			add_word(text, node_name(&x, i));
	assert_string_equal(text, "c5 c6 c7 c8 c4");
	/* The paper takes it as known that main runs; a probe in start says so. */
	assert_int_equal(x.plan->n_sites, 6);
	free_example(&x);
}

/* Figure 5 (a), as FIRST sets: what each decision between several looks for. */
static void decisions_are_told_as_in_figure_5(void **state)
{
	static const struct {
		const char *after, *first;
	} expected[] = {
		{"c1", "c5>c2 c6>c2 c7>c3 c8>c3"},
		{"c2", "c4>c4 c5>c2 c6>c2 c7>c3 c8>c3"},
		{"c3", "c4>c4 c5>c2 c6>c2 c7>c3 c8>c3"},
	};
	(void)state;
	struct example x = plan_example(MODE_CASPER);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		uint32_t decision =
			pugmark_node_next(&x.plan->nodes[node_named(&x, expected[i].after)]);
		const struct decision_table *t = parse_tables_at(x.tables, decision);
		const char *words[16];
		char text[TEXT_MAX] = "", word[16][16];
		assert_true(t && t->n < 16 && !t->n_empty && !t->top);
		for (uint32_t k = 0; k < t->n; k++) {
			uint32_t node = parse_tables_node_of(x.tables, t->entries[k].site);
			snprintf(word[k], sizeof(word[k]), "%s>%s", node_name(&x, node),
				 node_name(&x, t->entries[k].alt));
			words[k] = word[k];
		}
		qsort(words, t->n, sizeof(*words), by_name);
		for (uint32_t k = 0; k < t->n; k++)
			add_word(text, words[k]);
		assert_string_equal(text, expected[i].first);
	}
	free_example(&x);
}

/* Runs the calls and returns of @trace on a stack, and sends what the plan's probes would log. */
struct run {
	const struct example *x;
	struct parser *parser;
	uint64_t cfa[16], time_ns;
	uint32_t n;
	char logged[TEXT_MAX], recovered[TEXT_MAX];
};

static void recover(struct run *r, const struct pugmark_trace_event *e)
{
	if (e->kind == PUGMARK_TRACE_CALL) {
		for (uint32_t i = 1; i < r->x->plan->n_nodes; i++)
			if (r->x->plan->nodes[i].kind == PUGMARK_NODE_KIND_CALL &&
			    r->x->plan->nodes[i].addr == e->addr)
				add_word(r->recovered, node_name(r->x, i));
	} else if (e->kind == PUGMARK_TRACE_RET) {
		for (size_t i = 0; i < N_RETURNS; i++)
			if (!strcmp(return_sites[i].func, func_name(r->x, e->func)))
				add_word(r->recovered, return_sites[i].name);
	} else if (e->kind != PUGMARK_TRACE_ENTER) { /* of start */
		add_word(r->recovered, e->kind == PUGMARK_TRACE_GAP ? "gap" : "?");
	}
}

static void feed(struct run *r, const struct pugmark_witness_event *e)
{
	assert_int_equal(parser_feed(r->parser, e), 0);
	uint32_t n;
	const struct pugmark_trace_event *events = parser_events(r->parser, &n);
	for (uint32_t i = 0; i < n; i++)
		recover(r, &events[i]);
}

static void send(struct run *r, const char *name)
{
	const struct pugmark_plan_node *n = &r->x->plan->nodes[node_named(r->x, name)];
	if (n->site == PUGMARK_NONE)
		return;
	const struct pugmark_plan_site *site = &r->x->plan->sites[n->site];
	struct pugmark_witness_event e = {
		.kind = PUGMARK_EVENT_WITNESS,
		.time_ns = ++r->time_ns,
		.arm.witness.cfa = r->cfa[r->n - 1],
		.bias = BIAS,
		.site = n->site,
	};
	if (site->capture & PUGMARK_CAPTURE_RET)
		e.arm.witness.ret = r->n == 1 ? FOREIGN : 0;
	add_word(r->logged, name);
	feed(r, &e);
}

static void run_trace(const struct example *x, const char *trace, bool ends, struct run *r)
{
	const struct pugmark_plan *plan = x->plan;
	*r = (struct run){.x = x, .n = 1, .cfa = {STACK}};
	assert_int_equal(parser_new(&x->tables, &plan, 1, &r->parser), 0);
	char *words, *save = NULL;
	assert_true(asprintf(&words, "c0 %s%s", trace, ends ? " r0" : "") > 0);
	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		send(r, word);
		const struct pugmark_plan_node *n = &plan->nodes[node_named(x, word)];
		if (n->kind != PUGMARK_NODE_KIND_CALL) {
			r->n -= r->n > 1;
			continue;
		}
		assert_true(r->n < 16);
		r->cfa[r->n] = r->cfa[r->n - 1] - n->height;
		r->n++;
	}
	free(words);
	struct pugmark_witness_event end = {
		.kind = PUGMARK_EVENT_END, .time_ns = ++r->time_ns, .arm.stop.val = !ends};
	feed(r, &end);
	parser_free(r->parser);
}

#define SECTION_3_1 "c1 r2 c2 c5 r4 r3 c2 c5 r4 r3 c3 c7 r4 r6 c4 r7 r1"

/* Section 3.1: the execution of Figure 3. There c4 is not yet known to be instrumented: the paper's
 * log (c5, c5, c7) stands for the part of it that is discussed. */
static void trace_of_section_3_1_comes_out_of_its_log(void **state)
{
	(void)state;
	struct example x = plan_example(MODE_CASPER);
	struct run r;
	run_trace(&x, SECTION_3_1, true, &r);
	assert_string_equal(r.logged, "c5 c5 c7 c4");
	assert_string_equal(r.recovered, SECTION_3_1);
	/* What never ran cannot be recovered: the log up to c7 gives no more than c7. */
	run_trace(&x, "c1 r2 c2 c5 r4 r3 c2 c5 r4 r3 c3 c7", false, &r);
	assert_string_equal(r.logged, "c5 c5 c7");
	assert_string_equal(r.recovered, "c1 r2 c2 c5 r4 r3 c2 c5 r4 r3 c3 c7");
	free_example(&x);
}

/* Figure 4 (b), (c) and (d), with every site logged and with five. */
static void traces_of_figure_4_are_parsed(void **state)
{
	(void)state;
	struct example full = plan_example(MODE_FULL), few = plan_example(MODE_CASPER);
	struct run r;
	run_trace(&full, SECTION_3_1, true, &r);
	assert_string_equal(r.logged, SECTION_3_1);
	assert_string_equal(r.recovered, SECTION_3_1);
	run_trace(&full, "c1 r2 c2 c5", false, &r);
	assert_string_equal(r.recovered, "c1 r2 c2 c5");
	run_trace(&few, "c1 r2 c2 c5", false, &r);
	assert_string_equal(r.logged, "c5");
	assert_string_equal(r.recovered, "c1 r2 c2 c5");
	/* (d) is invalid: "r1 does not match r2" */
	run_trace(&full, "c1 r1", true, &r);
	assert_non_null(strstr(r.recovered, "gap"));
	assert_true(!strncmp(r.recovered, "c1 gap", 6));
	free_example(&full);
	free_example(&few);
}

/* Definition 6 on an instrumentation of the example: the faults that the conflict rule finds. */
static uint32_t faults_of(const struct example *x, const char *sites)
{
	struct conflicts ch;
	uint32_t order[16], component[16], faults = 0;
	assert_true(x->program->n_funcs < 16);
	assert_int_equal(conflict_init(&ch, x->program), 0);
	ch.returns_apart = ch.plain = true;
	for (uint32_t i = 1; i < x->plan->n_nodes; i++) {
		const struct pugmark_plan_node *n = &x->plan->nodes[i];
		for (uint32_t b = 0; b < x->program->n_blocks; b++)
			if (x->program->blocks[b].call != CALL_NONE &&
			    prog_call_addr(&x->program->blocks[b]) == n->addr &&
			    strstr(sites, node_name(x, i)))
				ch.marks[b] = MARK_LAST;
	}
	assert_int_equal(callgraph_order(x->program, order, component), 0);
	for (uint32_t i = 0; i < x->program->n_funcs; i++) {
		ch.sums[order[i]].known = true;
		while (conflict_summarise(&ch, order[i]))
			;
		faults += !conflict_function_holds(&ch, order[i]);
	}
	conflict_deinit(&ch);
	return faults;
}

/* Section 3.5: {c8} is not feasible, because two traces have the same, empty log. {c4 .. c8} is,
 * and needs every one of the five. */
static void instrumentations_are_judged_as_in_section_3_5(void **state)
{
	(void)state;
	struct example x = plan_example(MODE_FULL);
	assert_true(faults_of(&x, "c8") > 0);
	assert_int_equal(faults_of(&x, "c4 c5 c6 c7 c8"), 0);
	assert_true(faults_of(&x, "c5 c6 c7 c8") > 0);
	assert_true(faults_of(&x, "c4 c6 c7 c8") > 0);
	assert_true(faults_of(&x, "c4 c5 c7 c8") > 0);
	assert_true(faults_of(&x, "c4 c5 c6 c8") > 0);
	assert_true(faults_of(&x, "c4 c5 c6 c7") > 0);
	free_example(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_sites_are_those_of_figure_2),
		cmocka_unit_test(graphs_are_those_of_figure_3),
		cmocka_unit_test(grammar_is_that_of_figure_4),
		cmocka_unit_test(five_call_sites_are_chosen),
		cmocka_unit_test(decisions_are_told_as_in_figure_5),
		cmocka_unit_test(trace_of_section_3_1_comes_out_of_its_log),
		cmocka_unit_test(traces_of_figure_4_are_parsed),
		cmocka_unit_test(instrumentations_are_judged_as_in_section_3_5),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
