// SPDX-License-Identifier: LGPL-2.1-or-later
/* check.c: see check.h. With automata of functions each open call is in a state of its function's
 * automaton; otherwise each thread, each object, or all threads merged, is in one state, or at one
 * place of a grammar. Whatever has deviated is not followed any further, so that one cause is
 * reported once. */
#include "user/encode/check.h"

#include "user/encode/encode_lanes.h"

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
	const struct tree_walk *walk = c->e.lane ? c->e.lane->walk : c->e.walk;
	if (walk)
		d.place.event = tree_walk_event_number(walk);
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

/* ---- sequences ---- */

/* The automaton for the sequence, or the first sequence of its group that was not compared with. */
static bool find_sequence(struct check *c, struct check_follow *f)
{
	const struct encode_model *m = c->model;
	char group[24], theirs[24];
	uint32_t n = m->grammar ? m->grammar->n_sequences : m->n_automata;
	encode_group(f->place.thread, group);
	for (f->sequence = 0; f->sequence < n; f->sequence++) {
		encode_group(m->names[f->sequence], theirs);
		if (f->title ? strcmp(f->title, m->names[f->sequence]) : strcmp(group, theirs))
			continue;
		if (m->grammar && c->used[f->sequence])
			continue;
		if (m->grammar)
			c->used[f->sequence] = true;
		return true;
	}
	return false;
}

static int note_follow(struct check *c, const struct check_follow *f, struct deviation d,
		       uint64_t time_ns)
{
	d.title = f->title;
	d.object = f->object;
	return note(c, d, time_ns);
}

/* A sequence that begins behind a gap is of no use: where it is in the model nobody knows. */
static int follow_begin(struct check *c, struct check_follow *f)
{
	f->begun = true;
	f->last = f->state = NO_STATE;
	f->at = 0;
	grammar_iter_free(f->iter);
	f->iter = NULL;
	if (f->place.why == EDGE_GAP || f->place.why == EDGE_UNOPENED) {
		c->sequences_cut++;
		return 0;
	}
	if (!find_sequence(c, f)) /* event and time are those of the sequence's begin */
		return note_follow(
			c, f, (struct deviation){.kind = DEVIATES_UNKNOWN, .subject = NO_STATE},
			f->place.time_ns);
	f->state = 0;
	c->sequences_read++;
	return c->model->grammar ? grammar_iter_new(c->model->grammar, f->sequence, &f->iter) : 0;
}

static int follow_step(struct check *c, struct check_follow *f, uint32_t symbol, uint64_t time_ns)
{
	struct deviation d = {.kind = DEVIATES_CALL,
			      .subject = f->sequence,
			      .state = f->iter ? (uint32_t)f->at : f->state,
			      .symbol = symbol,
			      .before = f->last,
			      .expected = NO_STATE};
	bool fits = true;
	if (f->state == NO_STATE)
		return 0;
	if (f->iter) {
		int got = grammar_iter_next(f->iter, &d.expected);
		if (got < 0)
			return got;
		fits = got && d.expected == symbol;
	} else {
		uint32_t to = fsa_step(c->model->automata[f->sequence], f->state, symbol);
		fits = to != FSA_NONE;
		f->state = fits ? to : NO_STATE;
	}
	f->last = symbol;
	f->at++;
	c->calls_known += fits;
	if (fits)
		return 0;
	f->state = NO_STATE;
	return note_follow(c, f, d, time_ns);
}

static int follow_end(struct check *c, struct check_follow *f, enum tree_edge why)
{
	struct deviation d = {.kind = DEVIATES_END,
			      .subject = f->sequence,
			      .state = f->iter ? (uint32_t)f->at : f->state,
			      .before = f->last};
	f->begun = false;
	if (f->state == NO_STATE || why != EDGE_THREAD)
		return 0;
	if (f->iter) {
		int got = grammar_iter_next(f->iter, &d.expected);
		return got == 1 ? note_follow(c, f, d, f->place.time_ns) : got;
	}
	return c->model->automata[f->sequence]->accepted[f->state]
		       ? 0
		       : note_follow(c, f, d, f->place.time_ns);
}

/* ---- threads ---- */

static int string_begin(void *ctx, const struct tree_place *place)
{
	struct check *c = ctx;
	c->place = *place;
	c->frames.n = 0;
	if (!c->follows.n && !VEC_PUSH(&c->follows, (struct check_follow){0}))
		return -ENOMEM;
	c->follows.at[0].place = *place;
	return follow_begin(c, &c->follows.at[0]);
}

