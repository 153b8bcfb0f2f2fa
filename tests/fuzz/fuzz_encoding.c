// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_encoding.c: any bytes as a model that `check` is given, and as a list of the functions of a
 * handle. Either is refused with a reason, or all of it can be used: every arc leads to a state,
 * every rule says symbols, every row names a function. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/encode/encode_model.h"
#include "user/plan/handles.h"
#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SYMBOLS = 10000 };

static bool is_known(const struct encode_model *m, uint32_t symbol)
{
	return symbol_closes(symbol) ? symbol <= TOKEN_CUT
				     : symbol_name_index(symbol) < symbols_count(m->symbols);
}

static void use_automaton(const struct encode_model *m, const struct fsa *fsa)
{
	MUST(fsa->n_states && fsa->first[fsa->n_states] == fsa->n_arcs);
	for (uint32_t q = 0; q < fsa->n_states; q++)
		for (uint32_t i = fsa->first[q]; i < fsa->first[q + 1]; i++) {
			const struct fsa_arc *arc = &fsa->arcs[i];
			MUST(arc->to < fsa->n_states && is_known(m, arc->symbol));
			MUST(fsa_step(fsa, q, arc->symbol) == arc->to);
		}
}

static void use_sequence(const struct encode_model *m, uint32_t sequence)
{
	struct grammar_iter *it;
	uint32_t symbol;
	int got = 0;
	MUST(!grammar_iter_new(m->grammar, sequence, &it));
	for (int i = 0; i < SYMBOLS && (got = grammar_iter_next(it, &symbol)) == 1; i++)
		MUST(is_known(m, symbol));
	MUST(got >= 0);
	grammar_iter_free(it);
}

static void as_model(const uint8_t *data, size_t size)
{
	struct pugmark_diag diag = {.text = ""};
	struct encode_model *m;
	if (encode_model_decode(data, size, "fuzz", &m, &diag)) {
		MUST(*diag.text);
		return;
	}
	for (uint32_t i = 0; i < m->n_automata; i++) {
		MUST(m->names[i]);
		use_automaton(m, m->automata[i]);
	}
	for (uint32_t i = 0; m->grammar && i < m->grammar->n_sequences; i++) {
		MUST(m->names[i]);
		use_sequence(m, i);
	}
	encode_model_free(m);
}

static void as_handle(const uint8_t *data, size_t size)
{
	struct pugmark_diag diag = {.text = ""};
	struct handle h;
	char *text = strndup((const char *)data, size);
	MUST(text);
	if (handle_parse(text, "fuzz", &h, &diag)) {
		MUST(*diag.text);
	} else {
		MUST(h.n_rows);
		for (uint32_t i = 0; i < h.n_rows; i++)
			MUST(*h.rows[i].pattern && (h.rows[i].arg || h.rows[i].returns) &&
			     h.rows[i].arg <= 6);
		handle_deinit(&h);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	as_model(data, size);
	as_handle(data, size);
	return 0;
}
