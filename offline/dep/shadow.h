/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shadow.h: who wrote each byte of memory last, as a number (dep.h: a definition); 0: nobody yet.
 * Pages of 4096 bytes, made when they are first written. */
#ifndef OFFLINE_DEP_SHADOW_H
#define OFFLINE_DEP_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHADOW_PAGE = 4096, SHADOW_NEAR = 256 };

struct shadow_near {
	uint64_t page; /* number + 1; 0: empty */
	uint32_t *defs;
};

struct shadow {
	struct shadow_near near[SHADOW_NEAR]; /* pages that were used last */
	uint64_t *pages;		      /* a hash table of numbers + 1 */
	uint32_t **defs;
	size_t n, room;
	uint32_t *nobody; /* a page of zeros */
	uint32_t **slabs; /* pages are taken from the last of these */
	size_t n_slabs, n_taken;
	bool no_memory; /* a write was lost */
};

/* Zeroed storage is not enough: false where memory is out. */
bool shadow_init(struct shadow *s);
void shadow_deinit(struct shadow *s);
/* The page with that number, to read or (@write) to write; never NULL, but see no_memory. */
uint32_t *shadow_page(struct shadow *s, uint64_t number, bool write);

/* Tells of each page that something was written to; in no order. */
void shadow_each(const struct shadow *s,
		 void (*fn)(void *ctx, uint64_t number, const uint32_t *defs), void *ctx);

static inline uint32_t *shadow_find(struct shadow *s, uint64_t number, bool write)
{
	const struct shadow_near *near = &s->near[number % SHADOW_NEAR];
	return near->page == number + 1 ? near->defs : shadow_page(s, number, write);
}

/* Whether @len definitions are the same. The common lengths are without a loop. */
static inline bool shadow_same(const uint32_t *at, uint64_t len)
{
	uint32_t differs = 0;
	for (uint64_t i = 1; i < len; i++)
		differs |= at[i] ^ at[0];
	return !differs;
}

typedef uint64_t shadow_pair __attribute__((may_alias, aligned(4)));

static inline bool shadow_same_4(const uint32_t *at)
{
	const shadow_pair *p = (const shadow_pair *)at;
	return p[0] == p[1] && at[0] == at[1];
}

static inline bool shadow_same_8(const uint32_t *at)
{
	const shadow_pair *p = (const shadow_pair *)at;
	return !((p[0] ^ p[1]) | (p[0] ^ p[2]) | (p[0] ^ p[3]) | (at[0] ^ at[1]));
}

static inline void shadow_fill_8(uint32_t *at, uint32_t def)
{
	shadow_pair *p = (shadow_pair *)at, pair = (uint64_t)def << 32 | def;
	p[0] = p[1] = p[2] = p[3] = pair;
}

static inline uint32_t shadow_get(struct shadow *s, uint64_t addr)
{
	return shadow_find(s, addr / SHADOW_PAGE, false)[addr % SHADOW_PAGE];
}

static inline void shadow_set(struct shadow *s, uint64_t addr, uint64_t len, uint32_t def)
{
	while (len) {
		uint64_t off = addr % SHADOW_PAGE, part = SHADOW_PAGE - off;
		part = part < len ? part : len;
		uint32_t *at = shadow_find(s, addr / SHADOW_PAGE, true) + off;
		for (uint64_t i = 0; i < part; i++)
			at[i] = def;
		addr += part;
		len -= part;
	}
}

#endif
