/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* choose_settle.h: what is known of each function once it is chosen for, and the mending of what
 * does not hold when all are known. Private to the choice. */
#ifndef OFFLINE_CHOOSE_SETTLE_H
#define OFFLINE_CHOOSE_SETTLE_H

#include "offline/choose/conflict.h"

typedef void choose_function(struct conflicts *ch, uint32_t func);

/* Functions callees first; those that call each other in one run, with one component number. */
struct call_order {
	const uint32_t *funcs, *component;
	/* Of each function f, who calls it directly: callers[callers_at[f] .. callers_at[f + 1]),
	 * once for each call. */
	const uint32_t *callers_at, *callers;
};

/* Whether @func calls unknown code, or a function that needs what unknown callees need. */
bool calls_anything(const struct conflicts *ch, uint32_t func);
/* Where the component ends that begins at @i. */
uint32_t component_end(const struct conflicts *ch, struct call_order order, uint32_t i);

/* Summaries of the functions at [@from, @to) of the order, which call each other, from their marks;
 * returns whether some had to be added, where they call each other without end and without an
 * event. */
bool summarise_component(struct conflicts *ch, struct call_order order, uint32_t from, uint32_t to);

/* What choosing for all functions in their order takes of the whole time, and what is done when
 * they are settled. */
#define PART_CHOSEN 0.55
#define PART_SETTLED 0.9

/* What unknown callees need, and what functions of one component need of each other, is known only
 * when all is chosen. So functions whose decisions do not hold then are chosen for again; and those
 * that still do not hold are marked all over, which holds whatever the others are. */
void settle(struct conflicts *ch, choose_function *choose, struct call_order order);
/* The summaries of all functions once more, from nothing. */
void summarise_anew(struct conflicts *ch, struct call_order order);

#endif
