/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* watch_run.h: one run of a task in which the accesses of what is watched are found. */
#ifndef USER_WATCH_RUN_H
#define USER_WATCH_RUN_H

#include "offline/replay/replay.h"
#include "user/values/watch/watch_locals.h"

/* From @from instructions on, until the next one: where a pointer leads. */
struct watch_span {
	uint64_t from, addr;
	uint8_t quality;
};
struct watch_spans {
	struct watch_span *at; /* in their order */
	uint32_t n, max;
};

struct watch_run {
	struct value_run *run;
	struct watch_found found;
	const struct watch_spans *spans; /* NULL: a pointer does not tell where it is */
	uint32_t span;			 /* of them: how many have begun */
	struct watch_bytes fixed;	 /* of what is no variable of a function */
	struct watch_locals locals;
	bool mapped;	    /* there was memory at @fixed at some time */
	const char *import; /* the function outside that has control; NULL: not known, or none */
	struct value_trace trace;
	size_t done, done_addresses; /* of the trace: what was looked at */
	uint64_t count;
};

/* Executes run->run to its end. Returns why it stopped; run->found.err: -errno. */
int watch_run_collect(struct watch_run *run);
void watch_run_deinit(struct watch_run *run);

#endif
