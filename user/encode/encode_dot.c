// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_dot.c: automata and graphs as pictures: DOT for graphviz, and SVG, which graphviz draws.
 * What is drawn is what a page can hold: names are shortened in the middle, arcs between the same
 * two states are one with several labels, of a graph only the nodes that took or were called most,
 * and automata without arcs are left out. Lines are thicker the more often they were taken. */
#include "user/encode/encode.h"

#include <math.h>
#include <stdlib.h>

enum { NAME_BYTES = 28, MAX_LABELS = 6 };

static bool is_within_character(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* @text as the inside of a DOT string. It is cut between characters. */
static void dot_text(struct outbuf *out, const char *text)
{
	char head[NAME_BYTES] = "";
	size_t len = strlen(text), keep = NAME_BYTES / 2 - 1, from = len - keep;
	if (len <= NAME_BYTES) {
		out_printable(out, text, PRINT_DOT);
		return;
	}
	while (keep && is_within_character(text[keep]))
		keep--;
	while (is_within_character(text[from]))
		from++;
	memcpy(head, text, keep);
	out_printable(out, head, PRINT_DOT);
	outbuf_text(out, "…");
	out_printable(out, text + from, PRINT_DOT);
}

/* "12", "34k", "5.6M": three digits or so. */
static void dot_count(struct outbuf *out, uint64_t n)
{
	static const char *const units[] = {"", "k", "M", "G", "T"};
	double value = (double)n;
	int unit = 0;
	while (value >= 9999.5 && unit < 4) {
		value /= 1000;
		unit++;
	}
	outbuf_format(out, "%.*f%s", unit && value < 10, value, units[unit]);
}

static void symbol_label(struct encode *e, uint32_t symbol)
{
	if (symbol_closes(symbol)) {
		outbuf_text(e->out, encode_token(symbol));
		return;
	}
	outbuf_text(e->out, encode_how(symbol));
	dot_text(e->out, symbols_name(e->symbols, symbol_name_index(symbol)));
}

static double pen(uint64_t count, uint64_t most)
{
	return 1 + 4 * log((double)count + 1) / log((double)most + 2);
}

static void begin(struct encode *e)
{
	outbuf_format(
		e->out,
		"digraph pugmark {\n"
		"rankdir=%s; fontname=\"sans-serif\"; fontsize=12;\n"
		"node [fontname=\"sans-serif\" fontsize=11 style=filled fillcolor=\"#eef3fa\" "
		"color=\"#3b5b86\"];\n"
		"edge [fontname=\"sans-serif\" fontsize=10 color=\"#3b5b86\"];\n",
		e->encoding == ENCODE_FSA ? "LR" : "TB");
}

/* ---- automata ---- */

static int by_target(const void *a, const void *b)
{
	const struct fsa_arc *x = a, *y = b;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->count > y->count ? -1 : x->count < y->count;
}

/* arcs[0 .. n) lead from @from to the same state, the one most taken first. */
static void arcs_between(struct encode *e, uint32_t from, const struct fsa_arc *arcs, uint32_t n,
			 uint64_t most)
{
	uint64_t sum = 0;
	outbuf_format(e->out, "a%u_%u -> a%u_%u [label=\"", e->drawn, from, e->drawn, arcs[0].to);
	for (uint32_t i = 0; i < n; i++) {
		sum += arcs[i].count;
		if (i >= MAX_LABELS)
			continue;
		symbol_label(e, arcs[i].symbol);
		outbuf_text(e->out, "  ");
		dot_count(e->out, arcs[i].count);
		outbuf_text(e->out, "\\l");
	}
	if (n > MAX_LABELS)
		outbuf_format(e->out, "and %u more\\l", n - MAX_LABELS);
	outbuf_format(e->out, "\" penwidth=%.1f];\n", pen(sum, most));
}

static void automaton(struct encode *e, const char *name, const struct fsa *fsa)
{
	uint64_t most = 1, ends = 0;
	if (!fsa->n_arcs)
		return;
	struct fsa_arc *arcs = malloc(fsa->n_arcs * sizeof(*arcs));
	if (!arcs)
		return;
	memcpy(arcs, fsa->arcs, fsa->n_arcs * sizeof(*arcs));
	for (uint32_t i = 0; i < fsa->n_arcs; i++)
		most = arcs[i].count > most ? arcs[i].count : most;
	for (uint32_t q = 0; q < fsa->n_states; q++)
		ends += fsa->accepted[q] + fsa->cut[q];
	outbuf_format(e->out, "subgraph cluster_%u {\nlabel=\"", e->drawn);
	dot_text(e->out, name);
	outbuf_text(e->out, "  x ");
	dot_count(e->out, ends);
	outbuf_text(e->out, "\"; color=\"#b8c4d4\";\n");
	for (uint32_t q = 0; q < fsa->n_states; q++) {
		outbuf_format(e->out, "a%u_%u [label=\"%u\" shape=%s%s];\n", e->drawn, q, q,
			      fsa->accepted[q] ? "doublecircle" : "circle",
			      q ? "" : " fillcolor=\"#ffe9b8\"");
		uint32_t first = fsa->first[q], last = fsa->first[q + 1];
		if (last > first)
			qsort(arcs + first, last - first, sizeof(*arcs), by_target);
		for (uint32_t i = first, end; i < last; i = end) {
			for (end = i + 1; end < last && arcs[end].to == arcs[i].to; end++)
				;
			arcs_between(e, q, arcs + i, end - i, most);
		}
	}
	outbuf_text(e->out, "}\n");
	e->drawn++;
	free(arcs);
}

/* ---- the graph ---- */

struct weight {
	double value;
	uint32_t node;
};

static int by_weight(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;
	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->node > y->node ? -1 : x->node < y->node;
}

static void draw_node(struct encode *e, const struct dag_node *node, uint32_t i, bool partial)
{
	outbuf_format(e->out, "n%u [shape=box%s label=\"", i, partial ? " peripheries=2" : "");
	symbol_label(e, node->symbol);
	if (node->token != TOKEN_RETURN)
		outbuf_text(e->out, encode_token(node->token) + 1);
	outbuf_text(e->out, "\\n");
	dot_count(e->out, node->count);
	outbuf_text(e->out, node->count == 1 ? " call" : " calls");
	if (e->show_times) {
		outbuf_text(e->out, ", ");
		outbuf_duration(e->out, (uint64_t)((node->times.min + node->times.max) / 2));
	}
	outbuf_text(e->out, "\"];\n");
}

static void draw_callees(struct encode *e, const struct dag *dag, uint32_t i, const bool *drawn)
{
	uint32_t n_nodes, n_items;
	const struct dag_node *nodes = dag_nodes(dag, &n_nodes);
	const struct dag_item *items = dag_items(dag, &n_items);
	for (uint32_t k = nodes[i].first; k < nodes[i].first + nodes[i].n; k++) {
		uint32_t to = items[k].node;
		uint64_t count = 0;
		bool before = !drawn[to], many = false;
		for (uint32_t p = nodes[i].first; p < k && !before; p++)
			before = items[p].node == to;
		if (before)
			continue;
		for (uint32_t p = k; p < nodes[i].first + nodes[i].n; p++) {
			many |= items[p].node == to && items[p].count == DAG_MANY;
			count += items[p].node == to ? items[p].count : 0;
		}
		outbuf_format(e->out, "n%u -> n%u [", i, to);
		if (many)
			outbuf_text(e->out, "label=\"many\" ");
		else if (count > 1)
			outbuf_format(e->out, "label=\"%llu\" ", (unsigned long long)count);
		outbuf_format(e->out, "penwidth=%.1f];\n",
			      pen(nodes[i].count * (many ? 10 : count), dag_calls(dag)));
	}
}

static void dag(struct encode *e, const struct dag *d)
{
	uint32_t n;
	const struct dag_node *nodes = dag_nodes(d, &n);
	struct weight *weights = malloc((n + 1) * sizeof(*weights));
	bool *drawn = calloc(n + 1, sizeof(*drawn));
	uint32_t n_items;
	const struct dag_item *items = dag_items(d, &n_items);
	for (uint32_t i = 0; weights && i < n; i++) {
		double value = e->show_times ? nodes[i].times.min + nodes[i].times.max
					     : (double)nodes[i].count;
		weights[i] = (struct weight){value, i};
	}
	if (weights && n)
		qsort(weights, n, sizeof(*weights), by_weight);
	for (uint32_t i = 0; weights && drawn && i < n && i < e->top; i++)
		drawn[weights[i].node] = true;
	if (n > e->top)
		outbuf_format(e->out,
			      "label=\"the %u of %u nodes with most time; a double border: calls "
			      "others too\"; labelloc=t;\n",
			      e->top, n);
	for (uint32_t i = 0; weights && drawn && i < n; i++) {
		bool partial = false;
		if (!drawn[i])
			continue;
		for (uint32_t k = nodes[i].first; k < nodes[i].first + nodes[i].n; k++)
			partial |= !drawn[items[k].node];
		draw_node(e, &nodes[i], i, partial);
		draw_callees(e, d, i, drawn);
	}
	free(weights);
	free(drawn);
}

static void end(struct encode *e)
{
	outbuf_text(e->out, "}\n");
}

const struct encode_format encode_dot = {
	.name = "dot",
	.begin = begin,
	.automaton = automaton,
	.dag = dag,
	.end = end,
};

const struct encode_format encode_svg = {
	.name = "svg",
	.filter = "dot -Tsvg",
	.begin = begin,
	.automaton = automaton,
	.dag = dag,
	.end = end,
};
