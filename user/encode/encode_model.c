// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_model.c: see encode_model.h. Every number in the file is checked before it is used. */
#include "user/encode/encode_model.h"

#include "offline/base/private_file.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

struct reader {
	const char *path;
	struct encode_model *model;
	struct pugmark_diag *diag;
	VEC(struct grammar_item) items;
	VEC(struct grammar_rule) rules;
	VEC(const json_t *) runs; /* of several symbols: rules that are to follow */
};

static int bad(const struct reader *r, const char *what)
{
	return pugmark_diag_set(r->diag, -EBADMSG, r->path, PUGMARK_NO_OFFSET,
				"no model of `pugmark encode --format json`, or damaged: %s", what);
}

static int no_memory(const struct reader *r)
{
	return pugmark_diag_set(r->diag, -ENOMEM, r->path, PUGMARK_NO_OFFSET, "out of memory");
}

/* A bracket, or a name with what stands before it. */
enum { MODEL_FILE_MAX = 1 << 30 };

static int read_symbol(const struct reader *r, const json_t *json, uint32_t *symbol)
{
	const char *text = json_string_value(json);
	enum symbol_how how = HOW_CALL;
	uint32_t index;
	if (!text || !*text)
		return bad(r, "a symbol is not a text");
	for (uint32_t token = TOKEN_RETURN; token <= TOKEN_CUT; token++)
		if (!strcmp(text, encode_token(token))) {
			*symbol = token;
			return 0;
		}
	if (!strncmp(text, "=>", 2)) {
		how = HOW_TAIL;
		text += 2;
	} else if (*text == '^') {
		how = HOW_SIGNAL;
		text++;
	}
	if (symbols_intern(r->model->symbols, text, &index))
		return no_memory(r);
	*symbol = symbol_make(index, how);
	return 0;
}

static int read_count(const struct reader *r, const json_t *json, uint64_t max, uint64_t *out)
{
	json_int_t n = json_integer_value(json);
	if (!json_is_integer(json) || n < 0 || (uint64_t)n > max)
		return bad(r, "a number is missing or too large");
	*out = (uint64_t)n;
	return 0;
}

/* ---- automata ---- */

static int by_symbol(const void *a, const void *b)
{
	const struct fsa_arc *x = a, *y = b;
	return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

static int read_state(struct reader *r, const json_t *state, struct fsa *fsa, uint32_t q)
{
	const json_t *ends = json_object_get(state, "ends"), *arcs = json_object_get(state, "arcs");
	uint64_t to = 0;
	int err = 0;
	if (ends)
		err = read_count(r, ends, INT64_MAX, &fsa->accepted[q]);
	for (size_t i = 0; i < json_array_size(arcs) && !err; i++) {
		const json_t *arc = json_array_get(arcs, i);
		struct fsa_arc *a = &fsa->arcs[fsa->n_arcs++];
		err = read_symbol(r, json_array_get(arc, 0), &a->symbol);
		if (!err)
			err = read_count(r, json_array_get(arc, 1), fsa->n_states - 1, &to);
		if (!err)
			err = read_count(r, json_array_get(arc, 2), INT64_MAX, &a->count);
		a->to = (uint32_t)to;
	}
	if (err)
		return err;
	struct fsa_arc *first = fsa->arcs + fsa->first[q];
	fsa->first[q + 1] = fsa->n_arcs;
	uint32_t n = fsa->n_arcs - fsa->first[q];
	qsort(first, n, sizeof(*first), by_symbol);
	for (uint32_t i = 1; i < n; i++)
		if (first[i].symbol == first[i - 1].symbol)
			return bad(r, "two arcs of a state have the same symbol");
	return 0;
}

static int read_automaton(struct reader *r, const json_t *json, struct fsa **out)
{
	const json_t *states = json_object_get(json, "states");
	size_t n_states = json_array_size(states), n_arcs = 0;
	if (!n_states || n_states > INT32_MAX)
		return bad(r, "an automaton has no states");
	for (size_t q = 0; q < n_states; q++)
		n_arcs += json_array_size(json_object_get(json_array_get(states, q), "arcs"));
	struct fsa *fsa = calloc(1, sizeof(*fsa));
	if (!fsa)
		return no_memory(r);
	*out = fsa;
	fsa->n_states = (uint32_t)n_states;
	fsa->first = calloc(n_states + 1, sizeof(*fsa->first));
	fsa->arcs = calloc(n_arcs + 1, sizeof(*fsa->arcs));
	fsa->accepted = calloc(n_states, sizeof(*fsa->accepted));
	fsa->cut = calloc(n_states, sizeof(*fsa->cut));
	if (!fsa->first || !fsa->arcs || !fsa->accepted || !fsa->cut)
		return no_memory(r);
	int err = 0;
	for (uint32_t q = 0; q < n_states && !err; q++)
		err = read_state(r, json_array_get(states, q), fsa, q);
	return err;
}

static int read_automata(struct reader *r, const json_t *list)
{
	struct encode_model *m = r->model;
	size_t n = json_array_size(list);
	m->automata = calloc(n + 1, sizeof(struct fsa *));
	m->names = calloc(n + 1, sizeof(*m->names));
	if (!m->automata || !m->names)
		return no_memory(r);
	for (size_t i = 0; i < n; i++) {
		const json_t *automaton = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(automaton, "name"));
		if (!name)
			return bad(r, "an automaton has no name");
		m->names[i] = name;
		m->n_automata = (uint32_t)i + 1;
		int err = read_automaton(r, automaton, &m->automata[i]);
		if (err)
			return err;
	}
	return 0;
}

