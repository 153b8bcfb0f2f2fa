/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* parse_facts.h: what parse tables say of functions, calls and decisions whatever the state: found
 * in the whole plan when they are made. Each fills its part of @tables; those that need memory
 * return 0 or -ENOMEM. */
#ifndef OFFLINE_PARSE_FACTS_H
#define OFFLINE_PARSE_FACTS_H

#include "offline/recover/tables/parse_tables.h"

/* Which functions need not be entered by a direct call, and which frames may come to be of code
 * that is not of the plan, each by tail jumps as well. */
int parse_facts_outward(struct parse_tables *tables);
/* Which functions do nothing outside of the plan. */
void parse_facts_inside(struct parse_tables *tables);
/* Where the plan says itself that an event may fit two things. */
int parse_facts_unsure(struct parse_tables *tables);
/* Whether the program has the runtime of Go. */
void parse_facts_go(struct parse_tables *tables);

#endif
