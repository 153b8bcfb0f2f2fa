/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan_show.h: the ways in which `pugmark plan` writes what was planned. */
#ifndef USER_PLAN_SHOW_H
#define USER_PLAN_SHOW_H

#include "user/cli/outbuf.h"
#include "user/plan/planning.h"

struct plan_shown {
	const char *binary;
	const struct planning_options *options;
	const struct planning_result *result;
	struct outbuf *out;
};

/* One output format. */
struct plan_format {
	const char *name;
	void (*stats)(const struct plan_shown *shown);
	void (*list)(const struct plan_shown *shown);
	/* Function @func of the plan: its call-site graph, the decisions in it, what tells them.
	 * 0 or -ENOMEM. */
	int (*explain)(const struct plan_shown *shown, uint32_t func);
};
extern const struct plan_format plan_text, plan_json;
int plan_explain_text(const struct plan_shown *shown, uint32_t func);
int plan_explain_json(const struct plan_shown *shown, uint32_t func);
int plan_explain_dot(const struct plan_shown *shown, uint32_t func);

#endif