/* ---- sequences ---- */

static int push_item(struct reader *r, uint32_t symbol, uint64_t count)
{
	return VEC_PUSH(&r->items, (struct grammar_item){symbol, (uint32_t)count}) ? 0
										   : no_memory(r);
}

/* Reads a run of @of. A run of one symbol is an item; a run of several is a rule, which is read
 * when the list that it stands in is done. So the model in memory is as small as the file. */
static int read_run(struct reader *r, const json_t *of, uint64_t count, bool in_rule)
{
	uint32_t symbol;
	if (!json_array_size(of))
		return bad(r, "an item that is nothing");
	if (json_array_size(of) == 1) {
		int err = read_symbol(r, json_array_get(of, 0), &symbol);
		return err ? err : push_item(r, symbol, count);
	}
	if (in_rule)
		return bad(r, "a run of several symbols in a rule");
	if (!VEC_PUSH(&r->runs, of))
		return no_memory(r);
	return push_item(r, GRAMMAR_RULE | (r->rules.n + r->runs.n - 1), count);
}

static int read_item(struct reader *r, const json_t *item, uint64_t n_rules, bool in_rule)
{
	const json_t *times = json_object_get(item, "times"), *of = json_object_get(item, "of");
	const json_t *rule = json_object_get(item, "rule");
	uint64_t count = 1, index = 0;
	uint32_t symbol;
	int err = 0;
	if (json_is_string(item)) {
		err = read_symbol(r, item, &symbol);
		return err ? err : push_item(r, symbol, 1);
	}
	if (json_is_null(times))
		return pugmark_diag_set(r->diag, -EINVAL, r->path, PUGMARK_NO_OFFSET,
					"its runs are not all counted: nothing can be held "
					"against it (encode without K, or with --fsa)");
	if (times)
		err = read_count(r, times, GRAMMAR_MANY - 1, &count);
	if (err || !count)
		return err ? err : bad(r, "a run of none");
	if (rule) {
		if (!n_rules)
			return bad(r, "a rule that uses itself or a later one");
		err = read_count(r, rule, n_rules - 1, &index);
		return err ? err : push_item(r, GRAMMAR_RULE | (uint32_t)index, count);
	}
	return read_run(r, of, count, in_rule);
}

static int read_list(struct reader *r, const json_t *list, uint64_t n_rules, bool in_rule,
		     struct grammar_rule *out)
{
	int err = 0;
	out->first = r->items.n;
	if (!json_is_array(list))
		return bad(r, "a sequence has no items");
	for (size_t i = 0; i < json_array_size(list) && !err; i++)
		err = read_item(r, json_array_get(list, i), n_rules, in_rule);
	out->n = r->items.n - out->first;
	return err;
}

static int read_rule(struct reader *r, const json_t *list)
{
	struct grammar_rule rule;
	int err = read_list(r, list, r->rules.n, true, &rule);
	return err || VEC_PUSH(&r->rules, rule) ? err : no_memory(r);
}

/* The rules that the runs of a sequence have become. */
static int read_runs(struct reader *r)
{
	int err = 0;
	for (uint32_t i = 0; i < r->runs.n && !err; i++) {
		struct grammar_rule rule;
		err = read_list(r, r->runs.at[i], 0, true, &rule);
		if (!err && !VEC_PUSH(&r->rules, rule))
			err = no_memory(r);
	}
	r->runs.n = 0;
	return err;
}

static int read_sequences(struct reader *r, const json_t *sequences, const json_t *rules)
{
	struct encode_model *m = r->model;
	struct grammar *g = m->grammar = calloc(1, sizeof(*g));
	size_t n = json_array_size(sequences), n_rules = json_array_size(rules);
	int err = 0;
	if (!g || n > INT32_MAX || n_rules > INT32_MAX)
		return no_memory(r);
	g->sequences = calloc(n + 1, sizeof(*g->sequences));
	m->names = calloc(n + 1, sizeof(*m->names));
	if (!g->sequences || !m->names)
		return no_memory(r);
	for (size_t i = 0; i < n_rules && !err; i++)
		err = read_rule(r, json_array_get(rules, i));
	for (; g->n_sequences < n && !err; g->n_sequences++) {
		const json_t *s = json_array_get(sequences, g->n_sequences);
		const char *thread = json_string_value(json_object_get(s, "thread"));
		if (!thread)
			return bad(r, "a sequence has no thread");
		m->names[g->n_sequences] = thread;
		err = read_list(r, json_object_get(s, "items"), n_rules, false,
				&g->sequences[g->n_sequences]);
		if (!err)
			err = read_runs(r);
	}
	g->rules = r->rules.at;
	g->n_rules = r->rules.n;
	r->rules.at = NULL;
	g->items = r->items.at;
	g->n_items = r->items.n;
	r->items.at = NULL;
	return err;
}

