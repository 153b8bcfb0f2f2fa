/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* inexact.h: which instructions have made something that is not exact, how often, and of what: so
 * that whoever counts them can say why. */
#ifndef OFFLINE_EVAL_INEXACT_H
#define OFFLINE_EVAL_INEXACT_H

#include "offline/eval/memory/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What of the instruction's inputs was not exact: the first of these that holds. */
enum value_reason {
	VALUE_OF_NO_SEMANTICS, /* none: the instruction is not executed here, or not with these */
	VALUE_OF_FORGOTTEN, /* a register that nothing tells since a call, an entry or the start */
	VALUE_OF_MEMORY,    /* bytes of memory */
	VALUE_OF_COMPUTED,  /* a register that another such instruction has made */
	VALUE_REASONS,
};

struct value_inexact {
	uint64_t ip;	 /* 0: none, in the table */
	uint64_t n;	 /* executions */
	uint8_t quality; /* enum value_quality of what it made, at worst */
	uint8_t reason;	 /* enum value_reason */
	uint8_t reg;	 /* of VALUE_OF_FORGOTTEN: its bit (state.h) */
};

/* A hash table; zeros are an empty one. */
struct value_inexacts {
	struct value_inexact *at;
	size_t n, room;
};

/* One more execution. Where memory is out it is not counted. */
void value_inexacts_add(struct value_inexacts *t, const struct value_inexact *one);
/* The @max that were executed most often, of those that made @quality and are not of
 * VALUE_OF_COMPUTED; returns how many. */
size_t value_inexacts_most(const struct value_inexacts *t, uint8_t quality,
			   struct value_inexact *out, size_t max);
void value_inexacts_free(struct value_inexacts *t);

#endif
