/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* planning.h: from a binary to its plan, by way of the cache: what `plan` and `record` share. */
#ifndef USER_PLANNING_H
#define USER_PLANNING_H

#include <pugmark/plan.h>

#include "offline/choose.h"

struct planning_options {
	enum plan_mode mode; /* from MODE_PATHS_BLOCKS on: blocks are traced as well */
	/* Patterns of function names (globs, or /regex/): traced are those that match one of @only
	 * (all, where there is none) and none of @without. The others are opaque. */
	const char *const *only, *const *without;
	uint32_t n_only, n_without;
	/* Exported functions are entered from outside: all of them, or (false) those that a library
	 * which the binary needs names, or one of @plugins: files that are loaded later. */
	bool all_exports;
	const char *const *plugins;
	uint32_t n_plugins;
	bool fresh; /* do not look in the cache */
};

/* How the plan came about, for those who show it. */
struct planning_result {
	struct pugmark_plan *plan; /* freed with planning_deinit() */
	char *path;		   /* the plan file in the cache */
	uint32_t n_functions, n_call_sites;
	uint32_t unresolved; /* blocks at which the trace may have gaps: nothing there can be probed
			      */
	double seconds;	     /* to analyse and choose; 0 when it came from the cache */
};

/* Plans @binary, or takes its plan from the cache ($XDG_CACHE_HOME/pugmark, else
 * $HOME/.cache/pugmark; the key is the build-id, the mode, the scope, and
 * what is entered). Returns 0, or -errno with
 * @diag filled (-ENOENT: a pattern matches no function; -ENODATA: nothing is left to trace). */
int planning_make(const char *binary, const struct planning_options *options,
		  struct planning_result *out, struct pugmark_diag *diag);
void planning_deinit(struct planning_result *result);

/* The placements of level paths: "blocks", "targets", "edges", "nodes", "best", or false. */
bool planning_placement_named(const char *name, enum plan_mode *out);
/* "full", "branch", "casper", "best", or false. */
bool planning_mode_named(const char *name, enum plan_mode *out);
const char *planning_mode_name(enum plan_mode mode);

#endif
