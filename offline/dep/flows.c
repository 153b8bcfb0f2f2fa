// SPDX-License-Identifier: LGPL-2.1-or-later
/* flows.c: the table of flows.def. */
#include "offline/dep/flows.h"

#include <stddef.h>
#include <string.h>

static const struct dep_flow rows[] = {
#define ROW(n, ...) {.name = n, __VA_ARGS__},
#include "offline/dep/flows.def"
#undef ROW
};

const struct dep_flow *dep_flow_find(const char *name)
{
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (*rows[i].name == *name && !strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}
