/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* probe_tables.h: the tables in which a probe looks up its site, the operand of an indirect branch,
 * and where calls return to. Where what is probed may change, each table has two halves: one is in
 * use while the other is filled. */
#ifndef USER_PROBE_TABLES_H
#define USER_PROBE_TABLES_H

#include "user/file/text_span.h"
#include "user/kernel/record_options.h"

#include <linux/types.h>
#include "bpf/protocol.h"

struct bpf_map;

/* Zeroed, with the maps, to begin with. */
struct probe_tables {
	struct bpf_map *sites, *operands, *returns, *arg_reads;
	/* room in each of the `halves` (one where what is probed never changes) */
	uint32_t max_sites, max_operands, max_words, max_reads;
	uint32_t halves;
	uint32_t n_modules; /* known so far */
	uint32_t n_words;   /* of the table of returns that they have */
	struct text_span spans[BATCH_MODULES];
	uint32_t returns_first[BATCH_MODULES]; /* of a module's words there */
	uint32_t goid_at[BATCH_MODULES];       /* struct recorder_module */
};

/* Before the maps are created: makes room for what @options ask for, and may ask for later. */
void probe_tables_size(struct probe_tables *t, const struct recorder_options *options);
/* Takes in the modules of @options, which begin with those that are known already; @spans: one for
 * each. Returns 0, or -E2BIG with @diag filled. */
int probe_tables_add_modules(struct probe_tables *t, const struct recorder_options *options,
			     const struct text_span *spans, struct pugmark_diag *diag);
/* Fills the half that is @generation's. Returns 0, or -E2BIG or -ENOMEM with @diag filled. */
int probe_tables_fill(const struct probe_tables *t, const struct recorder_options *options,
		      uint32_t generation, struct pugmark_diag *diag);

#endif
