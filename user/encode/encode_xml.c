// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_xml.c: what encode finds, as small as text can be: names are numbers, a list of items is
 * one string. docs/encoders.md has the form. */
#include "user/encode/encode.h"

static void xml_text(struct outbuf *out, const char *text)
{
	out_printable(out, text, PRINT_XML);
}

static void attribute(struct encode *e, const char *name, uint64_t value)
{
	outbuf_char(e->out, ' ');
	outbuf_text(e->out, name);
	outbuf_text(e->out, "=\"");
	outbuf_dec(e->out, value);
	outbuf_char(e->out, '"');
}

static void bounds(struct encode *e, const char *name, struct tree_time t)
{
	outbuf_format(e->out, " %s=\"%llu %llu\"", name,
		      (unsigned long long)encode_since_start(e, t.from_ns),
		      (unsigned long long)encode_since_start(e, t.to_ns));
}

static void begin(struct encode *e)
{
	outbuf_format(e->out,
		      "<?xml version=\"1.0\"?>\n<encoding version=\"1\" selection=\"%s\" "
		      "encoding=\"%s\"",
		      encode_selection_names[e->selection], encode_encoding_names[e->encoding]);
	if (e->k)
		attribute(e, "k", e->k);
	outbuf_text(e->out, ">\n");
}

static void space(struct encode *e)
{
	if (e->comma)
		outbuf_char(e->out, ' ');
	e->comma = true;
}

static void times(struct encode *e, uint64_t count)
{
	if (count == 1)
		return;
	outbuf_char(e->out, '*');
	if (count)
		outbuf_dec(e->out, count);
	else
		outbuf_char(e->out, '+');
}

static void symbol(struct encode *e, uint32_t symbol)
{
	static const char *const how[] = {"", "=", "^", ""};
	if (symbol_closes(symbol)) {
		outbuf_text(e->out, encode_token(symbol));
		return;
	}
	outbuf_text(e->out, how[symbol_how(symbol)]);
	outbuf_dec(e->out, symbol_name_index(symbol));
}

static void sequence(struct encode *e, const struct encode_sequence *s)
{
	outbuf_format(e->out, "<sequence tid=\"%d\" thread=\"", s->place.tid);
	xml_text(e->out, s->place.thread);
	if (s->title) {
		outbuf_text(e->out, "\" of=\"");
		xml_text(e->out, s->title);
		outbuf_format(e->out, "\" object=\"%llx", (unsigned long long)s->object);
	}
	outbuf_format(e->out, "\" begins=\"%s\"", encode_edge(s->place.why));
	attribute(e, "event", s->place.event);
	if (s->closed)
		outbuf_text(e->out, " closed=\"yes\"");
	if (encode_tells_times(e, s)) {
		bounds(e, "first", s->first);
		bounds(e, "last", s->last);
	}
	outbuf_char(e->out, '>');
	e->comma = false;
}

static void sequence_end(struct encode *e, const struct encode_sequence *s)
{
	if (s->ends != EDGE_THREAD)
		outbuf_format(e->out, "<ends why=\"%s\"/>", encode_edge(s->ends));
	outbuf_text(e->out, "</sequence>\n");
}

static void items(struct encode *e, const uint32_t *symbols, size_t n, uint64_t count)
{
	bool group = count != 1 && n > 1;
	if (group) {
		space(e);
		outbuf_char(e->out, '(');
		e->comma = false;
	}
	for (size_t i = 0; i < n; i++) {
		space(e);
		symbol(e, symbols[i]);
	}
	if (group)
		outbuf_text(e->out, " .");
	times(e, count);
}

/* ---- the parts of grammars, graphs and automata ---- */

static void callee(struct encode *e, uint32_t index, uint32_t node, uint64_t count)
{
	if (index)
		outbuf_char(e->out, ' ');
	outbuf_dec(e->out, node);
	times(e, count);
}

static void item(struct encode *e, uint32_t index, uint32_t of, uint64_t count)
{
	if (index)
		outbuf_char(e->out, ' ');
	if (of & GRAMMAR_RULE) {
		outbuf_char(e->out, 'R');
		outbuf_dec(e->out, of & ~GRAMMAR_RULE);
	} else if (e->selection == SELECT_DAG) {
		struct dag_item run = e->runs.at[of - SYMBOL_FIRST];
		callee(e, 0, run.node, run.count == DAG_MANY ? 0 : run.count);
	} else {
		symbol(e, of);
	}
	times(e, count);
}

static void node(struct encode *e, uint32_t index, const struct dag_node *n)
{
	(void)index;
	outbuf_text(e->out, "<n f=\"");
	symbol(e, n->symbol);
	if (n->token != TOKEN_RETURN)
		outbuf_text(e->out, encode_token(n->token));
	outbuf_char(e->out, '"');
	if (n->count > 1)
		attribute(e, "calls", n->count);
	if (e->show_times)
		outbuf_format(e->out, " ns=\"%.0f %.0f %.6g\"", n->times.min, n->times.max,
			      n->times.squares);
	outbuf_text(e->out, n->n ? ">" : "/>\n");
}

static void node_end(struct encode *e, const struct dag_node *n)
{
	if (n->n)
		outbuf_text(e->out, "</n>\n");
}

static void rule(struct encode *e, uint32_t index)
{
	(void)index;
	outbuf_text(e->out, "<rule>");
}

static void rule_end(struct encode *e)
{
	outbuf_text(e->out, "</rule>\n");
}

/* An automaton's states in order, each with its arcs: "symbol>state:count". */
static void automaton(struct encode *e, const char *name, const struct fsa *fsa)
{
	(void)fsa;
	outbuf_text(e->out, "<automaton name=\"");
	xml_text(e->out, name);
	outbuf_text(e->out, "\">\n");
}

static void state(struct encode *e, const struct fsa *fsa, uint32_t state)
{
	outbuf_text(e->out, "<state");
	if (fsa->accepted[state])
		attribute(e, "ends", fsa->accepted[state]);
	if (fsa->cut[state])
		attribute(e, "cut", fsa->cut[state]);
	outbuf_char(e->out, '>');
}

static void arc(struct encode *e, uint32_t index, const struct fsa_arc *arc)
{
	if (index)
		outbuf_char(e->out, ' ');
	symbol(e, arc->symbol);
	outbuf_text(e->out, "&gt;");
	outbuf_dec(e->out, arc->to);
	outbuf_char(e->out, ':');
	outbuf_dec(e->out, arc->count);
}

static void state_end(struct encode *e, const struct fsa *fsa, uint32_t state)
{
	(void)fsa, (void)state;
	outbuf_text(e->out, "</state>\n");
}

static void automaton_end(struct encode *e)
{
	outbuf_text(e->out, "</automaton>\n");
}

static void end(struct encode *e)
{
	for (uint32_t i = 0; i < symbols_count(e->symbols); i++) {
		outbuf_text(e->out, "<name>");
		xml_text(e->out, symbols_name(e->symbols, i));
		outbuf_text(e->out, "</name>\n");
	}
	outbuf_text(e->out, "</encoding>\n");
}

static const struct encode_parts parts = {
	.automaton = automaton,
	.state = state,
	.arc = arc,
	.state_end = state_end,
	.automaton_end = automaton_end,
	.item = item,
	.callee = callee,
	.node = node,
	.node_end = node_end,
	.rule = rule,
	.rule_end = rule_end,
};

const struct encode_format encode_xml = {
	.name = "xml",
	.begin = begin,
	.sequence = sequence,
	.items = items,
	.sequence_end = sequence_end,
	.parts = &parts,
	.end = end,
};
