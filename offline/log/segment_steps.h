/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* segment_steps.h: one event's CFA and time. A CFA is guessed to move as it last did between the
 * same two symbols, else to be where it was last at that symbol, else back from where it last
 * moved. A time is guessed to be the mean of those between the same two symbols; what is told is
 * how many units it is off, so that the error neither grows nor is more than half a unit. */
#ifndef OFFLINE_SEGMENT_STEPS_H
#define OFFLINE_SEGMENT_STEPS_H

#include "offline/log/segment_model_impl.h"

static inline __attribute__((always_inline)) uint64_t
pass_move(struct segment_model *m, bool decodes, uint64_t move, const struct pace *p, uint64_t old)
{
	struct range_coder *c = &m->coder;
	uint32_t seen = seen_class(p->moves_seen);

	if (p->moves_seen && range_bit(c, decodes, &m->is_move[seen], move == p->move))
		return p->move;
	if (old && range_bit(c, decodes, &m->is_old_cfa[seen], m->cfa + move == old))
		return old - m->cfa;
	if (m->last_move && range_bit(c, decodes, m->is_back, move == -m->last_move))
		return -m->last_move;
	if (range_bit(c, decodes, m->is_aligned, !(move & 7)))
		return 8 * (uint64_t)unzigzag(
				   range_number(c, decodes, m->words, zigzag((int64_t)move / 8)));
	return unzigzag(range_number(c, decodes, m->odd_bytes, zigzag(move)));
}

/* From the last symbol to @symbol. */
static inline struct pace *pace_of(struct segment_model *m, uint32_t symbol)
{
	return &m->paces[slot_of(m, mix(mix(3, m->last), symbol))];
}

static inline void learn_move(struct pace *p, uint64_t move)
{
	if (p->moves_seen && p->move == move) {
		p->moves_seen += p->moves_seen < 255;
		return;
	}
	p->moves_seen = p->moves_seen > 3 ? p->moves_seen / 2 : 1;
	if (p->moves_seen == 1)
		p->move = move;
}

static inline void learn_time(struct pace *p, int64_t took_ns, uint32_t unit_ns)
{
	took_ns = took_ns > MEAN_MAX ? MEAN_MAX : took_ns;
	if (!p->times_seen) {
		p->mean_ns = (int32_t)took_ns;
		p->spread_ns = 64;
		p->times_seen = 1;
		return;
	}
	int64_t off = took_ns - p->mean_ns, limit = 4 * (int64_t)p->spread_ns + unit_ns;
	uint32_t shift = p->times_seen < 3 ? 1 : p->times_seen < 8 ? 2 : 3;

	off = off > limit ? limit : off < -limit ? -limit : off;
	p->mean_ns += (int32_t)(off / (1 << shift));
	p->spread_ns += (int32_t)((off < 0 ? -off : off) - p->spread_ns) / 8;
	p->spread_ns = p->spread_ns < 1 ? 1 : p->spread_ns;
	p->times_seen += p->times_seen < 255;
}

/* How many units a time is off what was guessed. */
static inline __attribute__((always_inline)) int64_t
pass_units(struct segment_model *m, bool decodes, uint32_t spread, int64_t off)
{
	struct range_coder *c = &m->coder;
	uint32_t class = 31 - (uint32_t)__builtin_clz(spread);

	class = 2 * class + (class ? spread >> (class - 1) & 1 : 0);
	class = class < SPREADS ? class : SPREADS - 1;
	if (range_bit(c, decodes, &m->is_on_time[class], !off))
		return 0;
	bool late = range_bit(c, decodes, &m->is_late[class], off > 0);
	uint64_t by =
		1 + range_number(c, decodes, m->off[class / 4], (uint64_t)(late ? off : -off) - 1);
	return (int64_t)(late ? by : -by);
}

/* Codes the time of the event; decoding, the result is in m->time_ns. */
static inline __attribute__((always_inline)) void pass_time(struct segment_model *m, bool decodes,
							    uint64_t time_ns, struct pace *p,
							    struct pace *arrival)
{
	const struct pace *by = p->times_seen ? p : arrival;
	int64_t guess = by->times_seen ? by->mean_ns : 0, unit = m->unit_ns, off = 0;

	if (!decodes) {
		off = (int64_t)(time_ns - m->time_ns - (uint64_t)guess);
		off = off > OFF_MAX ? OFF_MAX : off < -OFF_MAX ? -OFF_MAX : off;
		off = off < 0 ? -((unit / 2 - off) / unit) : (off + unit / 2) / unit;
	}
	off = pass_units(m, decodes, by->times_seen ? (uint32_t)by->spread_ns : 4096, off);
	off = (int64_t)((uint64_t)off * (uint64_t)unit + (uint64_t)guess);
	off = off < 0 ? 0 : off;
	m->time_ns += (uint64_t)off;
	if (p->times_seen < 4)
		learn_time(arrival, off, m->unit_ns);
	learn_time(p, off, m->unit_ns);
}

#endif
