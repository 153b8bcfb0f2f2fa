/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* segment_model.h: a run of events as bits (docs/recording-format.md, "Events"): what the events
 * have in common as symbols, described where they come for the first time; CFAs; times. Each is
 * first guessed from what came before, and mostly the guess is right. The same code does both
 * directions, so that they cannot differ. */
#ifndef OFFLINE_SEGMENT_MODEL_H
#define OFFLINE_SEGMENT_MODEL_H

#include "offline/base/varint.h"

#include <pugmark/event.h>

/* An event without what moves from event to event. */
struct event_symbol {
	uint64_t ret; /* as form says */
	uint32_t site;
	uint16_t module;
	uint8_t kind; /* with KIND_VALUE, KIND_SNAPSHOT */
	uint8_t form;
};

/* What else there is to each event. */
struct event_step {
	uint64_t cfa, time_ns; /* time_ns: 0 where there are no times */
	uint32_t symbol;       /* its number, in the order of coming */
};

struct segment_model;

struct segment_model *segment_model_new(void);
void segment_model_free(struct segment_model *model);

/* Past this many events, how many there will be makes no difference to the model. */
#define SEGMENT_MODEL_MANY 8192

/* Begins to encode a run of @n events (SEGMENT_MODEL_MANY stands for that many or more) at the end
 * of @out. Times: what is read back is off by at most half of @time_unit_ns; 0: no times. Times are
 * @first_ns and later. Each returns 0 or -ENOMEM. */
int segment_model_begin(struct segment_model *model, uint32_t n, uint32_t time_unit_ns,
			uint64_t first_ns, struct bytes *out);
/* The next event. @description is what the number of its symbol says. */
int segment_model_put(struct segment_model *model, const struct event_step *event,
		      const struct event_symbol *description);
int segment_model_end(struct segment_model *model);

/* Decoding: @in is borrowed until the last event. 0 or -ENOMEM. */
int segment_model_open(struct segment_model *model, struct cursor in, uint32_t n,
		       uint32_t time_unit_ns, uint64_t first_ns);
/* The next of the @n events. Where its symbol is a new one, *@symbol says what it is, else *@symbol
 * is not written. Bytes that no encoder made become events that never were. */
void segment_model_next(struct segment_model *model, struct event_step *step,
			struct event_symbol *symbol);

#endif
