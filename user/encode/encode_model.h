/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_model.h: a model that `pugmark encode --format json` wrote, read back: automata, or
 * strings as a grammar or plain. */
#ifndef USER_ENCODE_MODEL_H
#define USER_ENCODE_MODEL_H

#include "offline/encode/encode_fsa.h"
#include "user/encode/encode.h"

struct encode_model {
	enum encode_selection selection;
	uint32_t k;
	struct symbols *symbols; /* what its names are in */
	/* Automata, or else sequences. */
	struct fsa **automata;
	const char **names; /* of the automata, or the threads of the sequences */
	uint32_t n_automata;
	struct grammar *grammar;
	struct patterns face; /* --class, --object */
	struct handle handle; /* --handle: its rows are what face matches */
	bool merged;	      /* all threads in one sequence */
	void *json;	      /* what the patterns point into */
};

/* Reads the file @path. Returns 0 and a model that encode_model_free() frees, or -errno with @diag
 * filled: -EBADMSG where the file is no model or damaged, -EINVAL where nothing can be held against
 * it. */
int encode_model_open(const char *path, struct encode_model **out, struct pugmark_diag *diag);
/* The same of a file that is in memory; @name is what @diag calls it. */
int encode_model_decode(const void *bytes, size_t len_bytes, const char *name,
			struct encode_model **out, struct pugmark_diag *diag);
void encode_model_free(struct encode_model *model);

#endif
