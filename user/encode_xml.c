// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_xml.c: what encode finds, as small as text can be: names are numbers, a list of items is
 * one string. docs/encoders.md has the form. */
#include "user/encode.h"

static void xml_text(struct out *out, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c == '<')
			out_text(out, "&lt;");
		else if (*c == '>')
			out_text(out, "&gt;");
		else if (*c == '&')
			out_text(out, "&amp;");
		else if (*c == '"')
			out_text(out, "&quot;");
		else
			out_char(out, *c < 0x20 || *c >= 0x7f ? '?' : (char)*c);
}

static void attribute(struct encode *e, const char *name, uint64_t value)
{
	out_char(e->out, ' ');
	out_text(e->out, name);
	out_text(e->out, "=\"");
	out_dec(e->out, value);
	out_char(e->out, '"');
}

static void begin(struct encode *e)
{
	out_format(e->out,
		   "<?xml version=\"1.0\"?>\n<encoding version=\"1\" selection=\"%s\" "
		   "encoding=\"%s\"",
		   encode_selection_names[e->selection], encode_encoding_names[e->encoding]);
	if (e->k)
		attribute(e, "k", e->k);
	out_text(e->out, ">\n");
}

static void space(struct encode *e)
{
	if (e->comma)
		out_char(e->out, ' ');
	e->comma = true;
}

static void times(struct encode *e, uint64_t count)
{
	if (count == 1)
		return;
	out_char(e->out, '*');
	if (count)
		out_dec(e->out, count);
	else
		out_char(e->out, '+');
}

static void symbol(struct encode *e, uint32_t symbol)
{
	static const char *const how[] = {"", "=", "^", ""};
	if (symbol_closes(symbol)) {
		out_text(e->out, encode_token(symbol));
		return;
	}
	out_text(e->out, how[symbol_how(symbol)]);
	out_dec(e->out, symbol_name_index(symbol));
}

static void sequence(struct encode *e, const struct encode_sequence *s)
{
	out_format(e->out, "<sequence tid=\"%d\" thread=\"", s->place.tid);
	xml_text(e->out, s->place.thread);
	if (s->title) {
		out_text(e->out, "\" of=\"");
		xml_text(e->out, s->title);
		out_format(e->out, "\" object=\"%llx", (unsigned long long)s->object);
	}
	out_format(e->out, "\" begins=\"%s\"", encode_edge(s->place.why));
	attribute(e, "event", s->place.event);
	out_char(e->out, '>');
	e->comma = false;
}

static void sequence_end(struct encode *e, const struct encode_sequence *s)
{
	if (s->ends != EDGE_THREAD)
		out_format(e->out, "<ends why=\"%s\"/>", encode_edge(s->ends));
	out_text(e->out, "</sequence>\n");
}

static void items(struct encode *e, const uint32_t *symbols, size_t n, uint64_t count)
{
	bool group = count != 1 && n > 1;
	if (group) {
		space(e);
		out_char(e->out, '(');
		e->comma = false;
	}
	for (size_t i = 0; i < n; i++) {
		space(e);
		symbol(e, symbols[i]);
	}
	if (group)
		out_text(e->out, " .");
	times(e, count);
}

static void rule_items(struct encode *e, const struct grammar *g, struct grammar_rule rule)
{
	e->comma = false;
	for (uint32_t i = rule.first; i < rule.first + rule.n; i++) {
		const struct grammar_item *item = &g->items[i];
		space(e);
		if (item->symbol & GRAMMAR_RULE) {
			out_char(e->out, 'R');
			out_dec(e->out, item->symbol & ~GRAMMAR_RULE);
		} else if (e->selection == SELECT_DAG) {
			struct dag_item run = e->runs.at[item->symbol - SYMBOL_FIRST];
			out_dec(e->out, run.node);
			times(e, run.count == DAG_MANY ? 0 : run.count);
		} else {
			symbol(e, item->symbol);
		}
		times(e, item->count == GRAMMAR_MANY ? 0 : item->count);
	}
}

static void rules(struct encode *e, const struct grammar *g)
{
	for (uint32_t i = 0; i < g->n_rules; i++) {
		out_text(e->out, "<rule>");
		rule_items(e, g, g->rules[i]);
		out_text(e->out, "</rule>\n");
	}
}

