/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* table_extent.h: the bytes of a jump table: its entries, what they lead to, and where it ends.
 * Which table a jump goes through is for jumptable.c to find. */
#ifndef OFFLINE_TABLE_EXTENT_H
#define OFFLINE_TABLE_EXTENT_H

#include "offline/code/backslice.h"

enum { TABLE_MAX_ENTRIES = 1 << 16 };

/* A load of one entry. */
struct table_load {
	uint64_t table, base;
	bool single;	/* always the same entry */
	bool relative;	/* distances from base, of 32 bits; else 64-bit addresses */
	bool wide;	/* distances of 64 bits */
	bool has_index; /* index and at are set */
	bool in_bytes;	/* the index counts bytes of the table, by whole entries */
	struct loc index;
	struct place at;
};

enum entry {
	ENTRY_INSIDE,	/* in the function */
	ENTRY_FUNCTION, /* the start of another */
	ENTRY_START,	/* of a part that may be another function or a cold part of this one */
	ENTRY_FRAGMENT, /* a cold part that no function has yet */
	ENTRY_END,	/* past the function's last instruction */
	ENTRY_BAD,
};

/* A table's extent and what its entries lead to. */
struct extent {
	uint32_t n, max; /* entries; and how many the bound allows */
	uint32_t n_inside, n_functions;
	bool bounded, proven;
	bool contained; /* the index has room for max entries and no more */
};

/* Reads the entry @i: the address that it leads to. False where the file has no such entry. */
bool table_entry(const struct builder *b, const struct table_load *load, uint32_t i,
		 uint64_t *target);
/* What an entry that leads to @target means to the function @func. */
enum entry table_classify(const struct builder *b, uint32_t func, uint64_t target);
/* Finds the end of the table. An exact bound of the index is the end, and proves it. Else the end
 * is the natural one, or that of a bound that is not exact if that comes first. Every entry that is
 * read is taken from @entries_left. */
void table_measure(struct backslice *s, uint32_t func, const struct table_load *load,
		   uint32_t *entries_left, struct extent *extent);

#endif
