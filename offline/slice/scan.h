/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* scan.h: where a scan over dependences stands, and the bits of definitions, for both directions.
 */
#ifndef OFFLINE_SLICE_SCAN_H
#define OFFLINE_SLICE_SCAN_H

#include "offline/slice/control.h"

/* Between two items. */
struct scan_place {
	uint64_t item, count, load;
	uint32_t def; /* definitions made before it */
	uint32_t string;
	uint64_t parent; /* in the words of control */
};

/* Registers that were put aside: those of a signal, or of a call with callbacks. */
struct scan_aside {
	uint32_t id;
	struct dep_units units;
};

struct scan {
	const struct dep_trace *t;
	unsigned follow;
	slice_visit_fn *visit;
	void *ctx;
	struct scan_place at;
	struct dep_units live; /* or tainted */
	uint64_t *defs;	       /* a bit a definition */
	uint64_t n_live;       /* bits that are set */
	struct scan_aside *aside;
	size_t n_aside;
	const struct slice_control *control; /* NULL: not followed */
	uint64_t *decisive; /* a bit an item: its last instruction is in the slice */
	uint64_t n_decisive;
	uint32_t parent; /* of the segment that the scan is in */
	bool no_memory;
};

bool scan_init(struct scan *s, const struct dep_trace *t, unsigned follow,
	       const struct slice_control *control, slice_visit_fn *visit, void *ctx);
void scan_deinit(struct scan *s);
/* Goes to the item that instruction @count is in, or to the end; returns how many of the item's
 * instructions are before it. @events: to the first event right before that instruction. */
unsigned scan_seek(struct scan *s, uint64_t count, bool events);
/* The place behind the first @n instructions of the block that the scan stands before. */
struct scan_place scan_within(const struct scan *s, const struct dep_block *b, unsigned n);
void scan_put_aside(struct scan *s, uint32_t id, const struct dep_units *units);
/* True and what was put aside with that id last. */
bool scan_take_back(struct scan *s, uint32_t id, struct dep_units *units);

static inline bool scan_has(const struct scan *s, uint32_t def)
{
	return s->defs[def / 64] >> def % 64 & 1;
}

static inline void scan_mark(struct scan *s, uint32_t def)
{
	uint64_t bit = (uint64_t)1 << def % 64;
	if (def && !(s->defs[def / 64] & bit)) {
		s->defs[def / 64] |= bit;
		s->n_live++;
	}
}

static inline void scan_clear(struct scan *s, uint32_t def)
{
	uint64_t bit = (uint64_t)1 << def % 64;
	if (s->defs[def / 64] & bit) {
		s->defs[def / 64] &= ~bit;
		s->n_live--;
	}
}

/* The word of instruction @i of the block whose words begin at @base. */
static inline uint32_t scan_parent(const struct scan *s, uint64_t base, uint32_t number, unsigned i)
{
	const struct control_segments *b = &s->control->blocks[number];
	for (unsigned k = 0; k < b->n && b->at[k] <= i; k++)
		base++;
	return s->control->parents[base];
}

static inline bool scan_decisive(const struct scan *s, uint64_t item)
{
	return s->control && s->decisive[item / 64] >> item % 64 & 1;
}

/* @item1: 1 + an item, 0: none. */
static inline void scan_decides(struct scan *s, uint32_t item1)
{
	uint64_t bit = (uint64_t)1 << (item1 - 1) % 64;
	if (item1 && !(s->decisive[(item1 - 1) / 64] & bit)) {
		s->decisive[(item1 - 1) / 64] |= bit;
		s->n_decisive++;
	}
}

/* Whether one of @n definitions from @first on is set. */
static inline bool scan_any(const struct scan *s, uint32_t first, uint32_t n)
{
	for (uint32_t last = first + n; first < last;) {
		uint32_t off = first % 64, part = 64 - off;
		part = part < last - first ? part : last - first;
		uint64_t mask = part == 64 ? UINT64_MAX : (((uint64_t)1 << part) - 1) << off;
		if (s->defs[first / 64] & mask)
			return true;
		first += part;
	}
	return false;
}

#endif
