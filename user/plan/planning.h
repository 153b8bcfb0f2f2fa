/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* planning.h: from a binary to its plan, by way of the cache: what `plan` and `record` share. */
#ifndef USER_PLANNING_H
#define USER_PLANNING_H

#include <pugmark/plan.h>

#include "offline/choose/choose.h"
#include "offline/share/share.h"
#include "user/cli/progress.h"
#include "user/plan/plan_names.h"
#include "user/sandbox/sandbox.h"

#define PLANNING_TRACED_MAX 64
#define PLANNING_PLUGINS_MAX 512

struct planning_reads {
	const char *pattern;
	uint8_t what;  /* enum pugmark_plan_reads */
	bool optional; /* it need not match anything */
};

/* Which exported functions may be called from outside. */
enum planning_exports {
	EXPORTS_AUTO,	/* all, if a module of this host is made to be loaded by the binary: then it
			   has many, and which of them it loads shows when it runs; else needed */
	EXPORTS_NEEDED, /* those that a library which the binary needs names, or one of the plugins
			 */
	EXPORTS_ALL,
};

struct planning_options {
	enum plan_mode mode; /* from MODE_PATHS_BLOCKS on: blocks are traced as well */
	/* Patterns of function names (globs, or /regex/): traced are those that match one of @only
	 * (all, where there is none) and none of @without. The others are opaque. */
	const char *const *only, *const *without;
	uint32_t n_only, n_without;
	const uint64_t *out; /* functions, by ELF address, that are opaque in any case */
	uint32_t n_out;
	/* Functions are split into @n_shares: those of the others than @share, from 1, are opaque.
	 * 0: they are not. */
	uint32_t share, n_shares;
	/* What probes may cost, in percent; 0: no limit. Functions that an earlier recording took
	 * out for that are out from the start (unless `fresh`), and @out is kept for the next
	 * recording. */
	double max_overhead;
	bool elsewhere; /* a pattern that matches nothing here may: it matches in another module */
	enum planning_exports exports;
	const char *const *plugins; /* files that are loaded later, or folders of them */
	uint32_t n_plugins;
	bool any_program; /* of a library: programs other than the named ones may be linked with it
			   */
	/* Other modules that are traced too: calls into them show, and so do calls from them. */
	const char *const *traced;
	uint32_t n_traced;
	/* Values to be read of calls of functions that match, here or imported. */
	const struct planning_reads *reads;
	uint32_t n_reads;
	const char *tag;    /* what names in the cache begin with: of the binary's bytes; or NULL */
	const char *origin; /* where the binary is; NULL: where it is opened */
	bool patched;	    /* patches carry what they can, and probes the rest */
	bool returns_apart; /* keep every return instruction of a function apart */
	const char *const *profiles; /* recordings to take counts from; none: estimates */
	uint32_t n_profiles;
	uint64_t profile_events; /* events that are counted of each of them, 0: all */
	const char *output;	 /* where the plan is to be, by whoever asks; NULL: the cache */
	bool fresh;		 /* do not look in the cache */
	/* A plan of the same file for a larger scope: mode best begins with it, which takes a
	 * fraction of the time; and the model that it is of, or NULL: it is made anew. */
	const struct pugmark_plan *seed;
	const struct pugmark_model *seed_model;
	const bool *cancelled;	    /* becomes true when nobody wants it any more; or NULL */
	bool keep_model;	    /* for another planning: the result has it */
	bool compare;		    /* look at what mode full would do as well */
	struct progress *progress;  /* is told what is being done; NULL: nobody is */
	_Atomic uint32_t *permille; /* how much is done, beside it; NULL: nobody asks */
};

/* How the plan came about, for those who show it. */
struct planning_result {
	struct pugmark_plan *plan; /* freed with planning_deinit(), as all of this */
	char *path;		   /* the plan file; NULL where it could not be kept */
	char *not_kept;		   /* then: why */
	bool cached;		   /* it was there already */
	char *plugin;	/* EXPORTS_AUTO: the module for which all exports may be called; or NULL */
	char *left_out; /* names of what an earlier recording has taken out; or NULL */
	uint32_t n_left_out;
	double seconds;		  /* what it took */
	struct probe_costs costs; /* by which it was chosen */
	bool costs_measured;	  /* they are this machine's, not the defaults */
	/* compare, keep_model: the model; compare: how many probes mode full has and what they are
	 * expected to cost
	 */
	struct pugmark_model *model;
	uint32_t full_sites;
	double full_cost_ns;
};

struct plan_modules;
/* Work on @binary in a sandbox (user/sandbox), with all that planning_make_here() and
 * planning_shares() need there. */
struct planning_inside {
	const char *binary;
	const struct planning_options *options;
	const struct plan_modules *modules;
	void *ctx; /* of whoever has the work done */
};
/* Has @work done with @inside, of which only ctx is set before, and gives what it handed back:
 * *@bytes, of *@len, which the caller frees and checks. @grant: a file or folder that it may read,
 * or NULL. Where this kernel has no sandbox it is done here, and that is said. */
int planning_apart(const char *binary, const struct planning_options *options, const char *grant,
		   sandbox_work *work, struct planning_inside *inside, void **bytes, size_t *len,
		   struct pugmark_diag *diag);
/* Decodes what planning_apart() gave, as out->plan. 0 or -errno with @diag filled. */
int planning_take_plan(const char *bytes, size_t len, const char *name, struct planning_result *out,
		       struct pugmark_diag *diag);
/* Checks and takes what planning_make()'s child handed back: any bytes. 0 or -errno with @diag
 * filled; planning_deinit() releases @out, which is zeroed to begin with, either way. */
int planning_take(const void *handed, size_t len, const char *binary, struct planning_result *out,
		  struct pugmark_diag *diag);

/* planning_make() in this process, with its privileges; @modules: plan_modules_list()'s. */
int planning_make_here(const char *binary, const struct planning_options *options,
		       const struct plan_modules *modules, struct planning_result *out,
		       struct pugmark_diag *diag);
/* Plans @binary, or takes its plan from the cache ($XDG_CACHE_HOME/pugmark, else
 * $HOME/.cache/pugmark; the key is the build-id and all of the options that matter). Returns 0, or
 * -errno with @diag filled (-ENOENT: a pattern matches no function; -ENODATA: nothing is left to
 * trace). A cache that cannot be written to is no error: the plan is there, and has no file.
 * The analysis runs in a sandbox (user/sandbox), whose plan is checked, and which hands back no
 * model. */
int planning_make(const char *binary, const struct planning_options *options,
		  struct planning_result *out, struct pugmark_diag *diag);
void planning_deinit(struct planning_result *result);
/* Reads the word of --exports: auto, needed, all. */
bool planning_exports_named(const char *word, enum planning_exports *out);
/* Splits the plan of @inside->binary over shares, in this process. *@whole_ns: what one share of
 * all would cost. 0 and a set that the caller releases with share_set_deinit(), or -errno with
 * @diag filled. */
int planning_shares_here(const struct planning_inside *inside, const struct share_options *shares,
			 struct share_set *out, double *whole_ns, struct pugmark_diag *diag);
/* The same of @binary in a sandbox; nothing is cached. What is handed back is checked: a plan as
 * planning_make()'s, shares that there are, costs that are numbers. */
int planning_shares(const char *binary, const struct planning_options *options,
		    const struct share_options *shares, struct share_set *out, double *whole_ns,
		    struct pugmark_diag *diag);

#endif
