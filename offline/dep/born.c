// SPDX-License-Identifier: LGPL-2.1-or-later
/* born.c: what a forked process has of its parent: each byte that may be written has a definition
 * of its own, so that what it reads of that leads to what the parent had there. */
#include "offline/dep/build_impl.h"

#include <stdlib.h>
#include <sys/syscall.h>

enum { BORN_MAX = 1 << 28 }; /* bytes: definitions are not that many */

void dep_born_begin(struct dep_build *b)
{
	struct dep_trace *t = &b->trace;
	const struct value_region *regions;
	uint64_t order, bytes = 0;
	if (!value_run_forked(b->run, &order))
		return;
	size_t n = value_memory_regions(b->memory, &regions);
	for (size_t i = 0; i < n; i++)
		bytes += regions[i].prot & VALUE_WRITE ? regions[i].end - regions[i].start : 0;
	if (!bytes || bytes > BORN_MAX)
		return;
	t->born = calloc(n, sizeof(*t->born));
	struct dep_event *e =
		t->born ? dep_add_event(b, &(struct dep_event){.kind = DEP_BORN,
							       .flags = DEP_READS_KNOWN,
							       .fd = -1})
			: NULL;
	b->no_memory |= !e;
	for (size_t i = 0; e && i < n; i++) {
		uint64_t len = regions[i].end - regions[i].start;
		if (regions[i].prot & VALUE_WRITE)
			t->born[t->n_born++] = (struct dep_born){
				regions[i].start, len, dep_more_defs(b, e, (uint32_t)len)};
	}
}

void dep_born_fork(struct dep_build *b, const struct capture *c)
{
	struct dep_trace *t = &b->trace;
	bool forks = c->nr == SYS_fork || c->nr == SYS_vfork || c->nr == SYS_clone ||
		     c->nr == SYS_clone3;
	if (!forks || c->result <= 0)
		return;
	if (t->n_forks == t->room_forks) {
		uint64_t room = 2 * t->room_forks + 16;
		struct dep_fork *more = realloc(t->forks, room * sizeof(*more));
		if (!more) {
			b->no_memory = true;
			return;
		}
		t->forks = more;
		t->room_forks = room;
	}
	t->forks[t->n_forks++] = (struct dep_fork){c->order, t->count};
}
