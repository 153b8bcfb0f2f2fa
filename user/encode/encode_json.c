// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_json.c: what encode finds, for other programs, and for `pugmark check`: the schema is in
 * docs/encoders.md. */
#include "user/encode/encode.h"

static void comma(struct encode *e)
{
	if (e->comma)
		outbuf_char(e->out, ',');
	e->comma = true;
}

static void symbol_text(struct encode *e, uint32_t symbol)
{
	outbuf_char(e->out, '"');
	encode_symbol(e->out, e->symbols, symbol, PRINT_JSON);
	outbuf_char(e->out, '"');
}

/* The list of functions, in the form of its file: `pugmark check` reads it again. */
static void handle(struct encode *e)
{
	char line[HANDLE_LINE_MAX];
	if (!e->handle.n_rows)
		return;
	outbuf_json(e->out, ",\"handle\":{\"name\":", e->handle.name);
	outbuf_text(e->out, ",\"lines\":[");
	for (uint32_t i = 0; handle_line(&e->handle, i, line); i++) {
		outbuf_json(e->out, i ? "," : "", line);
	}
	outbuf_text(e->out, "]}");
}

static void begin(struct encode *e)
{
	bool lists = e->encoding != ENCODE_FSA && e->selection != SELECT_DAG;
	outbuf_format(e->out, "{\"pugmark\":\"encoding\",\"version\":1,\"selection\":\"%s\"",
		      encode_selection_names[e->selection]);
	outbuf_json(e->out, ",\"encoding\":", encode_encoding_names[e->encoding]);
	if (e->k)
		outbuf_json_dec(e->out, ",\"k\":", e->k);
	if (e->merge)
		outbuf_text(e->out, ",\"merged\":true");
	for (uint32_t i = 0; i < e->face.n; i++) {
		outbuf_text(e->out, i ? ",\"" : ",\"class\":[\"");
		outbuf_json_text(e->out, patterns_text(&e->face, i));
		outbuf_text(e->out, i + 1 < e->face.n ? "\"" : "\"]");
	}
	handle(e);
	if (e->encoding == ENCODE_FSA)
		outbuf_text(e->out, ",\n\"automata\":[");
	else if (lists)
		outbuf_text(e->out, ",\n\"sequences\":[");
	e->comma = false;
}

static void sequence(struct encode *e, const struct encode_sequence *s)
{
	comma(e);
	outbuf_format(e->out, "\n{\"tid\":%d,\"pid\":%d", s->place.tid, s->place.pid);
	outbuf_json(e->out, ",\"thread\":", s->place.thread);
	if (s->title) {
		outbuf_json(e->out, ",\"of\":", s->title);
		outbuf_format(e->out, ",\"object\":\"%llx\"", (unsigned long long)s->object);
	}
	outbuf_json(e->out, ",\"begins\":", encode_edge(s->place.why));
	outbuf_json_dec(e->out, ",\"event\":", s->place.event);
	outbuf_text(e->out, ",\"items\":[");
	e->comma = false;
}

static void many(struct encode *e, const char *key, uint64_t count)
{
	if (count != 1)
		outbuf_format(e->out, ",\"%s\":", key);
	if (count == 0)
		outbuf_text(e->out, "null");
	else if (count > 1)
		outbuf_dec(e->out, count);
}

static void items(struct encode *e, const uint32_t *symbols, size_t n, uint64_t count)
{
	if (count != 1) {
		comma(e);
		e->comma = false;
		outbuf_text(e->out, "{\"of\":[");
	}
	for (size_t i = 0; i < n; i++) {
		comma(e);
		symbol_text(e, symbols[i]);
	}
	if (count != 1) {
		outbuf_char(e->out, ']');
		many(e, "times", count);
		outbuf_char(e->out, '}');
	}
}

static void bounds(struct encode *e, const char *key, struct tree_time t)
{
	outbuf_json_dec(e->out, key, encode_since_start(e, t.from_ns));
	outbuf_json_dec(e->out, ",", encode_since_start(e, t.to_ns));
	outbuf_char(e->out, ']');
}

static void times(struct encode *e, const struct encode_sequence *s)
{
	bounds(e, ",\"first_ns\":[", s->first);
	bounds(e, ",\"last_ns\":[", s->last);
	if (!s->times.n)
		return;
	outbuf_text(e->out, ",\"items_ns\":[");
	for (uint32_t i = 0; i < s->times.n; i++)
		bounds(e, i ? ",[" : "[", s->times.at[i]);
	outbuf_char(e->out, ']');
}

static void sequence_end(struct encode *e, const struct encode_sequence *s)
{
	outbuf_char(e->out, ']');
	outbuf_json(e->out, ",\"ends\":", encode_edge(s->ends));
	if (s->title)
		outbuf_text(e->out, s->closed ? ",\"closed\":true" : ",\"closed\":false");
	if (encode_tells_times(e, s))
		times(e, s);
	outbuf_char(e->out, '}');
	e->comma = true;
}

/* ---- the parts of grammars, graphs and automata ---- */

/* A callee, called @run times in a row, and that @times times. */
static void callee_text(struct encode *e, uint32_t node, const char *key, uint64_t run)
{
	outbuf_format(e->out, "{\"node\":%u", node);
	many(e, key, run);
}

