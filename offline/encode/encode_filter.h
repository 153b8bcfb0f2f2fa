/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encode_filter.h: a part of a call tree. What it passes on of a walk (encode_tree.h) is again
 * calls that open and close in pairs: a call that is left out is replaced by the calls that it
 * made. */
#ifndef OFFLINE_ENCODE_FILTER_H
#define OFFLINE_ENCODE_FILTER_H

#include "offline/encode/encode_tree.h"

/* What is to be done with a function; several at once. */
enum filter_verdict {
	FILTER_SKIP = 1, /* left out, but not what it calls */
	FILTER_ROOT = 2, /* with filter_rules.roots: it passes, and all that it calls */
	FILTER_HIDE = 4, /* left out, and all that it calls */
	FILTER_FACE = 8, /* with filter_rules.face: it passes, but nothing that it calls */
};

struct filter_rules {
	/* Asked once for each name. */
	uint8_t (*verdict)(void *ctx, uint32_t name_index);
	void *ctx;
	bool roots;		 /* only what FILTER_ROOT functions call, and they */
	bool face;		 /* only FILTER_FACE functions, called from elsewhere */
	uint32_t depth;		 /* at most so many levels; 0: all */
	uint64_t from_ns, to_ns; /* only calls that may have begun in between */
};

struct filter;

/* @next outlives the filter. 0 or -ENOMEM. */
int filter_new(const struct filter_rules *rules, const struct tree_sink *next, struct filter **out);
void filter_free(struct filter *filter);
/* The sink to give to the walk; valid as long as the filter. */
const struct tree_sink *filter_sink(const struct filter *filter);
/* How many calls passed. */
uint64_t filter_passed(const struct filter *filter);

#endif
