/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* watch_found.h: accesses of what is watched, as a run finds them. */
#ifndef USER_WATCH_FOUND_H
#define USER_WATCH_FOUND_H

#include "user/values/watch/value_watched.h"

/* Where what is watched was when it was accessed. */
struct watch_place {
	uint64_t addr;	/* of memory; 0: of a variable of a function that is in none now */
	uint32_t local; /* of value_watched.locals */
	uint32_t call;	/* how many calls of its function came before, and 1; 0: no such variable */
	uint8_t reg;	/* 1 and the register's number in DWARF; 0: memory */
	uint8_t quality; /* of the address; VALUE_UNKNOWN: nobody knows where it is */
};

struct watch_access {
	struct watch_place place;
	uint64_t count, ip;
	uint64_t number; /* of the accesses that were met */
	bool write;
	char by[48]; /* who outside; "": the instruction at @ip */
	/* What there was if outside has written there once more before the same instruction, as in
	 * struct watch_bytes; NULL: memory has it then. */
	uint8_t *bytes;
};

/* What memory has at a place, to see what outside has changed. */
struct watch_bytes {
	struct watch_place place;
	uint32_t depth; /* of a variable of a function: of its call among those that are open */
	uint8_t *bytes; /* them, and behind them how well each is known; NULL: not looked at */
	bool by_code;	/* code of libraries has written there since */
};

struct watch_found {
	struct value_watched *what;
	bool writes_alone;
	uint64_t limit, total; /* of accesses: kept at most, and met */
	VEC(struct watch_access) seen;
	int err; /* -errno */
};

void watch_found_note(struct watch_found *found, const struct watch_place *place, uint64_t count,
		      uint64_t ip, bool write, const char *by);
/* Outside is about to write at @place before instruction @count, where there is what @bytes has: if
 * it has written there before the same instruction, that is kept. */
void watch_found_keep(struct watch_found *found, const struct watch_place *place, uint64_t count,
		      const uint8_t *bytes);
/* In bytes. */
uint64_t watch_found_length(const struct watch_found *found, const struct watch_place *place);
/* In their order: what outside has written comes before the instruction that is next. */
void watch_found_sort(struct watch_found *found);
void watch_found_deinit(struct watch_found *found);

#endif
