/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* choose.h: whether values and labels of a WET are stored, or executed again (again.h). */
#ifndef OFFLINE_WET_CHOOSE_H
#define OFFLINE_WET_CHOOSE_H

#include "offline/wet/graph/graph.h"
#include "offline/wet/again/noting.h"

enum wet_how {
	WET_BEST, /* executed where that can be, else stored */
	WET_STORED,
	WET_EXECUTED,
};

/* Whether @noted, of @graph, which is executed and finished, is what a reader can execute again;
 * the first block is. *@step_ns: of a value of it. */
bool wet_can_execute(const struct wet_graph *graph, const struct noted *noted, double *step_ns);

#endif
