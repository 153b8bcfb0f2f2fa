/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* table_sets.h: the parser's tables of all modules of a trace, kept from one thread's iterator for
 * the next one's: they say nothing of a thread, and to make them takes longer than many a thread's
 * events. Each iterator has a set of its own meanwhile, since a set fills as it is asked. */
#ifndef OFFLINE_TABLE_SETS_H
#define OFFLINE_TABLE_SETS_H

#include "offline/log/segment.h"
#include "offline/recover/tables/parse_tables.h"

struct table_set {
	struct table_set *next;				      /* private */
	struct parse_tables *tables[SEGMENT_MAX_MODULES + 1]; /* NULL: not made yet */
};

struct table_sets;

/* Returns 0 and what the caller frees with table_sets_free(), or -ENOMEM. */
int table_sets_new(struct table_sets **out);
/* Frees those that nobody has. */
void table_sets_free(struct table_sets *sets);
/* A set that nobody has, or a new one without tables; NULL where memory is out. By any thread of
 * the caller, as table_sets_give_back(). */
struct table_set *table_sets_take(struct table_sets *sets);
void table_sets_give_back(struct table_sets *sets, struct table_set *set);

#endif