/* The functions of a handle: which they are, its patterns say too. */
static int read_handle(struct reader *r, const json_t *json)
{
	const char *name = json_string_value(json_object_get(json, "name"));
	const json_t *lines = json_object_get(json, "lines");
	struct encode_model *m = r->model;
	char *text = NULL;
	size_t len = 0;
	if (!json)
		return 0;
	FILE *to = open_memstream(&text, &len);
	if (!to)
		return no_memory(r);
	for (size_t i = 0; i < json_array_size(lines); i++) {
		const char *line = json_string_value(json_array_get(lines, i));
		fprintf(to, "%s\n", line ? line : "");
	}
	int err = fclose(to) ? no_memory(r)
		  : name     ? handle_parse(text, name, &m->handle, r->diag)
			     : bad(r, "a handle has no name");
	free(text);
	bool same = !err && m->handle.n_rows == m->face.n;
	for (uint32_t i = 0; same && i < m->face.n; i++)
		same = !strcmp(m->handle.rows[i].pattern, patterns_text(&m->face, i));
	return err || same ? err : bad(r, "a handle has other functions than its class");
}

static int read_model(struct reader *r, const json_t *json)
{
	struct encode_model *m = r->model;
	const char *selection = json_string_value(json_object_get(json, "selection"));
	const json_t *automata = json_object_get(json, "automata");
	const json_t *face = json_object_get(json, "class");
	const char *what = json_string_value(json_object_get(json, "pugmark"));
	if (!what || strcmp(what, "encoding") || !selection)
		return bad(r, "it does not say what it is");
	if (json_integer_value(json_object_get(json, "version")) != 1)
		return pugmark_diag_set(r->diag, -EPROTO, r->path, PUGMARK_NO_OFFSET,
					"of a later version of Pugmark");
	uint32_t i = 0;
	while (i < N_SELECTIONS && strcmp(selection, encode_selection_names[i]))
		i++;
	if (i == N_SELECTIONS || i == SELECT_DAG || (i == SELECT_OBJECT && !automata))
		return pugmark_diag_set(r->diag, -EINVAL, r->path, PUGMARK_NO_OFFSET,
					"of --%s: a trace can be held against --fsa, --strings, "
					"--class, and --object and --handle with --fsa",
					selection);
	m->selection = (enum encode_selection)i;
	m->merged = json_is_true(json_object_get(json, "merged"));
	if (m->merged && m->selection != SELECT_FACE)
		return bad(r, "merged goes with class");
	for (size_t p = 0; p < json_array_size(face); p++) {
		const char *text = json_string_value(json_array_get(face, p));
		int err = text ? patterns_add_glob(&m->face, text, r->diag) : bad(r, "no pattern");
		if (err)
			return err;
	}
	int err = i == SELECT_OBJECT ? read_handle(r, json_object_get(json, "handle")) : 0;
	if (err)
		return err;
	return automata ? read_automata(r, automata)
			: read_sequences(r, json_object_get(json, "sequences"),
					 json_object_get(json, "rules"));
}

/* Takes @json, or where that is NULL says what @error has. */
static int model_from_json(const char *path, json_t *json, const json_error_t *error,
			   struct encode_model **out, struct pugmark_diag *diag)
{
	struct reader r = {.path = path, .diag = diag, .model = calloc(1, sizeof(*r.model))};
	if (!r.model || symbols_new(&r.model->symbols)) {
		free(r.model);
		json_decref(json);
		return no_memory(&r);
	}
	r.model->json = json;
	int err = json ? read_model(&r, json) : bad(&r, error->text);
	VEC_FREE(&r.items);
	VEC_FREE(&r.rules);
	VEC_FREE(&r.runs);
	if (err)
		encode_model_free(r.model);
	else
		*out = r.model;
	return err;
}

int encode_model_decode(const void *bytes, size_t len_bytes, const char *name,
			struct encode_model **out, struct pugmark_diag *diag)
{
	json_error_t error;
	json_t *json = json_loadb(bytes, len_bytes, JSON_REJECT_DUPLICATES, &error);
	return model_from_json(name, json, &error, out, diag);
}

int encode_model_open(const char *path, struct encode_model **out, struct pugmark_diag *diag)
{
	struct private_file file;
	int err = private_file_open(path, MODEL_FILE_MAX, &file);
	if (err)
		return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "cannot open: %s",
					private_file_why(err));
	err = encode_model_decode(file.bytes, file.len_bytes, path, out, diag);
	private_file_free(&file);
	return err;
}

void encode_model_free(struct encode_model *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->n_automata; i++)
		fsa_free(m->automata[i]);
	free(m->automata);
	free(m->names);
	grammar_free(m->grammar);
	patterns_deinit(&m->face);
	handle_deinit(&m->handle);
	symbols_free(m->symbols);
	json_decref(m->json);
	free(m);
}
