// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_text.c: what encode finds, for people: strings as f(g() h()), runs as 3*f or 3*{f() g()},
 * rules as R1 = ..., automata state by state. "many*" is a run longer than K. */
#include "user/encode/encode.h"

enum { WIDTH = 100, INDENT = 2 };

static void newline(struct encode *e)
{
	outbuf_char(e->out, '\n');
	e->column = 0;
}

/* A word: @glue: right after the last one. */
static void word(struct encode *e, const char *text, bool glue)
{
	unsigned len = (unsigned)strlen(text);
	if (e->column + len + 1 > WIDTH && e->column > e->indent && !glue && !e->stuck) {
		newline(e);
		outbuf_spaces(e->out, e->indent);
		e->column = e->indent;
	} else if (!glue && e->column > e->indent && !e->opened) {
		outbuf_char(e->out, ' ');
		e->column++;
	}
	outbuf_safe_text(e->out, text);
	e->column += len;
	e->opened = e->stuck = false;
}

/* What follows is on lines that begin at @indent, where the line is now. */
static void begin_words(struct encode *e, unsigned indent)
{
	e->indent = e->column = indent;
}

static void count_word(struct encode *e, uint64_t count)
{
	char text[32] = "many*";
	if (count == 1)
		return;
	if (count)
		snprintf(text, sizeof(text), "%llu*", (unsigned long long)count);
	word(e, text, false);
	e->opened = e->stuck = true;
}

static bool brackets(const struct encode *e)
{
	return e->selection == SELECT_STRINGS;
}

static void symbol_word(struct encode *e, uint32_t symbol)
{
	if (symbol_closes(symbol)) {
		word(e, encode_token(symbol), true);
		return;
	}
	const char *how = encode_how(symbol);
	if (*how) {
		word(e, how, false);
		e->opened = e->stuck = true;
	}
	word(e, symbols_name(e->symbols, symbol_name_index(symbol)), false);
	if (brackets(e)) {
		word(e, "(", true);
		e->opened = true;
	}
}

/* A few closing brackets in a row read best as they are. */
static bool few_brackets(struct encode *e, uint32_t symbol, uint64_t count)
{
	if (symbol & GRAMMAR_RULE || !symbol_closes(symbol) || !count || count > 9)
		return false;
	while (count--)
		symbol_word(e, symbol);
	return true;
}

static void items(struct encode *e, const uint32_t *symbols, size_t n, uint64_t count)
{
	if (n == 1 && few_brackets(e, symbols[0], count))
		return;
	bool group = count != 1 && n > 1;
	count_word(e, count);
	if (group) {
		word(e, "{", false);
		e->opened = true;
	}
	for (size_t i = 0; i < n; i++)
		symbol_word(e, symbols[i]);
	if (group)
		word(e, "}", true);
}

/* When the first call began, how long after that the last one did, and whether that ended it. */
static void span(struct encode *e, const struct encode_sequence *s)
{
	const struct tree_time *first = &s->first, *last = &s->last;
	uint64_t least = last->from_ns > first->to_ns ? last->from_ns - first->to_ns : 0;
	uint64_t us = encode_since_start(e, first->from_ns) / 1000;
	outbuf_format(e->out, ", from %llu.%06llu", (unsigned long long)(us / 1000000),
		      (unsigned long long)(us % 1000000));
	if (s->symbols > 1) {
		outbuf_text(e->out, " for ");
		outbuf_duration(e->out, least);
		if (last->to_ns - first->from_ns != least) {
			outbuf_text(e->out, "..");
			outbuf_duration(e->out, last->to_ns - first->from_ns);
		}
	}
}

static void sequence(struct encode *e, const struct encode_sequence *s)
{
	if (s->title) {
		outbuf_safe_text(e->out, s->title);
		outbuf_format(e->out, e->handle.is_number ? " %llu: " : " %llx: ",
			      (unsigned long long)s->object);
	}
	if (s->place.tid)
		outbuf_format(e->out, "thread %d ", s->place.tid);
	outbuf_safe_text(e->out, s->place.thread);
	if (s->place.why != EDGE_THREAD)
		outbuf_format(e->out, ", after a%s %s at event %llu",
			      s->place.why == EDGE_UNOPENED ? "n" : "", encode_edge(s->place.why),
			      (unsigned long long)s->place.event);
	if (encode_tells_times(e, s))
		span(e, s);
	if (s->title)
		outbuf_text(e->out, s->closed ? ", closed" : ", not closed");
	newline(e);
	outbuf_spaces(e->out, INDENT);
	begin_words(e, INDENT);
}

static void sequence_end(struct encode *e, const struct encode_sequence *s)
{
	newline(e);
	if (s->ends != EDGE_THREAD)
		outbuf_format(e->out, "  up to a%s %s\n", s->ends == EDGE_UNOPENED ? "n" : "",
			      encode_edge(s->ends));
}

