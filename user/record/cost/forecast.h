/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* forecast.h: what a recording will cost, counted over its first moments: how often probes are hit,
 * times what each costs, beside the processor time of what is traced. What else level values takes
 * (bytes that are captured, hooks at system calls) has no price: then it is at least so much. */
#ifndef USER_FORECAST_H
#define USER_FORECAST_H

#include "user/record/cost/overhead.h"

struct forecast;

/* Borrows @probes and @collector, which counts hits (struct recorder_options: forecast). Returns 0
 * or -ENOMEM. */
int forecast_new(uint64_t start_ns, struct probes *probes, struct collector *collector,
		 struct forecast **out);
void forecast_free(struct forecast *f);
/* Looks at what has been counted until @time_ns. Returns true once it is known: how many times as
 * long the processes take, *@factor, and in words, @text. */
bool forecast_known(struct forecast *f, uint64_t time_ns, const struct recorder_options *now,
		    double *factor, char *text, size_t bytes);

#endif
