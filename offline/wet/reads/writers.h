/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* writers.h: which execution of which statement has made what is in each register unit and in each
 * byte of memory, as far as executing tells: what is told from outside (again.h) has nobody.
 *
 * Memory is kept by words of eight bytes, most of which have one writer; of others each byte has
 * one. */
#ifndef OFFLINE_WET_WRITERS_H
#define OFFLINE_WET_WRITERS_H

#include "offline/wet/reads/makers.h"
#include "offline/wet/reads/path_reads.h"

enum { WET_WRITERS_NEAR = 256, WET_WRITERS_LOAD = 64 };

/* Those of the words of a page: statement 0: nobody; WET_WRITERS_MANY: @time is a place in
 * wet_writers.many. */
#define WET_WRITERS_MANY UINT32_MAX
enum { WET_WRITERS_WORDS = 512 };

struct wet_writers_page {
	uint64_t number; /* address by 4096 */
	struct wet_maker words[WET_WRITERS_WORDS];
};

struct wet_writers {
	struct wet_maker units[WET_UNITS];
	bool down;	/* string instructions go backward */
	bool no_memory; /* a write was lost */
	struct wet_writers_page *near[WET_WRITERS_NEAR];
	struct wet_writers_page **pages; /* a hash table */
	uint32_t n_pages, n_slots;
	struct wet_maker (*many)[8];
	uint32_t n_many, room_many;
	uint32_t free_many; /* 1 + the first that is free, each of which has the next; 0: none */
};

void wet_writers_deinit(struct wet_writers *writers);
/* Everything is nobody's again. */
void wet_writers_clear(struct wet_writers *writers);
void wet_writers_store(struct wet_writers *writers, uint64_t addr, uint64_t len,
		       struct wet_maker by);
/* The different ones of @len bytes but nobody, in the order of bytes; of the first WET_WRITERS_LOAD
 * of them. Returns how many. */
uint32_t wet_writers_load(struct wet_writers *writers, uint64_t addr, uint64_t len,
			  struct wet_maker out[WET_WRITERS_LOAD]);
/* A string instruction: @at is where it writes, where it reads, how many turns. */
void wet_writers_string(struct wet_writers *writers, const struct wet_access *access,
			const uint64_t at[3], struct wet_maker by);

static inline bool wet_maker_same(const struct wet_maker *a, const struct wet_maker *b)
{
	return a->stmt == b->stmt && a->time == b->time;
}

static inline void wet_units_forget(struct wet_maker units[WET_UNITS],
				    const struct dep_units *writes)
{
	for (unsigned w = 0; w < DEP_WORDS; w++)
		for (uint64_t bits = writes->w[w]; bits; bits &= bits - 1)
			units[64 * w + (unsigned)__builtin_ctzll(bits)] = (struct wet_maker){0, 0};
}

/* Execution @time of a path that has @reads is over: its registers are its own. @first: the number
 * of its first statement. */
static inline void wet_units_left(struct wet_maker units[WET_UNITS], const struct wet_reads *reads,
				  uint32_t first, uint32_t time)
{
	for (uint32_t i = 0; i < reads->n_last; i++) {
		struct wet_maker by = {first + reads->last[i].stmt + 1, time};
		struct wet_maker *to = &units[reads->last[i].unit];
		for (unsigned k = 0; k < reads->last[i].run; k++)
			to[k] = by;
	}
}

#endif
