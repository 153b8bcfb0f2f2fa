// SPDX-License-Identifier: LGPL-2.1-or-later
/* probe_costs.c: finds and reads the cost file. */
#include "user/plan/probe_costs.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

char *probe_costs_path(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *path = NULL;
	int n = -1;

	if (cache && *cache == '/')
		n = asprintf(&path, "%s/pugmark/costs.json", cache);
	else if (home && *home)
		n = asprintf(&path, "%s/.cache/pugmark/costs.json", home);
	return n < 0 ? NULL : path;
}

static bool read_cost(const json_t *costs, const char *key, float *cost)
{
	double value = json_number_value(json_object_get(costs, key));

	if (value <= 1 || value >= 1e7)
		return false;
	*cost = (float)value;
	return true;
}

bool probe_costs_of_machine(struct probe_costs *costs)
{
	char *path = probe_costs_path();
	json_t *file = path ? json_load_file(path, 0, NULL) : NULL;

	*costs = probe_costs_default;
	bool emulated = read_cost(file, "emulated", &costs->emulated_ns);
	bool stepped = read_cost(file, "stepped", &costs->stepped_ns);
	json_decref(file);
	free(path);
	return emulated && stepped;
}
