// SPDX-License-Identifier: LGPL-2.1-or-later
/* clock_record.c: see clock_record.h. */
#include "user/values/clock/clock_record.h"

#include <sys/syscall.h>

static const struct told {
	uint32_t nr;
	uint8_t bytes[2]; /* that are written at the arguments */
	bool status;	  /* nothing is written unless the result, an int, is 0 */
} told[CLOCK_FUNCTIONS] = {
	[CLOCK_GETTIME] = {SYS_clock_gettime, {0, 16}, true},
	[CLOCK_GETTIMEOFDAY] = {SYS_gettimeofday, {16, 8}, true},
	[CLOCK_TIME] = {SYS_time, {8, 0}, false},
	[CLOCK_GETCPU] = {SYS_getcpu, {4, 4}, true},
	[CLOCK_GETRES] = {SYS_clock_getres, {0, 16}, true},
};

/* What function number @function has written at argument @i. */
static const void *written(const struct clock_entry *e, uint32_t function, int i)
{
	if (function == CLOCK_TIME)
		return &e->result;
	return i && told[function].bytes[0] ? e->words + 2 : e->words;
}

static bool is_asked(const struct clock_asked *asked, const struct told *f,
		     const struct clock_entry *e)
{
	return asked->nr == f->nr && asked->args[0] == e->args[0] &&
	       (!f->bytes[1] || asked->args[1] == e->args[1]);
}

bool clock_record(const struct clock_entry *e, uint64_t index, struct clock_asked *asked,
		  struct capture *out, struct capture_range ranges[2], bool *broken)
{
	uint32_t function = (uint8_t)e->head;

	*broken = e->head >> 8 != index + 1 || function >= CLOCK_FUNCTIONS;
	if (*broken)
		return false;
	const struct told *f = &told[function];
	if (asked->waits) {
		*broken = !is_asked(asked, f, e);
		asked->waits = false;
		return false;
	}
	out->nr = f->nr;
	out->result = (int64_t)e->result;
	out->sp = e->sp;
	out->ranges = ranges;
	for (int i = 0; i < 2; i++) {
		out->args[i] = e->args[i];
		if (f->bytes[i] && e->args[i] && (!f->status || !(int32_t)e->result))
			ranges[out->n_ranges++] =
				(struct capture_range){.addr = e->args[i],
						       .len = f->bytes[i],
						       .bytes = written(e, function, i)};
	}
	return true;
}
