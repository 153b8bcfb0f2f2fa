// SPDX-License-Identifier: LGPL-2.1-or-later
/* places.c: places of the recording, at the addresses that they have in a run; and which of them
 * make a record each time, or at all. */
#include "offline/replay/run/places.h"

#include "offline/replay/run/run.h"
#include "offline/replay/run/standing.h"

#include <stdlib.h>

uint64_t value_run_place_ip(const struct value_run *run, const struct capture *c, uint64_t addr)
{
	const struct capture_place *p = &run->replay->places[c->place];
	uint64_t bias = 0;
	captures_bias(run->replay->captures, p->module, &bias);
	return bias + addr;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

bool value_run_awaits(const struct value_run *run, uint64_t ret)
{
	return bsearch(&ret, run->awaited, run->n_awaited, sizeof(ret), by_address);
}

bool value_run_tells(const struct value_run *run, uint64_t ip)
{
	return bsearch(&ip, run->telling, run->n_telling, sizeof(ip), by_address) &&
	       value_machine_is_code(run->machine, ip);
}

/* Of which no record is made to the end of the recording. */
static bool is_thinned(const struct value_run *run, uint64_t ret)
{
	return bsearch(&ret, run->thinned, run->n_thinned, sizeof(ret), by_address);
}

bool value_run_is_lost(const struct value_run *run)
{
	const struct open_call *call = run->n_calls ? &run->calls[run->n_calls - 1] : NULL;
	if (!call || !is_thinned(run, call->ret))
		return false;
	uint64_t i = run->next;
	const struct capture *c = value_run_record_at(run, i);
	while (c && (c->kind == CAPTURE_KERNEL || c->kind == CAPTURE_SWITCH))
		c = value_run_record_at(run, ++i);
	return !c || c->kind != CAPTURE_RESULT || c->sp != call->sp + sizeof(call->ret) ||
	       value_run_place_ip(run, c, run->replay->places[c->place].site_next) != call->ret;
}
