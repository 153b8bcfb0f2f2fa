// SPDX-License-Identifier: LGPL-2.1-or-later
/* recorder_result.c: see recorder_result.h. */
#include "user/record/write/recorder_result.h"

#include "offline/patch/placing.h"
#include "user/record/write/recording_writer.h"

#include <stdio.h>

/* Which events came by probes where instructions are patched, by why. */
static void note_probed(const struct recording_totals *t, struct recorder_result *r)
{
	size_t len = 0;

	for (int i = 0; i < N_PATCH_REASONS; i++) {
		if (!t->probed[i])
			continue;
		r->probed += t->probed[i];
		len += snprintf(r->probed_why + len, sizeof(r->probed_why) - len, "%s%s %llu",
				len ? ", " : "", i == PATCH_CAN ? "rare" : patch_reason_name(i),
				(unsigned long long)t->probed[i]);
		if (len >= sizeof(r->probed_why))
			return;
	}
}

void recorder_result_take(struct recorder_result *r, const struct recording_totals *t)
{
	r->events = t->events;
	r->lost = t->lost;
	r->tasks = t->tasks;
	r->segments = t->segments;
	r->bytes = t->bytes;
	note_probed(t, r);
}
