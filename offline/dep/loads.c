// SPDX-License-Identifier: LGPL-2.1-or-later
/* loads.c: a load whose bytes were not all written by one. */
#include "offline/dep/build_impl.h"

#include <stdlib.h>

/* The word of a load of bytes with these definitions. */
static uint32_t word_of(struct dep_build *b, const uint32_t *defs, uint64_t len)
{
	struct dep_words *many = &b->trace.many;
	uint64_t first = many->n;
	if (first + len >= DEP_LOAD_MANY || !dep_words_room(many, len + 1)) {
		b->no_memory = true;
		return 0;
	}
	many->n++;
	for (uint64_t i = 0; i < len; i++) {
		bool known = !defs[i];
		for (uint64_t k = first + 1; k < many->n && !known; k++)
			known = many->at[k] == defs[i];
		if (!known)
			many->at[many->n++] = defs[i];
	}
	if (many->n <= first + 2) {
		uint32_t one = many->n == first + 2 ? many->at[first + 1] : 0;
		many->n = first;
		return one;
	}
	many->at[first] = many->n - first - 1;
	return DEP_LOAD_MANY | (uint32_t)first;
}

/* The load whose word comes next has read what may be others'. */
static void note_foreign(struct dep_build *b, uint64_t addr, uint64_t len)
{
	struct dep_trace *t = &b->trace;
	if (t->n_foreign == t->room_foreign) {
		uint64_t room = 2 * t->room_foreign + 64;
		struct dep_foreign *foreign = large_realloc(t->foreign, room * sizeof(*foreign));
		if (!foreign) {
			b->no_memory = true;
			return;
		}
		t->foreign = foreign;
		t->room_foreign = room;
	}
	t->foreign[t->n_foreign++] = (struct dep_foreign){t->loads.n, addr, (uint32_t)len};
}

enum { LOAD_BYTES = 64 };

uint32_t dep_load_several(struct dep_build *b, uint64_t addr, uint64_t len)
{
	uint32_t defs[LOAD_BYTES], *all = len <= LOAD_BYTES ? defs : NULL;
	bool foreign = false;
	if (!all)
		all = malloc(len * sizeof(*all));
	if (!all) {
		b->no_memory = true;
		return 0;
	}
	for (uint64_t i = 0; i < len; i++) {
		all[i] = dep_def_at(b, addr + i);
		foreign |= all[i] && all[i] == b->others;
	}
	if (foreign)
		note_foreign(b, addr, len);
	uint32_t word = word_of(b, all, len);
	if (all != defs)
		free(all);
	return word;
}
