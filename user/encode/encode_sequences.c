// SPDX-License-Identifier: LGPL-2.1-or-later
/* encode_sequences.c: the encodings of sequences. Plain sequences and runs are written as they come
 * where one is read at a time; those of objects, of which many are open at once, are held until
 * they end. Grammars and automata are written when all has been read. */
#include "user/encode/encode.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

static int write_run(void *ctx, const uint32_t *symbols, size_t n, uint64_t count)
{
	struct encode *e = ctx;
	e->format->items(e, symbols, n, count == RLE_MANY ? 0 : count);
	return e->out->failed ? -EIO : 0;
}

int encode_sequences_init(struct encode *e)
{
	if (e->tap)
		return 0;
	switch (e->encoding) {
	case ENCODE_RLE:
		rle_init(&e->rle, e->k, e->selection == SELECT_STRINGS, write_run, e);
		return 0;
	case ENCODE_GRAMMAR:
	case ENCODE_GRAMMAR_RLE:
		return sequitur_new(false, &e->sequitur);
	case ENCODE_BALANCED:
		return sequitur_new(true, &e->sequitur);
	case ENCODE_FSA:
		return fsa_builder_new(e->k, true, &e->fsa);
	default:
		return 0;
	}
}

void encode_group(const char *thread, char group[24])
{
	size_t n = 0;
	for (const char *c = thread; *c && n < 23; c++)
		if (!isdigit((unsigned char)*c))
			group[n++] = *c;
		else if (!n || group[n - 1] != '*')
			group[n++] = '*';
	group[n] = 0;
}

/* Sequences of a group share an automaton. */
static int find_automaton(struct encode *e, struct encode_sequence *s)
{
	uint32_t name;
	int err = symbols_intern(e->symbols, s->title ? s->title : s->group, &name);
	for (uint32_t i = 0; !err && i < e->titles.n; i++)
		if (e->titles.at[i] == symbols_name(e->symbols, name)) {
			s->automaton = i;
			return 0;
		}
	if (!err)
		err = fsa_builder_add(e->fsa, &s->automaton);
	if (!err && !VEC_PUSH(&e->titles, symbols_name(e->symbols, name)))
		err = -ENOMEM;
	return err;
}

static bool streams(const struct encode *e)
{
	return e->encoding == ENCODE_PLAIN || e->encoding == ENCODE_RLE;
}

/* Where the next sequence is kept: if sequences are written as they come, only open ones are
 * kept. */
static struct encode_sequence *add_sequence(struct encode *e, uint32_t *index)
{
	if (streams(e) && e->selection != SELECT_OBJECT)
		e->sequences.n = 0;
	if (e->closed.n) {
		*index = e->closed.at[--e->closed.n];
		return &e->sequences.at[*index];
	}
	if (!VEC_PUSH(&e->sequences, (struct encode_sequence){0}))
		return NULL;
	*index = e->sequences.n - 1;
	return &e->sequences.at[*index];
}

int encode_sequence_begin(struct encode *e, const struct tree_place *place, const char *title,
			  uint32_t *index)
{
	struct encode_sequence *s = add_sequence(e, index);
	if (!s)
		return -ENOMEM;
	*s = (struct encode_sequence){.place = *place, .title = title, .open = true};
	encode_group(place->thread, s->group);
	if (e->tap)
		return 0;
	if (streams(e) && e->selection != SELECT_OBJECT) {
		encode_begin(e);
		e->format->sequence(e, s);
	}
	if (e->sequitur)
		return sequitur_begin(e->sequitur, &s->in_grammar);
	if (!e->fsa)
		return 0;
	int err = find_automaton(e, s);
	fsa_begin(&s->cursor, s->automaton, 1);
	return err;
}

