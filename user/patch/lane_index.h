/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lane_index.h: the chunks of an area that were taken out, by lane and number. Both are the
 * program's, which may make them up: the index takes memory for what is in it and for nothing else,
 * and finds each at once whatever the numbers are. */
#ifndef USER_PATCH_LANE_INDEX_H
#define USER_PATCH_LANE_INDEX_H

#include <stdint.h>

/* A chunk that was taken out. */
struct stored {
	uint64_t key; /* lane and number; 0: none */
	uint64_t off_file;
	uint32_t bytes;	    /* PATCH_CHUNK: as it was */
	uint32_t handed;    /* how many bytes of it were handed over */
	uint32_t reference; /* which it was packed by, or is */
};

/* Of zeros: empty. */
struct lane_index {
	struct stored *at; /* a hash table of @size, a power of two */
	uint32_t n, size;
	uint64_t secret; /* so that nobody can choose numbers that meet in it */
};

/* NULL: there is none. Borrowed, until the next is added. */
struct stored *lane_index_find(const struct lane_index *index, uint32_t lane, uint32_t serial);
/* Adds @stored, whose key is set here; @lane is not 0. Returns 0, -EEXIST: there is one of that
 * lane and number, or -ENOMEM. */
int lane_index_add(struct lane_index *index, uint32_t lane, uint32_t serial, struct stored stored);
void lane_index_deinit(struct lane_index *index);

#endif
