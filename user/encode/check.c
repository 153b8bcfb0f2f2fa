// SPDX-License-Identifier: LGPL-2.1-or-later
/* check.c: see check.h. With automata of functions each open call is in a state of its function's
 * automaton; with strings each thread is in one state, or at one place of a grammar. Whatever has
 * deviated is not followed any further, so that one cause is reported once. */
#include "user/encode/check.h"

#include <errno.h>
#include <stdlib.h>

/* ---- deviations ---- */

static bool same(const struct deviation *a, const struct deviation *b)
{
	return a->kind == b->kind && a->subject == b->subject && a->state == b->state &&
	       a->symbol == b->symbol;
}

static int note(struct check *c, struct deviation d, uint64_t time_ns)
{
	c->total++;
	for (uint32_t i = 0; i < c->deviations.n; i++)
		if (same(&c->deviations.at[i], &d)) {
			c->deviations.at[i].count++;
			return 0;
		}
	if (c->deviations.n == CHECK_MAX_KINDS) {
		c->others++;
		return 0;
	}
	d.count = 1;
	d.place = c->place;
	d.place.event = tree_walk_event_number(c->e.walk);
	d.place.time_ns = time_ns;
	uint32_t n = c->frames.n;
	d.path_left_out = n > CHECK_PATH ? n - CHECK_PATH : 0;
	for (uint32_t i = d.path_left_out; i < n; i++)
		d.path[d.n_path++] = c->frames.at[i].symbol;
	return VEC_PUSH(&c->deviations, d) ? 0 : -ENOMEM;
}

/* ---- automata of functions ---- */

/* A function is the same however it was entered. */
static uint32_t as_called(uint32_t symbol)
{
	return symbol_make(symbol_name_index(symbol), HOW_CALL);
}

static uint32_t automaton_of(const struct check *c, uint32_t symbol)
{
	uint32_t name = symbol_name_index(symbol);
	return name < c->automaton_of.n ? c->automaton_of.at[name] - 1 : NO_STATE;
}

/* The innermost call goes on by @symbol. */
static int step_frame(struct check *c, uint32_t symbol, uint64_t time_ns)
{
	struct check_frame *f = &c->frames.at[c->frames.n - 1];
	if (f->state == NO_STATE)
		return 0;
	uint32_t to = fsa_step(c->model->automata[f->automaton], f->state, symbol);
	struct deviation d = {.kind = DEVIATES_CALL,
			      .subject = as_called(f->symbol),
			      .state = f->state,
			      .symbol = symbol,
			      .before = f->last};
	f->state = to == FSA_NONE ? NO_STATE : to;
	f->last = symbol;
	return to == FSA_NONE ? note(c, d, time_ns) : 0;
}

static int call_begin(void *ctx, const struct tree_place *place)
{
	struct check *c = ctx;
	c->place = *place;
	c->frames.n = 0;
	return 0;
}

static int call_open(void *ctx, const struct tree_call *call)
{
	struct check *c = ctx;
	bool called = c->frames.n && symbol_how(call->symbol) != HOW_SIGNAL;
	int err = called ? step_frame(c, call->symbol, call->time.from_ns) : 0;
	uint32_t automaton = automaton_of(c, call->symbol);
	bool known = automaton != NO_STATE;
	c->calls_known += known;
	if (!err && !known)
		err = note(c,
			   (struct deviation){.kind = DEVIATES_UNKNOWN,
					      .subject = as_called(call->symbol)},
			   call->time.from_ns);
	if (!err && !VEC_PUSH(&c->frames, (struct check_frame){call->symbol, automaton,
							       known ? 0 : NO_STATE, NO_STATE}))
		err = -ENOMEM;
	return err;
}

static int call_close(void *ctx, const struct tree_return *ret)
{
	struct check *c = ctx;
	const struct check_frame f = c->frames.at[c->frames.n - 1];
	int err = 0;
	if (f.state != NO_STATE && ret->token == TOKEN_RETURN &&
	    !c->model->automata[f.automaton]->accepted[f.state])
		err = note(c,
			   (struct deviation){.kind = DEVIATES_END,
					      .subject = as_called(f.symbol),
					      .state = f.state,
					      .before = f.last},
			   ret->time.from_ns);
	c->frames.n--;
	return err;
}

static int call_end(void *ctx, enum tree_edge why)
{
	(void)ctx, (void)why;
	return 0;
}

/* ---- strings ---- */

/* The automaton for the thread, or the first sequence of its group that was not compared with. */
static bool find_sequence(struct check *c, const struct tree_place *place)
{
	const struct encode_model *m = c->model;
	char group[24], theirs[24];
	uint32_t n = m->grammar ? m->grammar->n_sequences : m->n_automata;
	encode_group(place->thread, group);
	for (c->sequence = 0; c->sequence < n; c->sequence++) {
		encode_group(m->names[c->sequence], theirs);
		if (strcmp(group, theirs) || (m->grammar && c->used[c->sequence]))
			continue;
		if (m->grammar)
			c->used[c->sequence] = true;
		return true;
	}
	return false;
}