static void automaton(struct encode *e, const char *name, const struct fsa *fsa)
{
	outbuf_safe_text(e->out, name);
	outbuf_format(e->out, ": %u states, %u arcs\n", fsa->n_states, fsa->n_arcs);
}

static void state(struct encode *e, const struct fsa *fsa, uint32_t state)
{
	outbuf_format(e->out, "  %u", state);
	if (fsa->accepted[state])
		outbuf_format(e->out, ", end of %llu", (unsigned long long)fsa->accepted[state]);
	if (fsa->cut[state])
		outbuf_format(e->out, ", %llu cut off", (unsigned long long)fsa->cut[state]);
	outbuf_char(e->out, '\n');
}

static void arc(struct encode *e, uint32_t index, const struct fsa_arc *arc)
{
	(void)index;
	outbuf_text(e->out, "    ");
	encode_symbol(e->out, e->symbols, arc->symbol, PRINT_TEXT);
	outbuf_format(e->out, " -> %u  %llu\n", arc->to, (unsigned long long)arc->count);
}

/* ---- the graph ---- */

static void node_word(struct encode *e, uint32_t node)
{
	uint32_t n;
	const struct dag_node *at = &dag_nodes(e->dag, &n)[node];
	char number[32];
	snprintf(number, sizeof(number), ".%u%s", node,
		 at->token == TOKEN_RETURN ? "" : encode_token(at->token) + 1);
	const char *how = encode_how(at->symbol);
	if (*how) {
		word(e, how, false);
		e->opened = e->stuck = true;
	}
	word(e, symbols_name(e->symbols, symbol_name_index(at->symbol)), false);
	word(e, number, true);
}

/* The columns before a node: how often, and how long each took between. */
static void node_columns(struct encode *e, const struct dag_node *node)
{
	outbuf_format(e->out, "%10llu  ", (unsigned long long)node->count);
	if (e->show_times) {
		unsigned n =
			outbuf_duration(e->out, (uint64_t)(node->times.min / (double)node->count));
		outbuf_text(e->out, "..");
		n += outbuf_duration(e->out, (uint64_t)(node->times.max / (double)node->count));
		outbuf_spaces(e->out, n < 20 ? 20 - n : 1);
	}
	begin_words(e, e->show_times ? 34 : 12);
}

/* ---- the parts of grammars and graphs ---- */

static void callee(struct encode *e, uint32_t index, uint32_t node, uint64_t count)
{
	(void)index;
	count_word(e, count);
	node_word(e, node);
}

static void item(struct encode *e, uint32_t index, uint32_t symbol, uint64_t count)
{
	if (brackets(e) && few_brackets(e, symbol, count))
		return;
	count_word(e, count);
	if (symbol & GRAMMAR_RULE) {
		char name[16];
		snprintf(name, sizeof(name), "R%u", symbol & ~GRAMMAR_RULE);
		word(e, name, false);
	} else if (e->selection == SELECT_DAG) {
		struct dag_item run = e->runs.at[symbol - SYMBOL_FIRST];
		callee(e, index, run.node, run.count == DAG_MANY ? 0 : run.count);
	} else {
		symbol_word(e, symbol);
	}
}

static void nodes(struct encode *e, const struct dag *dag, bool begin)
{
	uint32_t n;
	if (!begin)
		return;
	dag_nodes(dag, &n);
	outbuf_format(e->out, "%u nodes for %llu calls\n", n, (unsigned long long)dag_calls(dag));
	outbuf_text(e->out, e->show_times ? "     calls  mean time each        node\n"
					  : "     calls  node\n");
}

static void node(struct encode *e, uint32_t index, const struct dag_node *n)
{
	node_columns(e, n);
	node_word(e, index);
	if (n->n)
		word(e, "=", false);
}

static void node_end(struct encode *e, const struct dag_node *n)
{
	(void)n;
	newline(e);
}

static void rules(struct encode *e, bool begin)
{
	if (begin)
		outbuf_text(e->out, "rules\n");
}

static void rule(struct encode *e, uint32_t index)
{
	char name[16];
	begin_words(e, INDENT);
	snprintf(name, sizeof(name), "R%u =", index);
	word(e, name, true);
}

static const struct encode_parts parts = {
	.automaton = automaton,
	.state = state,
	.arc = arc,
	.item = item,
	.callee = callee,
	.nodes = nodes,
	.node = node,
	.node_end = node_end,
	.rules = rules,
	.rule = rule,
	.rule_end = newline,
	.backwards = true,
};

const struct encode_format encode_text = {
	.name = "text",
	.sequence = sequence,
	.items = items,
	.sequence_end = sequence_end,
	.parts = &parts,
};
