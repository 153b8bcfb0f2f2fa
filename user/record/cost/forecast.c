// SPDX-License-Identifier: LGPL-2.1-or-later
/* forecast.c: see forecast.h. */
#include "user/record/cost/forecast.h"

#include "user/plan/probe_costs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MOMENT_NS 300000000ull
#define NO_BOUND 1e9 /* percent */

struct forecast {
	struct overhead *overhead;
	uint64_t looked_ns;
	bool measured; /* what a probe costs here; else it is assumed */
};

int forecast_new(uint64_t start_ns, struct probes *probes, struct collector *collector,
		 struct forecast **out)
{
	struct forecast *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->looked_ns = start_ns;
	int err = overhead_new(NO_BOUND, probes, collector, &f->overhead);
	if (err) {
		free(f);
		return err;
	}
	struct probe_costs costs;
	f->measured = probe_costs_of_machine(&costs);
	overhead_restart(f->overhead);
	*out = f;
	return 0;
}

void forecast_free(struct forecast *f)
{
	if (!f)
		return;
	overhead_free(f->overhead);
	free(f);
}

bool forecast_known(struct forecast *f, uint64_t time_ns, const struct recorder_options *now,
		    double *factor, char *text, size_t bytes)
{
	if (time_ns - f->looked_ns < MOMENT_NS)
		return false;
	f->looked_ns = time_ns;
	if (overhead_check(f->overhead, now) < 0)
		return false;
	double percent = overhead_percent(f->overhead);
	if (percent < 0)
		return false;
	*factor = 1 + percent / 100;
	snprintf(text, bytes,
		 "what is traced takes %sabout %.*f times as much processor time as without "
		 "probes%s",
		 now->captures ? "at least " : "", *factor < 10 ? 2 : 0, *factor,
		 f->measured
			 ? ""
			 : ", if one costs as little as elsewhere (pugmark doctor measures it)");
	return true;
}
