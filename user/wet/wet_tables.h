/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* wet_tables.h: what a WET takes, as the tables of the WET paper have it. */
#ifndef USER_WET_TABLES_H
#define USER_WET_TABLES_H

#include "offline/wet/file/machine.h"
#include "offline/wet/file/sizes.h"

struct wet_made {
	struct wet_totals totals;
	struct wet_sizes sizes;
	uint32_t task; /* 0: it is not known */
	bool executed;
	double again_ns; /* of a value that is executed again */
	struct wet_machine_size machine[WET_HISTORIES];
	uint32_t nodes;
	double built_s, compressed_s;
	bool partial;
	bool no_run; /* its values cannot be computed: it has no trace */
	bool read;   /* from a file: nothing was timed */
};

/* Prints them. */
void wet_tables_text(const struct wet_made *made);
void wet_tables_json(const struct wet_made *made);

#endif