static void grammar(struct encode *e, const struct grammar *g)
{
	for (uint32_t i = 0; i < e->sequences.n; i++) {
		const struct encode_sequence *s = &e->sequences.at[i];
		sequence(e, s);
		rule_items(e, g, g->sequences[s->in_grammar]);
		sequence_end(e, s);
	}
	rules(e, g);
}

/* States in order, each with its arcs: "symbol>state:count". */
static void automaton(struct encode *e, const char *name, const struct fsa *fsa)
{
	out_text(e->out, "<automaton name=\"");
	xml_text(e->out, name);
	out_text(e->out, "\">\n");
	for (uint32_t q = 0; q < fsa->n_states; q++) {
		out_text(e->out, "<state");
		if (fsa->accepted[q])
			attribute(e, "ends", fsa->accepted[q]);
		if (fsa->cut[q])
			attribute(e, "cut", fsa->cut[q]);
		out_char(e->out, '>');
		e->comma = false;
		for (uint32_t i = fsa->first[q]; i < fsa->first[q + 1]; i++) {
			space(e);
			symbol(e, fsa->arcs[i].symbol);
			out_text(e->out, "&gt;");
			out_dec(e->out, fsa->arcs[i].to);
			out_char(e->out, ':');
			out_dec(e->out, fsa->arcs[i].count);
		}
		out_text(e->out, "</state>\n");
	}
	out_text(e->out, "</automaton>\n");
}

static void callees(struct encode *e, const struct dag *dag, uint32_t first, uint32_t n)
{
	uint32_t n_items;
	const struct dag_item *at = dag_items(dag, &n_items);
	e->comma = false;
	for (uint32_t i = first; i < first + n; i++) {
		space(e);
		out_dec(e->out, at[i].node);
		times(e, at[i].count == DAG_MANY ? 0 : at[i].count);
	}
}

static void graph(struct encode *e, const struct dag *dag, const struct grammar *g)
{
	uint32_t n_nodes, n_roots;
	const struct dag_node *nodes = dag_nodes(dag, &n_nodes);
	const struct dag_root *roots = dag_roots(dag, &n_roots);
	for (uint32_t i = 0; i < n_roots; i++) {
		sequence(e, &e->sequences.at[i]);
		if (g)
			rule_items(e, g, g->sequences[n_nodes + i]);
		else
			callees(e, dag, roots[i].first, roots[i].n);
		sequence_end(e, &e->sequences.at[i]);
	}
	for (uint32_t i = 0; i < n_nodes; i++) {
		const struct dag_node *node = &nodes[i];
		out_text(e->out, "<n f=\"");
		symbol(e, node->symbol);
		if (node->token != TOKEN_RETURN)
			out_text(e->out, encode_token(node->token));
		out_char(e->out, '"');
		if (node->count > 1)
			attribute(e, "calls", node->count);
		if (e->show_times)
			out_format(e->out, " ns=\"%.0f %.0f %.6g\"", node->times.min,
				   node->times.max, node->times.squares);
		if (!node->n) {
			out_text(e->out, "/>\n");
			continue;
		}
		out_char(e->out, '>');
		if (g)
			rule_items(e, g, g->sequences[i]);
		else
			callees(e, dag, node->first, node->n);
		out_text(e->out, "</n>\n");
	}
	if (g)
		rules(e, g);
}

static void dag(struct encode *e, const struct dag *d)
{
	graph(e, d, NULL);
}

static void end(struct encode *e)
{
	for (uint32_t i = 0; i < symbols_count(e->symbols); i++) {
		out_text(e->out, "<name>");
		xml_text(e->out, symbols_name(e->symbols, i));
		out_text(e->out, "</name>\n");
	}
	out_text(e->out, "</encoding>\n");
}

const struct encode_format encode_xml = {
	.name = "xml",
	.begin = begin,
	.sequence = sequence,
	.items = items,
	.sequence_end = sequence_end,
	.grammar = grammar,
	.automaton = automaton,
	.dag = dag,
	.dag_grammar = graph,
	.end = end,
};
