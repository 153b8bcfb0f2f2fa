/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_sequitur.h: Sequitur (Nevill-Manning and Witten, "Identifying Hierarchical Structure in
 * Sequences", 1997): a grammar of a string, built in linear time as the symbols come, in which no
 * pair of neighbours occurs twice and every rule is used at least twice.
 *
 * Any number of sequences share one set of rules, and any number may be unfinished at once. The
 * memory is that of the grammar so far. */
#ifndef OFFLINE_ENCODE_SEQUITUR_H
#define OFFLINE_ENCODE_SEQUITUR_H

#include "offline/encode/encode_grammar.h"

struct sequitur;

/* @balanced: symbols are those of encode_symbols.h, and no rule closes what it did not open.
 * Returns 0 and an empty grammar freed with sequitur_free(), or -ENOMEM. */
int sequitur_new(bool balanced, struct sequitur **out);
void sequitur_free(struct sequitur *sequitur);

/* A new sequence, numbered from 0. 0 or -ENOMEM, after which only sequitur_free() may follow; the
 * same holds for the functions below. */
int sequitur_begin(struct sequitur *sequitur, uint32_t *sequence);
/* Symbols are at most 0x3fffffff. */
int sequitur_put(struct sequitur *sequitur, uint32_t sequence, const uint32_t *symbols, size_t n);
/* Leaves the sequence, and the rules that it alone uses, out of the result. It must not be put to
 * again. It still takes its memory, and later sequences still find repetitions in it. */
void sequitur_drop(struct sequitur *sequitur, uint32_t sequence);

/* The grammar so far. 0 and a grammar that the caller frees, or -ENOMEM. */
int sequitur_grammar(const struct sequitur *sequitur, struct grammar **out);
size_t sequitur_bytes(const struct sequitur *sequitur);

/* Which of the two properties is broken, for tests: NULL, or words. */
const char *sequitur_broken(const struct sequitur *sequitur);

#endif
