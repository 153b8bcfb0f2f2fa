/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* kept_args.h: what a call is handed in a register, where the code before it says how to find it
 * behind the call: by a register that calls keep (so the stack pointer, for variables on the
 * stack), or that it is nothing (zero). Such an output of a call takes no probe before it. */
#ifndef OFFLINE_CAPTURE_KEPT_ARGS_H
#define OFFLINE_CAPTURE_KEPT_ARGS_H

#include "offline/capture/capture_ring.h"
#include <pugmark/model.h>

#include <Zydis/Zydis.h>

#include <stdbool.h>
#include <stdint.h>

struct kept_arg {
	bool null;	/* zero; else */
	uint8_t reg;	/* number of the encoding, of one that calls keep; */
	uint8_t value;	/* as enum capture_value; */
	int64_t addend; /* and what is added to it */
};

/* The argument @arg, 0 to 5, of the call at @site. False: the code of its block does not say. */
bool kept_arg_of(const struct pugmark_model *model, const ZydisDecoder *decoder,
		 const struct pugmark_site *site, unsigned arg, struct kept_arg *out);

#endif
