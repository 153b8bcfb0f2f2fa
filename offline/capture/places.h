/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* places.h: which instructions of a module are probed at level values, and what is read there:
 * behind calls out (at the first cheap instruction before which the result is still there), before
 * calls out whose outputs are told by arguments, at entries of functions that may be called from
 * outside, where control may land with other registers, and behind instructions whose result
 * nothing tells. Needs no kernel. */
#ifndef OFFLINE_CAPTURE_PLACES_H
#define OFFLINE_CAPTURE_PLACES_H

#include "offline/capture/capture_ring.h"
#include "offline/capture/captures.h"
#include <pugmark/model.h>

#include "offline/capture/imports.h"

struct place_site {
	struct capture_place place;
	struct capture_desc desc;
	uint64_t off_file; /* of the probed instruction */
	uint8_t probe;	   /* enum pugmark_probe_class */
};

/* All modules' places: the index of one is its number in the recording. */
struct place_list {
	struct place_site *at;
	struct capture_output *outputs;
	uint32_t n, cap, n_outputs, cap_outputs;
};

struct places_options {
	const struct imports *imports;
	uint32_t module; /* its number */
	/* Whether the function at @addr may be entered from outside. NULL: any whose address is
	 * taken or that is exported. */
	bool (*is_entered)(void *ctx, uint64_t addr);
	/* Whether another traced module exports a function of that name. */
	bool (*is_inside)(void *ctx, const char *name);
	void *ctx;
};

/* Adds the places of @model, by address. Returns 0, or -ENOMEM. Names in places are those of the
 * model. */
int places_add(const struct pugmark_model *model, const struct places_options *options,
	       struct place_list *list);
void places_deinit(struct place_list *list);

#endif
