/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* layout.h: values of a run in a form that two runs with different memory layouts share. A value
 * that lies in a mapping is taken for an address of it.
 *
 * - Of the stack (where the stack pointer is, too) all are the same: frames differ between
 * compilers.
 * - Of the program's image: how far it is from the first such address of the same instruction.
 * - Of anonymous memory: the number of the mapping, in the order in which they are met, and how far
 *   it is from its start. Of the heap that is the same where the calls of malloc() are.
 * - Of mapped files: the offset in the file, as both runs have the same libraries.
 *
 * Anything else is a number; those that are the same when their lower half is extended with its
 * sign or with zeros are one, because compilers choose freely between the two. */
#ifndef OFFLINE_MATCH_LAYOUT_H
#define OFFLINE_MATCH_LAYOUT_H

#include "offline/replay/replay.h"

enum match_class {
	MATCH_NUMBER,
	MATCH_STACK,
	MATCH_IMAGE,
	MATCH_MAPPED,
};

struct match_mapping {
	uint64_t start, end;
	uint64_t met;	 /* where it began when it was met first */
	uint64_t base;	 /* what distances are counted from */
	uint32_t number; /* of anonymous memory: in the order of meeting, from 1; 0: of a file */
	uint8_t kind;	 /* enum match_class */
};

struct match_layout {
	struct value_machine *machine;
	const struct value_memory *memory;
	uint64_t image_start, image_end; /* the traced program's own mappings */
	struct match_mapping *at;	 /* a vector */
	uint32_t n, max, numbers;
	uint32_t last; /* of @at: the one that was asked for last */
	bool no_memory;
};

/* The traced program is mapped from @image_start to @image_end. */
void match_layout_init(struct match_layout *l, struct value_run *run, uint64_t image_start,
		       uint64_t image_end);
void match_layout_deinit(struct match_layout *l);
/* Mappings have changed: looks them up again. */
void match_layout_changed(struct match_layout *l);
enum match_class match_layout_class(struct match_layout *l, uint64_t value);
/* The value in its common form. @first: the first address in the image that this instruction had
 * in this operand; 0: none yet, and it is set then. */
uint64_t match_layout_value(struct match_layout *l, uint64_t value, uint64_t *first);

#endif
