/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* spread.h: what a job (user/cluster/job.h) of `switch` has for its tasks besides the command, and
 * what they leave in its folder. Task m of M makes each M-th try, in order.
 *
 *   number          NAME N             of enum spread_number
 *   condition       TEXT               of the outcome
 *   condition-file  SUM TEXT           one that ends with the path of this file
 *   try             I ELF TIME ENTRY LIBRARY   candidate I, from 0; LIBRARY may be empty
 *
 *   result-M   DONE TOO_LONG UNTURNED and as many lines as candidates are told, I RIGHT TAKEN HOLDS
 *   found-M    I, the first one whose outcome is as asked, as soon as it is known */
#ifndef USER_SWITCH_SPREAD_H
#define USER_SWITCH_SPREAD_H

#include <stdint.h>

enum spread_number {
	SPREAD_SECONDS,
	SPREAD_MEMORY,
	SPREAD_JOBS,
	SPREAD_MACHINES,
	SPREAD_ALL,
	SPREAD_RIGHT,
	SPREAD_NUMBERS
};
static const char *const spread_names[SPREAD_NUMBERS] = {"seconds",  "memory", "jobs",
							 "machines", "all",    "right"};

#endif
