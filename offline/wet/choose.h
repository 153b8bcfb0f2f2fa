/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* choose.h: whether the values of a WET are stored, or executed again (again.h). */
#ifndef OFFLINE_WET_CHOOSE_H
#define OFFLINE_WET_CHOOSE_H

#include "offline/wet/graph.h"
#include "offline/wet/noting.h"

enum wet_how {
	WET_STORED,
	WET_EXECUTED,
	WET_BEST, /* what takes less, by size times the cost of a step */
};

struct wet_chosen {
	bool executed;
	double step_ns;			 /* of a value that is executed again */
	uint64_t stored, executed_bytes; /* what either takes; stored: 0 if nobody asked */
};

/* Of @graph, which is finished: groups of more than one tuple are executed or none is. @noted NULL:
 * none can be. 0 or -ENOMEM. */
int wet_choose(struct wet_graph *graph, const struct noted *noted, enum wet_how how,
	       struct wet_chosen *out);

#endif
