/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_fsa.h: the automaton of Reiss and Renieris ("Encoding Program Executions", ICSE 2001,
 * section 4): from sequences, a deterministic automaton that accepts them all and, beyond them,
 * whatever looks alike over any k symbols in a row.
 *
 * A k-tail is the next k symbols; past its end a sequence goes on with the end for ever. Two states
 * from which the same k-tail can be seen are one state. While symbols come, this is kept for the
 * tails that were seen; fsa_finish() does it for all tails that the automaton allows, and then
 * minimises. With `loops`, a symbol that comes twice in a row makes a loop rather than a state, and
 * a state is not merged with the one before it merely because of the loop that it has.
 *
 * Two things are ours: a sequence without symbols makes the start accept and no more (as a k-tail
 * it would make every end a start), and a sequence that was cut off does not make its last state
 * accept. */
#ifndef OFFLINE_ENCODE_FSA_H
#define OFFLINE_ENCODE_FSA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FSA_MAX_K = 8 };

#define FSA_NONE UINT32_MAX

struct fsa_arc {
	uint32_t symbol, to;
	uint64_t count; /* how often the sequences took it */
};

/* State 0 is the start; the rest are in the order of a search from it. */
struct fsa {
	uint32_t n_states, n_arcs;
	uint32_t *first; /* arcs of state q: arcs[first[q] .. first[q + 1]), by symbol */
	struct fsa_arc *arcs;
	uint64_t *accepted; /* per state: how many sequences ended there; 0: it does not accept */
	uint64_t *cut;	    /* per state: how many sequences were cut off there */
};

void fsa_free(struct fsa *fsa);
/* Where @symbol leads from @state, or FSA_NONE. */
uint32_t fsa_step(const struct fsa *fsa, uint32_t state, uint32_t symbol);
/* Whether the sequence is accepted. */
bool fsa_accepts(const struct fsa *fsa, const uint32_t *symbols, size_t n);

struct fsa_builder;

/* Builds any number of automata at once. @k is from 1 to FSA_MAX_K. 0 or -ENOMEM. */
int fsa_builder_new(uint32_t k, bool loops, struct fsa_builder **out);
void fsa_builder_free(struct fsa_builder *builder);
/* One more automaton, numbered from 0. */
int fsa_builder_add(struct fsa_builder *builder, uint32_t *automaton);

/* A sequence that is being read; any number may be at once. */
struct fsa_cursor {
	uint32_t automaton, state;
	uint32_t last;	    /* symbol that led to the state */
	uint32_t n_pending; /* symbols that wait for the tail after them */
	uint64_t weight;    /* how many sequences it stands for */
	uint32_t pending[FSA_MAX_K];
};

void fsa_begin(struct fsa_cursor *cursor, uint32_t automaton, uint64_t weight);
/* 0 or -ENOMEM. Symbols are below FSA_NONE - 1. */
int fsa_put(struct fsa_builder *builder, struct fsa_cursor *cursor, uint32_t symbol);
/* @whole: the sequence ended; else it was cut off. */
int fsa_end(struct fsa_builder *builder, struct fsa_cursor *cursor, bool whole);

/* How much fsa_finish() does, for comparison. */
enum fsa_stage { FSA_AS_BUILT, FSA_MERGED, FSA_MINIMAL };

/* The automaton so far. 0 and an automaton freed with fsa_free(), or -ENOMEM. */
int fsa_finish(const struct fsa_builder *builder, uint32_t automaton, enum fsa_stage stage,
	       struct fsa **out);
size_t fsa_builder_bytes(const struct fsa_builder *builder);

#endif
