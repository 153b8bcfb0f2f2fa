/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shape_places.h: where the instructions to be tried stand, and in which variants. */
#ifndef USER_SHAPES_SHAPE_PLACES_H
#define USER_SHAPES_SHAPE_PLACES_H

#include "user/shapes/shape_try.h"

/* Each case has four pages: two together, a third, and a hole. Its places: six variants on the
 * first page, one across the first and the second, one at the end of the third, and two that are
 * tried under the trap flag on the second. */
enum {
	CASE_BYTES = 4 * 4096,
	HOLE_AT = 3 * 4096,
	PLACES_PER_CASE = 10,
	PLACE_ACROSS = 6,
	PLACE_AT_END = 7,
	PLACE_TRAP = 8,
	TRIALS_PER_CASE = PLACES_PER_CASE + 2,
};

struct shape_place {
	uint32_t offset; /* in the case's pages */
	uint16_t small_registers;
};

/* Writes the variants of @c into its pages @code, which are at @address in the child, and says
 * where. */
void shape_places_write(const struct shape_case *c, uint8_t *code, uint64_t address, uint64_t *seed,
			struct shape_place places[PLACES_PER_CASE]);

#endif
