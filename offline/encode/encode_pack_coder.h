/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_pack_coder.h: bits in fractions of a bit: each is predicted from contexts that the caller
 * names, the predictions are mixed (as in Mahoney's lpaq), and an arithmetic coder writes what was
 * not expected. Integers only: what one machine writes any other reads. */
#ifndef OFFLINE_ENCODE_PACK_CODER_H
#define OFFLINE_ENCODE_PACK_CODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PACK_CONTEXTS = 16, PACK_SETS = 1024 };

struct pack_coder;

/* Encodes; or decodes @in, which is borrowed, where it is not NULL. 0 or -ENOMEM. */
int pack_coder_new(const uint8_t *in, size_t len_bytes, struct pack_coder **out);
void pack_coder_free(struct pack_coder *coder);
/* Codes @bit, or (decoding) returns the one that was coded. @contexts, @n of them, are hashes of
 * what is known; @set is whose weights mix them. Past the end zeros are decoded. */
bool pack_bit(struct pack_coder *coder, const uint64_t *contexts, uint32_t n, uint32_t set,
	      bool bit);
/* A number of @width bits, the highest first, each in the contexts together with those before. */
uint32_t pack_bits(struct pack_coder *coder, const uint64_t *contexts, uint32_t n, uint32_t set,
		   uint32_t width, uint32_t value);
/* A number below 2^32, small ones in few bits; @context is what kind it is. */
uint32_t pack_number(struct pack_coder *coder, uint64_t context, uint32_t value);
/* Ends encoding. The bytes are borrowed; NULL where memory ran out. */
const uint8_t *pack_coder_finish(struct pack_coder *coder, size_t *len_bytes);

static inline uint64_t pack_hash(uint64_t h, uint64_t v)
{
	h = (h + v + 1) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

#endif
