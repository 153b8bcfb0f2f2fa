/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* values_options.h: what `pugmark values` is asked. */
#ifndef USER_VALUES_OPTIONS_H
#define USER_VALUES_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct values_options {
	const char *dir;
	const char *place; /* NULL: none */
	const char *watch; /* value_watched.h; NULL: none */
	const char *where; /* value_where.h; NULL: all */
	uint64_t limit;	   /* of instances or accesses of one task */
	uint32_t task;	   /* 0: all */
	bool misses;	   /* of a simple processor, by instruction */
	bool json;
};

#endif
