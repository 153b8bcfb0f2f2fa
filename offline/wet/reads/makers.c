// SPDX-License-Identifier: LGPL-2.1-or-later
/* makers.c: see makers.h. */
#include "offline/wet/reads/makers.h"

#include <stdlib.h>
#include <string.h>

void wet_makers_deinit(struct wet_makers *m)
{
	free(m->recent);
	free(m->kept);
}

bool wet_makers_room(struct wet_makers *m, uint32_t last)
{
	uint32_t n = last - m->old;
	if (n > m->room_recent) {
		uint32_t room = n + n / 2 + 4096;
		struct wet_maker *recent = realloc(m->recent, room * sizeof(*recent));
		if (!recent)
			return false;
		m->recent = recent;
		m->room_recent = room;
	}
	if (n > m->n_recent) {
		memset(m->recent + m->n_recent, 0, (n - m->n_recent) * sizeof(*m->recent));
		m->n_recent = n;
	}
	return true;
}

bool wet_makers_keep(struct wet_makers *m, uint32_t old, const uint32_t *live, size_t n)
{
	struct wet_makers kept = {.n_slots = 1024};
	while (kept.n_slots < 2 * n && kept.n_slots < 1u << 31)
		kept.n_slots *= 2;
	kept.kept = calloc(kept.n_slots, sizeof(*kept.kept));
	if (!kept.kept || 2 * n > kept.n_slots || !wet_makers_room(m, old)) {
		free(kept.kept);
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		struct wet_maker by = {0, 0};
		if (live[i] && live[i] <= old)
			by = wet_makers_get(m, live[i]);
		if (by.stmt)
			*wet_makers_slot(&kept, live[i]) = (struct wet_old_maker){live[i], by};
	}
	free(m->kept);
	m->kept = kept.kept;
	m->n_slots = kept.n_slots;
	m->n_recent -= old - m->old;
	memmove(m->recent, m->recent + (old - m->old), m->n_recent * sizeof(*m->recent));
	m->old = old;
	return true;
}
