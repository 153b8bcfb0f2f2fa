/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bound_table.h: the table of what the recorder checks in each process before it believes a plan:
 * the bindings (user/kernel/bindings.h) of all modules. */
#ifndef USER_BOUND_TABLE_H
#define USER_BOUND_TABLE_H

#include "user/file/text_span.h"
#include "user/kernel/record_options.h"

#include <linux/types.h>
#include "bpf/protocol.h"

struct bpf_map;

/* Zeroed, with the map, to begin with. */
struct bound_table {
	struct bpf_map *map;
	uint32_t max, halves; /* room in a half */
	/* Per module, as the table was last filled: its words in the half. */
	uint32_t first[BATCH_MODULES], count[BATCH_MODULES];
	bool by_known_programs[BATCH_MODULES];
};

/* Before the map is created: makes room for what @options ask for, and may ask for later. @spans:
 * one for each module. Returns 0 or -errno with @diag filled, as does the next. */
int bound_table_size(struct bound_table *t, const struct recorder_options *options,
		     const struct text_span *spans, struct pugmark_diag *diag);
/* Fills the half that is @generation's. */
int bound_table_fill(struct bound_table *t, const struct recorder_options *options,
		     const struct text_span *spans, uint32_t generation, struct pugmark_diag *diag);

#endif
