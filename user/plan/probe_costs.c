// SPDX-License-Identifier: LGPL-2.1-or-later
/* probe_costs.c: finds and reads the cost file. */
#include "user/plan/probe_costs.h"

#include "user/file/own_cache.h"

#include <jansson.h>
#include <stdlib.h>

enum { MAX_BYTES = 65536 };

char *probe_costs_path(void)
{
	return own_cache_path(NULL, "costs.json");
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
	struct private_file kept = {.bytes = NULL};
	json_t *file = NULL;

	if (path && !own_cache_read(path, MAX_BYTES, &kept) && kept.bytes)
		file = json_loadb((const char *)kept.bytes, kept.len_bytes, 0, NULL);
	private_file_free(&kept);

	*costs = probe_costs_default;
	bool emulated = read_cost(file, "emulated", &costs->emulated_ns);
	bool stepped = read_cost(file, "stepped", &costs->stepped_ns);
	json_decref(file);
	free(path);
	return emulated && stepped;
}
