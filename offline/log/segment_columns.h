/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* segment_columns.h: a run of events in columns of bytes (docs/recording-format.md, "Columns"):
 * symbols, which symbol each event has, by how much its CFA moves, and how long it took. Nothing is
 * guessed: the payload's codec finds what repeats. Compressed, they are larger than what
 * segment_model.h makes by a third to a half; they take under half of the time to write, and a
 * fifth to read. */
#ifndef OFFLINE_SEGMENT_COLUMNS_H
#define OFFLINE_SEGMENT_COLUMNS_H

#include "offline/log/segment_model.h"

struct segment_columns {
	struct bytes numbers, steps, times;
	uint64_t cfa, time_ns; /* as a reader has them after the last event */
	uint32_t unit_ns;
};

void segment_columns_deinit(struct segment_columns *columns);
/* Forgets all events. Times are in units of @unit_ns (0: none), @first_ns or later. */
void segment_columns_begin(struct segment_columns *columns, uint32_t unit_ns, uint64_t first_ns);
/* The next event. */
void segment_columns_put(struct segment_columns *columns, const struct event_step *event,
			 bool is_witness);
/* Bytes that the columns and @n_symbols symbols take at most. */
size_t segment_columns_bytes(const struct segment_columns *columns, uint32_t n_symbols);
/* Adds the symbols and the columns to @out. Returns 0 or -ENOMEM. */
int segment_columns_end(const struct segment_columns *columns, const struct event_symbol *symbols,
			uint32_t n_symbols, struct bytes *out);

struct segment_columns_reader {
	struct cursor symbols, numbers, steps, times;
	uint64_t ret; /* of the last symbol with an ELF address */
	uint64_t cfa, time_ns;
	uint32_t site; /* of the last symbol */
	uint32_t unit_ns;
};

/* Splits the columns off @in, which are borrowed until the last event. False where they do not
 * hold together. */
bool segment_columns_open(struct segment_columns_reader *reader, struct cursor *in,
			  uint32_t unit_ns, uint64_t first_ns);
/* The next symbol; false where there is none. */
bool segment_columns_symbol(struct segment_columns_reader *reader, struct event_symbol *symbol);

/* The next event's symbol, a number that may be any. False past the end. */
static inline bool segment_columns_number(struct segment_columns_reader *r, uint64_t *number)
{
	return cursor_varint(&r->numbers, number);
}

/* What else there is to that event, in @step. False past the end. */
static inline bool segment_columns_step(struct segment_columns_reader *r, bool is_witness,
					struct event_step *step)
{
	uint64_t move = 0, units = 0;

	if ((is_witness && !cursor_varint(&r->steps, &move)) ||
	    (r->unit_ns && !cursor_varint(&r->times, &units)))
		return false;
	r->cfa += (uint64_t)unzigzag(move);
	r->time_ns += units * r->unit_ns;
	step->cfa = r->cfa;
	step->time_ns = r->unit_ns ? r->time_ns : 0;
	return true;
}

#endif