static int string_begin(void *ctx, const struct tree_place *place)
{
	struct check *c = ctx;
	c->place = *place;
	c->frames.n = 0;
	c->last = NO_STATE;
	c->at = 0;
	c->state = find_sequence(c, place) ? 0 : NO_STATE;
	grammar_iter_free(c->iter);
	c->iter = NULL;
	if (c->state == NO_STATE) /* event and time are those of the sequence's begin */
		return note(c, (struct deviation){.kind = DEVIATES_UNKNOWN, .subject = NO_STATE},
			    place->time_ns);
	c->sequences_read++;
	return c->model->grammar ? grammar_iter_new(c->model->grammar, c->sequence, &c->iter) : 0;
}

static int step_string(struct check *c, uint32_t symbol, uint64_t time_ns)
{
	struct deviation d = {.kind = DEVIATES_CALL,
			      .subject = c->sequence,
			      .state = c->iter ? (uint32_t)c->at : c->state,
			      .symbol = symbol,
			      .before = c->last,
			      .expected = NO_STATE};
	bool fits = true;
	if (c->state == NO_STATE)
		return 0;
	if (c->iter) {
		int got = grammar_iter_next(c->iter, &d.expected);
		if (got < 0)
			return got;
		fits = got && d.expected == symbol;
	} else {
		uint32_t to = fsa_step(c->model->automata[c->sequence], c->state, symbol);
		fits = to != FSA_NONE;
		c->state = fits ? to : NO_STATE;
	}
	c->last = symbol;
	c->at++;
	c->calls_known += fits;
	if (fits)
		return 0;
	c->state = NO_STATE;
	return note(c, d, time_ns);
}

static int string_open(void *ctx, const struct tree_call *call)
{
	struct check *c = ctx;
	int err = step_string(c, call->symbol, call->time.from_ns);
	if (!err && !VEC_PUSH(&c->frames, (struct check_frame){.symbol = call->symbol}))
		err = -ENOMEM;
	return err;
}

static int string_close(void *ctx, const struct tree_return *ret)
{
	struct check *c = ctx;
	int err = c->model->selection == SELECT_STRINGS
			  ? step_string(c, ret->token, ret->time.from_ns)
			  : 0;
	c->frames.n--;
	return err;
}

static int string_end(void *ctx, enum tree_edge why)
{
	struct check *c = ctx;
	struct deviation d = {.kind = DEVIATES_END,
			      .subject = c->sequence,
			      .state = c->iter ? (uint32_t)c->at : c->state,
			      .before = c->last};
	if (c->state == NO_STATE || why != EDGE_THREAD)
		return 0;
	if (c->iter) {
		int got = grammar_iter_next(c->iter, &d.expected);
		return got == 1 ? note(c, d, c->place.time_ns) : got;
	}
	return c->model->automata[c->sequence]->accepted[c->state] ? 0
								   : note(c, d, c->place.time_ns);
}

/* ---- the whole ---- */

static int index_automata(struct check *c)
{
	uint32_t n = symbols_count(c->model->symbols);
	for (uint32_t i = 0; i < n; i++)
		if (!VEC_PUSH(&c->automaton_of, 0))
			return -ENOMEM;
	for (uint32_t i = 0; i < c->model->n_automata; i++) {
		uint32_t name = symbols_find(c->model->symbols, c->model->names[i]);
		if (name >= c->automaton_of.n) { /* nobody calls it */
			if (symbols_intern(c->model->symbols, c->model->names[i], &name))
				return -ENOMEM;
			while (c->automaton_of.n <= name)
				if (!VEC_PUSH(&c->automaton_of, 0))
					return -ENOMEM;
		}
		c->automaton_of.at[name] = i + 1;
	}
	return 0;
}

int check_run(struct check *c, struct pugmark_diag *diag)
{
	const struct tree_sink calls = {c, call_begin, call_open, call_close, call_end, NULL};
	const struct tree_sink strings = {c,	      string_begin, string_open, string_close,
					  string_end, NULL};
	struct encode *e = &c->e;
	e->selection = c->model->selection;
	e->encoding = ENCODE_FSA;
	e->symbols = c->model->symbols;
	e->shares_symbols = true;
	e->face = c->model->face;
	e->instead = e->selection == SELECT_CALLEES ? &calls : &strings;
	if (c->model->grammar)
		c->used = calloc(c->model->grammar->n_sequences + 1, sizeof(*c->used));
	if (index_automata(c) || (c->model->grammar && !c->used))
		return trace_view_no_memory(&e->view, diag);
	int err = encode_read(e, diag);
	if (!err && !c->calls_known)
		err = pugmark_diag_set(diag, -EINVAL, e->view.dir, PUGMARK_NO_OFFSET,
				       "the model knows nothing of what ran: it is of another "
				       "program");
	return err;
}

void check_deinit(struct check *c)
{
	c->e.face = (struct patterns){0}; /* the model's */
	encode_deinit(&c->e);
	encode_model_free(c->model);
	grammar_iter_free(c->iter);
	VEC_FREE(&c->deviations);
	VEC_FREE(&c->automaton_of);
	VEC_FREE(&c->frames);
	free(c->used);
}
