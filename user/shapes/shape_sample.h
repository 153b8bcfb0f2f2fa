/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shape_sample.h: whether the shapes of instruction that occur most are unharmed by probes on the
 * running kernel. Asked once a kernel release; the answer is kept in
 * $XDG_CACHE_HOME/pugmark/shapes-RELEASE, else below ~/.cache. */
#ifndef USER_SHAPES_SHAPE_SAMPLE_H
#define USER_SHAPES_SHAPE_SAMPLE_H

#include <pugmark/diag.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shape_answer {
	uint32_t n_tried, n_harmed; /* of those that plans may probe */
	char harmed[256];	    /* the first of them, in hex, with what differs */
	bool kept;		    /* from the cache */
};

/* Takes the answer from the cache, or tries (half a second) and keeps it. @fresh: tries in any
 * case. Returns 0, or -errno with @diag filled where they cannot be tried here. */
int shape_sample_ask(bool fresh, struct shape_answer *answer, struct pugmark_diag *diag);

#endif
