// SPDX-License-Identifier: LGPL-2.1-or-later
/* probe_costs.c: reads the cost file. */
#include "user/probe_costs.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static float read_cost(const json_t *costs, const char *key, float otherwise)
{
	double value = json_number_value(json_object_get(costs, key));
	return value > 1 && value < 1e7 ? value : otherwise;
}

struct probe_costs probe_costs_of_machine(void)
{
	struct probe_costs costs = probe_costs_default;
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool has_xdg = xdg && *xdg == '/';
	char path[4096];
	snprintf(path, sizeof(path), "%s%s/pugmark/costs.json",
		 has_xdg ? xdg
		 : home	 ? home
			 : "",
		 has_xdg ? "" : "/.cache");
	json_t *file = json_load_file(path, 0, NULL);
	if (!file)
		return costs;
	costs.emulated_ns = read_cost(file, "emulated", costs.emulated_ns);
	costs.stepped_ns = read_cost(file, "stepped", costs.stepped_ns);
	json_decref(file);
	return costs;
}
