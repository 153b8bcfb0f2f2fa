/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* control.h: dynamic control dependence. An instance depends on the last jump of its activation
 * that decided whether it is executed, which is one whose ways have not met again (postdom.h); if
 * there is none, on the call that made the activation.
 *
 * One walk over the trace keeps the jumps that are open, activation by activation, and writes one
 * word for each *segment*: a part of an executed block in which no open jump ends. Found online as
 * in Xin and Zhang, "Efficient online detection of dynamic control dependence" (ISSTA 2007). */
#ifndef OFFLINE_SLICE_CONTROL_H
#define OFFLINE_SLICE_CONTROL_H

#include "offline/slice/slice.h"

#include <pugmark/model.h>

/* A traced module: the code at run-time address a is at a - @bias in its file. */
struct slice_module {
	const struct pugmark_model *model;
	uint64_t bias;
};

/* Segments of a block: @at are the instructions at which all but the first begin. */
struct control_segments {
	bool known;    /* was looked at */
	bool decides;  /* its last instruction is a jump that was found in a model */
	uint64_t ends; /* where the ways of that jump meet; 0: at the function's end */
	uint16_t n;    /* but the first */
	uint8_t *at;
};

struct slice_control {
	const struct dep_trace *trace;
	struct control_segments *blocks; /* by number */
	uint32_t *parents; /* 1 + the item that decided; 0: nobody known. A word a segment, a word
			      an event, in the order of items */
	uint64_t n_parents, room_parents;
	uint64_t *marks;  /* words before every CONTROL_EVERY-th item */
	uint64_t unknown; /* executed jumps that no model has */
};
enum { CONTROL_EVERY = 1 << 14 };

/* Walks over all of @trace. 0, or -ENOMEM. The result borrows @trace, and not the models. */
int slice_control_new(const struct dep_trace *trace, const struct slice_module *modules,
		      uint32_t n_modules, struct slice_control **out);
void slice_control_free(struct slice_control *control);

/* Of the segment that instruction @count is in, or (@count at the end) of what would be next: 1 +
 * the item whose last instruction decided, 0. */
uint32_t slice_control_parent(const struct slice_control *control, uint64_t count);

/* The words before the item with that index. */
uint64_t control_words_before(const struct slice_control *control, uint64_t item);
/* The words of item @item. */
static inline unsigned control_words(const struct slice_control *c, uint32_t item)
{
	return item & DEP_ITEM_EVENT ? 1 : 1 + c->blocks[item].n;
}

#endif
