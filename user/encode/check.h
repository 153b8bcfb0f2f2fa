/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* check.h: compares a trace with a model: where it does what the model does not have. */
#ifndef USER_CHECK_H
#define USER_CHECK_H

#include "user/encode/encode_model.h"

enum deviation_kind {
	DEVIATES_UNKNOWN, /* a function, or a thread, that the model does not have */
	DEVIATES_CALL,	  /* a call (or bracket) that it does not have there */
	DEVIATES_END,	  /* it ends where the model goes on */
};

enum { NO_STATE = UINT32_MAX, CHECK_MAX_KINDS = 1000, CHECK_PATH = 12 };

/* All deviations of the same kind at the same state by the same symbol. */
struct deviation {
	enum deviation_kind kind;
	uint32_t subject;	 /* symbol of the function, or index of the model's names */
	uint32_t state;		 /* of its automaton, or how far into the sequence */
	uint32_t symbol, before; /* what came, and what came before it or NO_STATE */
	uint32_t expected;	 /* by a grammar: what it has there, or NO_STATE: its end */
	uint64_t count;
	struct tree_place place; /* of the first; ->event is its number, ->time_ns its time */
	const char *title;	 /* of an object: what it is; else NULL */
	uint64_t object;	 /* and its value */
	uint32_t path[CHECK_PATH], n_path, path_left_out; /* open functions, innermost last */
};

/* A call that is open. */
struct check_frame {
	uint32_t symbol, automaton, state, last;
};

/* A sequence, and where it is in the model. */
struct check_follow {
	bool begun;
	struct tree_place place;
	const char *title;
	uint64_t object;
	uint32_t sequence; /* of the model: automaton, or sequence of the grammar */
	uint32_t state, last;
	uint64_t at; /* how far into the sequence */
	struct grammar_iter *iter;
};

struct check {
	struct encode e;
	struct encode_model *model;
	VEC(struct deviation) deviations; /* by when they first came */
	uint64_t total, others;		  /* others: beyond CHECK_MAX_KINDS */
	uint64_t calls_known, sequences_read;
	uint64_t sequences_cut; /* that begin in the middle: they are not compared */

	/* While reading. */
	struct tree_place place;
	VEC(uint32_t) automaton_of; /* per name: automaton + 1, or 0 */
	VEC(struct check_frame) frames;
	bool *used; /* sequences of the grammar that were compared with */
	/* Threads: the one that is read. Objects, and threads merged: by the number of the
	 * sequence. */
	VEC(struct check_follow) follows;
};

/* Reads the recording, which is open. 0, or -errno with @diag filled (-EINVAL: the model knows
 * nothing that ran). */
int check_run(struct check *c, struct pugmark_diag *diag);
void check_deinit(struct check *c);

#endif