int encode_sequence_put(struct encode *e, uint32_t index, const uint32_t *symbols, size_t n)
{
	struct encode_sequence *s = &e->sequences.at[index];
	int err = 0;
	s->symbols += n;
	if (e->tap)
		return e->tap->put(e->tap->ctx, index, symbols, n);
	if (streams(e) && e->selection == SELECT_OBJECT) {
		if (!VEC_RESERVE(&s->held, (uint32_t)n))
			return -ENOMEM;
		memcpy(s->held.at + s->held.n, symbols, n * sizeof(*symbols));
		s->held.n += (uint32_t)n;
		return 0;
	}
	switch (e->encoding) {
	case ENCODE_PLAIN:
		return write_run(e, symbols, n, 1);
	case ENCODE_RLE:
		return rle_put(&e->rle, symbols, n);
	case ENCODE_FSA:
		for (size_t i = 0; i < n && !err; i++)
			err = fsa_put(e->fsa, &s->cursor, symbols[i]);
		return err;
	default:
		return sequitur_put(e->sequitur, s->in_grammar, symbols, n);
	}
}

int encode_sequence_call(struct encode *e, uint32_t index, const struct tree_call *call)
{
	struct encode_sequence *s = &e->sequences.at[index];
	if (!s->symbols)
		s->first = call->time;
	s->last = call->time;
	if (!e->tap && e->encoding == ENCODE_PLAIN && e->show_times && e->format->tells_calls &&
	    !VEC_PUSH(&s->times, call->time))
		return -ENOMEM;
	return encode_sequence_put(e, index, &call->symbol, 1);
}

/* Writes what was held of a sequence that has ended. */
static int write_held(struct encode *e, struct encode_sequence *s)
{
	int err;
	encode_begin(e);
	e->format->sequence(e, s);
	if (e->encoding == ENCODE_PLAIN)
		err = write_run(e, s->held.at, s->held.n, 1);
	else
		err = rle_put(&e->rle, s->held.at, s->held.n);
	VEC_FREE(&s->held);
	return err;
}

int encode_sequence_end(struct encode *e, uint32_t index, enum tree_edge why)
{
	struct encode_sequence *s = &e->sequences.at[index];
	int err = 0;
	s->ends = why;
	s->open = false;
	if (e->tap)
		return e->tap->end(e->tap->ctx, index, why);
	if (streams(e) && e->selection == SELECT_OBJECT)
		err = write_held(e, s);
	if (e->encoding == ENCODE_RLE && !err)
		err = rle_finish(&e->rle);
	if (e->fsa)
		return fsa_end(e->fsa, &s->cursor, why == EDGE_THREAD);
	if (!err && !e->sequitur)
		e->format->sequence_end(e, s);
	VEC_FREE(&s->times);
	if (!err && streams(e) && e->selection == SELECT_OBJECT && !VEC_PUSH(&e->closed, index))
		err = -ENOMEM;
	return err;
}

int encode_grammar(struct encode *e, struct grammar **out)
{
	struct grammar *g = NULL, *balanced = NULL, *runs = NULL;
	int err = sequitur_grammar(e->sequitur, &g);
	if (!err && e->encoding == ENCODE_BALANCED)
		err = grammar_balance(g, &balanced);
	if (!err && e->encoding != ENCODE_GRAMMAR)
		err = grammar_runs(balanced ? balanced : g, e->k, &runs);
	if (!err) {
		*out = runs ? runs : g;
		g = runs ? g : NULL;
	}
	grammar_free(g);
	grammar_free(balanced);
	return err;
}

struct title {
	const char *name;
	uint32_t automaton;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct title *)a)->name, ((const struct title *)b)->name);
}

int encode_automata(struct encode *e)
{
	struct title *titles = malloc((e->titles.n + 1) * sizeof(*titles));
	int err = titles ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < e->titles.n && !err; i++)
		titles[i] = (struct title){e->titles.at[i], i};
	if (!err && e->titles.n)
		qsort(titles, e->titles.n, sizeof(*titles), by_name);
	for (uint32_t i = 0; i < e->titles.n && !err && !e->out->failed; i++) {
		struct fsa *fsa;
		err = fsa_finish(e->fsa, titles[i].automaton, FSA_MINIMAL, &fsa);
		if (err)
			break;
		encode_write_automaton(e, titles[i].name, fsa);
		fsa_free(fsa);
	}
	free(titles);
	return err;
}

int encode_sequences_finish(struct encode *e)
{
	if (e->fsa)
		return encode_automata(e);
	if (!e->sequitur)
		return 0;
	struct grammar *g;
	int err = encode_grammar(e, &g);
	if (err)
		return err;
	encode_write_grammar(e, g);
	grammar_free(g);
	return 0;
}
