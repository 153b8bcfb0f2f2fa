/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vec.h: the growable array that the model is built in, and the bitmap with ranks that turns an
 * address into an index. Both are plain storage: whoever holds one frees it. */
#ifndef OFFLINE_VEC_H
#define OFFLINE_VEC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *at;                                                                          \
		uint32_t n, max;                                                                   \
	}

/* One that has a name, for functions that take one. */
struct vec_u32 {
	uint32_t *at;
	uint32_t n, max;
};

/* Makes room for @extra more items of @size bytes; false when memory or indices run out. */
static inline bool vec_make_room(void **at, uint32_t n, uint32_t *max, uint32_t extra, size_t size)
{
	if (extra <= *max - n)
		return true;
	uint64_t want = (uint64_t)n + extra, grown = *max + (uint64_t)*max / 2 + 16;
	if (want < grown)
		want = grown;
	if (want >= UINT32_MAX)
		return false;
	void *bigger = realloc(*at, want * size);
	if (!bigger)
		return false;
	*at = bigger;
	*max = (uint32_t)want;
	return true;
}

#define VEC_RESERVE(v, extra)                                                                      \
	vec_make_room((void **)&(v)->at, (v)->n, &(v)->max, (extra), sizeof(*(v)->at))
/* True, or false when out of memory: then the array is as it was. */
#define VEC_PUSH(v, ...) (VEC_RESERVE(v, 1) ? ((v)->at[(v)->n++] = (__VA_ARGS__), true) : false)
#define VEC_FREE(v) (free((v)->at), (v)->at = NULL, (v)->n = (v)->max = 0)

/* One bit a byte of code; rankmap_index() counts the set bits below an address in O(1). */
struct rankmap {
	uint64_t *bits;
	uint32_t *rank; /* set bits before each word; valid after rankmap_finish() */
	uint64_t n_bits;
};

static inline bool rankmap_init(struct rankmap *map, uint64_t n_bits)
{
	map->n_bits = n_bits;
	map->bits = calloc(n_bits / 64 + 1, sizeof(*map->bits));
	map->rank = calloc(n_bits / 64 + 1, sizeof(*map->rank));
	return map->bits && map->rank;
}

static inline void rankmap_deinit(struct rankmap *map)
{
	free(map->bits);
	free(map->rank);
	map->bits = NULL;
	map->rank = NULL;
}

static inline void rankmap_set(struct rankmap *map, uint64_t bit)
{
	map->bits[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static inline bool rankmap_has(const struct rankmap *map, uint64_t bit)
{
	return bit < map->n_bits && map->bits[bit / 64] >> (bit % 64) & 1;
}

static inline void rankmap_finish(struct rankmap *map)
{
	uint32_t sum = 0;
	for (uint64_t i = 0; i <= map->n_bits / 64; i++) {
		map->rank[i] = sum;
		sum += (uint32_t)__builtin_popcountll(map->bits[i]);
	}
}

/* How many set bits lie below @bit, at most n_bits: the index of the first at or after it. */
static inline uint32_t rankmap_index(const struct rankmap *map, uint64_t bit)
{
	uint64_t below = map->bits[bit / 64] & ((UINT64_C(1) << (bit % 64)) - 1);
	return map->rank[bit / 64] + (uint32_t)__builtin_popcountll(below);
}

#endif
