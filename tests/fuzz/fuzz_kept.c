// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_kept.c: any bytes as a file that Pugmark keeps for its user: what probes cost, which
 * functions were taken out. A cost is a number that can be one; a list is whole or refused, and
 * what is written again is read alike. */
#include "tests/fuzz/as_folder.h"

#include "user/file/own_cache.h"
#include "user/plan/probe_costs.h"
#include "user/plan/taken_before.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void costs_hold(void)
{
	struct probe_costs costs;

	probe_costs_of_machine(&costs);
	MUST(costs.emulated_ns > 1 && costs.emulated_ns < 1e7f + 1);
	MUST(costs.stepped_ns > 1 && costs.stepped_ns < 1e7f + 1);
}

static void list_holds(const char *path)
{
	uint64_t *addrs, *again;
	uint32_t n, m;

	if (taken_before_read(path, &addrs, &n))
		return;
	MUST(!taken_before_write(path, addrs, n));
	if (n) { /* an empty file is none */
		MUST(!taken_before_read(path, &again, &m) && m == n);
		MUST(!memcmp(addrs, again, n * sizeof(*addrs)));
		free(again);
	}
	free(addrs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"pugmark/costs.json", "pugmark/taken-out"};
	const char *dir = as_folder(data, size, names, 2);
	char path[120];

	setenv("XDG_CACHE_HOME", dir, 1);
	costs_hold();
	snprintf(path, sizeof(path), "%s/pugmark/taken-out", dir);
	list_holds(path);
	return 0;
}
