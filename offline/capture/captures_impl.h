/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* captures_impl.h: what opened captures consist of, for the files that read their parts. */
#ifndef OFFLINE_CAPTURE_CAPTURES_IMPL_H
#define OFFLINE_CAPTURE_CAPTURES_IMPL_H

#include "offline/capture/captures.h"

#include "offline/capture/capture_file.h"

struct named_addr {
	uint64_t addr; /* run-time */
	const char *name;
};

struct named_addrs {
	struct named_addr *at;
	uint32_t n;
};

struct captures {
	struct capture_segments segments;
	bool whole;	/* captures_whole() */
	bool ended;	/* captures_ended() */
	bool page_lost; /* of the start, perhaps: a segment before the first table is missing */
	json_t *table;	/* owns names */
	struct capture_place *places;
	struct capture_mapping *mappings;
	struct capture_file *files;
	uint64_t *bias; /* by module; UINT64_MAX: not mapped */
	uint32_t *tasks;
	uint32_t n_places, n_mappings, n_files, n_modules, n_tasks;
	struct named_addrs stubs, slots; /* by address */
	struct named_addrs exports;	 /* by name */
	/* The segment of pages or of a file that was read last. A capture is for one thread but
	 * for this, which is guarded. */
	struct codec *codec;
	struct bytes stored, raw;
	uint32_t loaded; /* segments.n: none */
};

/* Fills everything but the segments from the last intact table; ended is false where one is not
 * intact, as the one before may say less. 0, -EBADMSG, -ENOMEM. */
int captures_table_read(struct captures *captures, struct pugmark_diag *diag);
void captures_table_deinit(struct captures *captures);

#endif