static int string_open(void *ctx, const struct tree_call *call)
{
	struct check *c = ctx;
	int err = follow_step(c, &c->follows.at[0], call->symbol, call->time.from_ns);
	if (!err && !VEC_PUSH(&c->frames, (struct check_frame){.symbol = call->symbol}))
		err = -ENOMEM;
	return err;
}

static int string_close(void *ctx, const struct tree_return *ret)
{
	struct check *c = ctx;
	int err = c->model->selection == SELECT_STRINGS
			  ? follow_step(c, &c->follows.at[0], ret->token, ret->time.from_ns)
			  : 0;
	c->frames.n--;
	return err;
}

static int string_end(void *ctx, enum tree_edge why)
{
	struct check *c = ctx;
	return follow_end(c, &c->follows.at[0], why);
}

/* ---- objects, and threads merged ---- */

/* Where the event is that is handled, in its thread. */
static uint64_t at_lane(struct check *c)
{
	const struct encode_lane *l = c->e.lane;
	if (!l) /* all have ended */
		return c->place.time_ns;
	const struct pugmark_recording_task *t = &c->e.view.tasks[l->task];
	c->place = (struct tree_place){
		.task = l->task, .tid = t->tid, .pid = t->pid, .thread = t->comm};
	c->place.time_ns = l->event ? l->event->from_ns : t->last_ns;
	return c->place.time_ns;
}

static int sequence_put(void *ctx, uint32_t index, const uint32_t *symbols, size_t n)
{
	struct check *c = ctx;
	const struct encode_sequence *s = &c->e.sequences.at[index];
	uint64_t time_ns = at_lane(c);
	int err = 0;
	while (c->follows.n <= index)
		if (!VEC_PUSH(&c->follows, (struct check_follow){0}))
			return -ENOMEM;
	struct check_follow *f = &c->follows.at[index];
	if (!f->begun) {
		f->place = s->place;
		f->place.time_ns = time_ns;
		f->title = s->title;
		f->object = s->object;
		err = follow_begin(c, f);
	}
	for (size_t i = 0; i < n && !err; i++)
		err = follow_step(c, f, symbols[i], time_ns);
	return err;
}

static int sequence_end(void *ctx, uint32_t index, enum tree_edge why)
{
	struct check *c = ctx;
	at_lane(c);
	if (index >= c->follows.n || !c->follows.at[index].begun)
		return 0;
	/* A deviation of its end is where it began. */
	c->place = c->follows.at[index].place;
	return follow_end(c, &c->follows.at[index], why);
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
	const struct encode_tap sequences = {c, sequence_put, sequence_end};
	struct encode *e = &c->e;
	e->selection = c->model->selection;
	e->encoding = ENCODE_FSA;
	e->symbols = c->model->symbols;
	e->shares_symbols = true;
	e->face = c->model->face;
	e->handle = c->model->handle;
	e->merge = c->model->merged;
	if (e->selection == SELECT_OBJECT || e->merge)
		e->tap = &sequences;
	else
		e->instead = e->selection == SELECT_CALLEES ? &calls : &strings;
	if (c->model->grammar)
		c->used = calloc(c->model->grammar->n_sequences + 1, sizeof(*c->used));
	if (index_automata(c) || (c->model->grammar && !c->used))
		return trace_view_no_memory(&e->view, diag);
	int err = 0;
	if (e->merge && !e->view.info->times)
		err = pugmark_diag_set(diag, -ENODATA, e->view.dir, PUGMARK_NO_OFFSET,
				       "it was recorded without times: the order of its threads "
				       "is not known");
	if (!err)
		err = encode_read(e, diag);
	e->tap = NULL;
	e->instead = NULL;
	if (!err && !c->calls_known && !c->sequences_cut)
		err = pugmark_diag_set(diag, -EINVAL, e->view.dir, PUGMARK_NO_OFFSET,
				       "the model knows nothing of what ran: it is of another "
				       "program");
	return err;
}

void check_deinit(struct check *c)
{
	c->e.face = (struct patterns){0}; /* the model's */
	c->e.handle = (struct handle){0};
	encode_deinit(&c->e);
	encode_model_free(c->model);
	for (uint32_t i = 0; i < c->follows.n; i++)
		grammar_iter_free(c->follows.at[i].iter);
	VEC_FREE(&c->follows);
	VEC_FREE(&c->deviations);
	VEC_FREE(&c->automaton_of);
	VEC_FREE(&c->frames);
	free(c->used);
}
