/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* makers.h: which statement made a definition (dep.h), in which execution of its node. Of old
 * definitions only those that memory still has are kept. */
#ifndef OFFLINE_WET_MAKERS_H
#define OFFLINE_WET_MAKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Statement 0 is nobody. */
struct wet_maker {
	uint32_t stmt, time; /* stmt: number + 1 */
};

struct wet_old_maker {
	uint32_t def;
	struct wet_maker by;
};

struct wet_makers {
	uint32_t old;		  /* definitions 1 to @old are old */
	struct wet_maker *recent; /* of those behind them */
	uint32_t n_recent, room_recent;
	struct wet_old_maker *kept; /* a hash table, by definition; 0: empty */
	uint32_t n_slots;
};

void wet_makers_deinit(struct wet_makers *makers);
/* Makes room for all up to @last, by nobody. */
bool wet_makers_room(struct wet_makers *makers, uint32_t last);
/* Definitions up to @old are old now; those of @live (in any order, some more than once) are kept.
 */
bool wet_makers_keep(struct wet_makers *makers, uint32_t old, const uint32_t *live, size_t n);

static inline uint32_t wet_makers_hash(const struct wet_makers *m, uint32_t def)
{
	return def * 0x9e3779b1u >> 7 & (m->n_slots - 1);
}

static inline struct wet_old_maker *wet_makers_slot(const struct wet_makers *m, uint32_t def)
{
	uint32_t i = wet_makers_hash(m, def);
	while (m->kept[i].def && m->kept[i].def != def)
		i = (i + 1) & (m->n_slots - 1);
	return &m->kept[i];
}

/* @def is going to be asked for: then memory is not waited for. */
static inline void wet_makers_near(const struct wet_makers *m, uint32_t def)
{
	if (def > m->old)
		__builtin_prefetch(&m->recent[def - m->old - 1]);
	else if (m->n_slots)
		__builtin_prefetch(&m->kept[wet_makers_hash(m, def)]);
}

/* One that was made room for. */
static inline void wet_makers_set(struct wet_makers *m, uint32_t def, struct wet_maker by)
{
	m->recent[def - m->old - 1] = by;
}

static inline struct wet_maker wet_makers_get(const struct wet_makers *m, uint32_t def)
{
	if (def > m->old)
		return def - m->old <= m->n_recent ? m->recent[def - m->old - 1]
						   : (struct wet_maker){0, 0};
	return m->n_slots ? wet_makers_slot(m, def)->by : (struct wet_maker){0, 0};
}

#endif
