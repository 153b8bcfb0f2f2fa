/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* value_instances.h: when a task executed an instruction, counted in instructions before it, and
 * when the function that begins there was left: found by executing the task once. */
#ifndef USER_VALUE_INSTANCES_H
#define USER_VALUE_INSTANCES_H

#include "offline/base/vec.h"
#include "offline/replay/replay.h"

#define VALUE_NEVER UINT64_MAX

struct value_instance {
	uint64_t count;	 /* instructions before it */
	uint64_t back;	 /* the same, where its function is back at its caller, which a callback's
			  * and a handler's outside are not seen to be; VALUE_NEVER: not seen */
	uint64_t ip;	 /* run-time */
	uint32_t depth;	 /* calls that were open */
	uint32_t before; /* 1 and the index of the one before it that is of the same call (it has
			  * gone on there by a jump, as tail calls do); 0: none */
};

struct value_instances {
	struct value_instance *at; /* in their order; at most as many as were asked for */
	uint32_t n, max;
	uint64_t total; /* how many there were */
	uint64_t end;	/* instructions of the whole task */
	enum value_replay_stop stop;
};

/* Executes @run to its end, looking for the run-time addresses @ips (sorted). 0, or -ENOMEM. */
int value_instances_find(struct value_run *run, const uint64_t *ips, uint32_t n_ips, uint64_t max,
			 struct value_instances *out);
void value_instances_deinit(struct value_instances *instances);

#endif
