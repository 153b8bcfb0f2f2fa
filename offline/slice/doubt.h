/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* doubt.h: which instances of a slice are likely right. After Zhang, Gupta and Gupta, "Pruning
 * dynamic slices with confidence" (PLDI 2006).
 *
 * The *profile* of an instruction is the set of values that it has computed anywhere in the slice.
 * An instance that an output was computed from which was right had to have its value, as far as
 * the other values of the profile would have made another output: alternatives are followed from
 * the output backward, along what readers made of each value where they had it. With n values in
 * the profile, of which a are alternatives (its own among them), the confidence is
 * 1 - log a / log n. */
#ifndef OFFLINE_SLICE_DOUBT_H
#define OFFLINE_SLICE_DOUBT_H

#include "offline/slice/edges.h"

struct slice_doubt;

/* Told by the caller: which instruction or event an instance is of, as a number from 1 on below
 * @n_places. 0: it is left out. */
struct slice_places {
	slice_node_fn *place;
	void *ctx;
	uint32_t n_places;
};

/* Of the instances @members, with their edges as slice_edges() has them. 0 or -ENOMEM. */
int slice_doubt_new(const struct dep_trace *trace, const struct slice_members *members,
		    unsigned follow, const struct slice_control *control,
		    const struct slice_places *places, struct slice_doubt **out);
void slice_doubt_free(struct slice_doubt *doubt);

/* Takes the values of the instances while @run, of the same task, is followed once more. */
void slice_doubt_take(struct slice_doubt *doubt, struct value_run *run, struct dep_build *build);

/* After that: of each place, the least confidence of its instances, 0 (nothing is known) to 1.
 * @right: the instances that right outputs were computed from; @pinned, a bit an instruction: of
 * them, those that are known to be right. 0 or -ENOMEM. */
int slice_doubt_confidence(struct slice_doubt *doubt, const struct slice_members *right,
			   const uint64_t *pinned, float *of_places);

#endif