static void item(struct encode *e, uint32_t index, uint32_t symbol, uint64_t count)
{
	if (index)
		outbuf_char(e->out, ',');
	if (symbol & GRAMMAR_RULE) {
		outbuf_format(e->out, "{\"rule\":%u", symbol & ~GRAMMAR_RULE);
	} else if (e->selection == SELECT_DAG) {
		struct dag_item run = e->runs.at[symbol - SYMBOL_FIRST];
		callee_text(e, run.node, "run", run.count == DAG_MANY ? 0 : run.count);
	} else if (count == 1) {
		symbol_text(e, symbol);
		return;
	} else {
		outbuf_text(e->out, "{\"of\":[");
		symbol_text(e, symbol);
		outbuf_char(e->out, ']');
	}
	many(e, "times", count);
	outbuf_char(e->out, '}');
}

static void callee(struct encode *e, uint32_t index, uint32_t node, uint64_t count)
{
	if (index)
		outbuf_char(e->out, ',');
	callee_text(e, node, "times", count);
	outbuf_char(e->out, '}');
}

static void sequences(struct encode *e, bool begin)
{
	outbuf_text(e->out, begin ? ",\n\"sequences\":[" : "]");
}

static void nodes(struct encode *e, const struct dag *dag, bool begin)
{
	(void)dag;
	outbuf_text(e->out, begin ? ",\n\"nodes\":[" : "]");
}

static void node(struct encode *e, uint32_t index, const struct dag_node *n)
{
	static const char *const ends[] = {"returned", "unwound", "cut off", ""};
	outbuf_text(e->out, index ? ",\n{\"function\":" : "\n{\"function\":");
	symbol_text(e, n->symbol);
	if (n->token != TOKEN_RETURN)
		outbuf_json(e->out, ",\"end\":", ends[n->token & 3]);
	outbuf_json_dec(e->out, ",\"calls\":", n->count);
	if (e->show_times)
		outbuf_format(e->out, ",\"ns\":{\"min\":%.0f,\"max\":%.0f,\"squares\":%.6g}",
			      n->times.min, n->times.max, n->times.squares);
	outbuf_text(e->out, ",\"callees\":[");
}

static void node_end(struct encode *e, const struct dag_node *n)
{
	(void)n;
	outbuf_text(e->out, "]}");
}

static void rules(struct encode *e, bool begin)
{
	if (begin && e->selection != SELECT_DAG)
		outbuf_char(e->out, ']'); /* of the sequences */
	outbuf_text(e->out, begin ? ",\n\"rules\":[" : "]");
}

static void rule(struct encode *e, uint32_t index)
{
	outbuf_text(e->out, index ? ",\n[" : "\n[");
}

static void rule_end(struct encode *e)
{
	outbuf_char(e->out, ']');
}

static void automaton(struct encode *e, const char *name, const struct fsa *fsa)
{
	(void)fsa;
	comma(e);
	outbuf_json(e->out, "\n{\"name\":", name);
	outbuf_text(e->out, ",\"states\":[");
}

static void state(struct encode *e, const struct fsa *fsa, uint32_t state)
{
	(void)fsa;
	outbuf_text(e->out, state ? ",{\"arcs\":[" : "{\"arcs\":[");
}

static void arc(struct encode *e, uint32_t index, const struct fsa_arc *arc)
{
	outbuf_text(e->out, index ? ",[" : "[");
	symbol_text(e, arc->symbol);
	outbuf_char(e->out, ',');
	outbuf_dec(e->out, arc->to);
	outbuf_char(e->out, ',');
	outbuf_dec(e->out, arc->count);
	outbuf_char(e->out, ']');
}

static void state_end(struct encode *e, const struct fsa *fsa, uint32_t state)
{
	outbuf_char(e->out, ']');
	if (fsa->accepted[state])
		outbuf_json_dec(e->out, ",\"ends\":", fsa->accepted[state]);
	if (fsa->cut[state])
		outbuf_json_dec(e->out, ",\"cut\":", fsa->cut[state]);
	outbuf_char(e->out, '}');
}

static void automaton_end(struct encode *e)
{
	outbuf_text(e->out, "]}");
}

static void end(struct encode *e)
{
	bool grammar = e->encoding != ENCODE_PLAIN && e->encoding != ENCODE_RLE;
	if (e->encoding == ENCODE_FSA || (e->selection != SELECT_DAG && !grammar))
		outbuf_char(e->out, ']');
	outbuf_text(e->out, "}\n");
}

static const struct encode_parts parts = {
	.automaton = automaton,
	.state = state,
	.arc = arc,
	.state_end = state_end,
	.automaton_end = automaton_end,
	.item = item,
	.callee = callee,
	.sequences = sequences,
	.nodes = nodes,
	.node = node,
	.node_end = node_end,
	.rules = rules,
	.rule = rule,
	.rule_end = rule_end,
};

const struct encode_format encode_json = {
	.name = "json",
	.tells_calls = true,
	.begin = begin,
	.sequence = sequence,
	.items = items,
	.sequence_end = sequence_end,
	.parts = &parts,
	.end = end,
};
