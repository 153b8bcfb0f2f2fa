/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hash.h: the hash functions of the encoders' tables. They are not keyed: what is hashed are
 * small dense numbers and names of functions, and a bad case costs time, never a wrong result. */
#ifndef OFFLINE_HASH_H
#define OFFLINE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The finish of splitmix64 without its last step: every bit of @x reaches the low bits. */
static inline uint64_t hash_u64(uint64_t x)
{
	x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ (x >> 32);
}

static inline uint64_t hash_pair(uint32_t a, uint32_t b)
{
	return hash_u64((uint64_t)a << 32 | b);
}

/* @h continued by @x. */
static inline uint64_t hash_more(uint64_t h, uint64_t x)
{
	return hash_u64((h ^ x) * UINT64_C(0x9e3779b97f4a7c15));
}

static inline uint64_t hash_bytes(const void *bytes, size_t len)
{
	const unsigned char *c = bytes;
	uint64_t h = len;
	for (; len >= 8; c += 8, len -= 8) {
		uint64_t word;
		memcpy(&word, c, 8);
		h = hash_more(h, word);
	}
	for (; len; c++, len--)
		h = hash_more(h, *c);
	return h;
}

#endif
