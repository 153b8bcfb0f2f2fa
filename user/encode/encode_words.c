// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_words.c: the words for selections, encodings, symbols and edges, and the class in a name.
 */
#include "user/encode/encode.h"

const char *const encode_selection_names[N_SELECTIONS] = {
	[SELECT_STRINGS] = "strings", [SELECT_FACE] = "class",	   [SELECT_OBJECT] = "object",
	[SELECT_DAG] = "dag",	      [SELECT_CHAINS] = "n-level", [SELECT_INTERVALS] = "intervals",
	[SELECT_CALLEES] = "callees",
};

const char *const encode_encoding_names[N_ENCODINGS] = {
	[ENCODE_PLAIN] = "plain",	[ENCODE_RLE] = "rle",
	[ENCODE_GRAMMAR] = "grammar",	[ENCODE_GRAMMAR_RLE] = "grammar-rle",
	[ENCODE_BALANCED] = "balanced", [ENCODE_FSA] = "fsa",
};

const char *encode_edge(enum tree_edge edge)
{
	static const char *const words[] = {"thread", "gap", "unknown return", "switch"};
	return words[edge];
}

const char *encode_token(uint32_t symbol)
{
	static const char *const tokens[] = {")", ")!", ")?", ")"};
	return tokens[symbol & 3];
}

const char *encode_how(uint32_t symbol)
{
	static const char *const words[] = {"", "=>", "^", ""};
	return words[symbol_how(symbol)];
}

void encode_symbol(struct outbuf *out, const struct symbols *symbols, uint32_t symbol,
		   enum printable_form form)
{
	if (symbol_closes(symbol)) {
		outbuf_text(out, encode_token(symbol));
		return;
	}
	outbuf_text(out, encode_how(symbol));
	out_printable(out, symbols_name(symbols, symbol_name_index(symbol)), form);
}

size_t encode_class_length(const char *name)
{
	const char *last = name;
	uint32_t depth = 0;
	for (const char *c = name; *c && *c != '('; c++) {
		depth += *c == '<';
		depth -= *c == '>' && depth;
		if (!depth && c[0] == ':' && c[1] == ':')
			last = c;
	}
	return (size_t)(last - name);
}
