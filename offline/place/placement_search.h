/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* placement_search.h: makes a set of witnesses realizable, and cheaper. A witness is named by its
 * place in the set's bytes: nodes first, then ways, then edges. */
#ifndef OFFLINE_PLACEMENT_SEARCH_H
#define OFFLINE_PLACEMENT_SEARCH_H

#include "offline/place/realizable.h"

enum witness_kinds { WITH_NODES = 1, WITH_WAYS = 2, WITH_EDGES = 4 };

/* Adds witnesses of @kinds, for each violation the cheapest, until none is left. -EDOM where that
 * cannot be. */
int placement_repair(const struct flow_graph *g, struct realizable *r, unsigned kinds,
		     struct witness_set *w);
/* Takes witnesses that are not in @fixed away, the heaviest first, as long as @w stays realizable:
 * none that is left can be taken away alone. 0 or -ENOMEM. */
int placement_reduce(const struct flow_graph *g, struct realizable *r,
		     const struct witness_set *fixed, struct witness_set *w);
/* Looks for a realizable superset of @fixed by witnesses of @kinds that costs less than @w, which
 * is realizable. Branch and bound: it finds the cheapest unless @work (violations looked for, times
 * edges) runs out. 0 or -ENOMEM; *@proven: none is cheaper. */
int placement_optimum(const struct flow_graph *g, struct realizable *r, unsigned kinds,
		      const struct witness_set *fixed, uint64_t work, struct witness_set *w,
		      bool *proven);

#endif
