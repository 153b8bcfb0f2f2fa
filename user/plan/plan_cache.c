// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_cache.c: see plan_cache.h. A kept plan is named by a digest of all that it is made from. So
 * a file of that name is of these bytes and these options, whatever it says of itself. */
#include "user/plan/plan_cache.h"

#include "offline/code/model_digest.h"
#include "offline/plan/plan_file.h"
#include "offline/plan/plan_places.h"
#include "user/file/own_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLANNER_VERSION 58 /* raised when the same binary would be planned differently */

static void add_texts(struct digest *d, const char *const *texts, uint32_t n)
{
	digest_add_number(d, n);
	for (uint32_t i = 0; i < n; i++)
		digest_add_text(d, texts[i]);
}

/* What is asked for, of which binary. */
static void add_question(struct digest *d, const struct pugmark_model *model,
			 const struct planning_options *o)
{
	model_digest(model, d);
	digest_add_text(d, planning_mode_name(o->mode));
	add_texts(d, o->only, o->n_only);
	add_texts(d, o->without, o->n_without);
	digest_add_number(d, o->n_reads);
	for (uint32_t i = 0; i < o->n_reads; i++) {
		digest_add_text(d, o->reads[i].pattern);
		digest_add_number(d, o->reads[i].what);
	}
}

/* The path of the file that @d names. */
static char *path_of(struct digest *d, const char *what, const char *tag, const char *suffix)
{
	char name[2 * DIGEST_HEX + 16], hex[DIGEST_HEX];
	digest_hex(d, hex);
	snprintf(name, sizeof(name), "%.*s%s%s", DIGEST_HEX, tag ? tag : "", hex, suffix);
	return own_cache_path(what, name);
}

char *plan_cache_path(const struct pugmark_model *model, const struct planning_options *o,
		      const uint8_t inputs[DIGEST_BYTES])
{
	struct digest d;
	digest_init(&d);
	digest_add_number(&d, PLANNER_VERSION);
	add_question(&d, model, o);
	digest_add_number(&d, o->returns_apart);
	digest_add_number(&d, o->patched);
	digest_add(&d, o->out, o->n_out * sizeof(*o->out));
	digest_add_number(&d, o->share);
	digest_add_number(&d, o->n_shares);
	digest_add(&d, inputs, DIGEST_BYTES);
	return path_of(&d, "plans", o->tag, ".plan");
}

char *plan_cache_taken_path(const struct pugmark_model *model, const struct planning_options *o)
{
	struct digest d;
	digest_init(&d);
	add_question(&d, model, o);
	digest_add(&d, &o->max_overhead, sizeof(o->max_overhead));
	return path_of(&d, "taken-out", o->tag, "");
}

/* Whether @plan is of this binary, and of a format that says all that one made now does. */
static bool fits(const struct pugmark_plan *plan, const struct pugmark_model *m,
		 enum plan_mode mode)
{
	return plan->mode == mode && plan->build_id_len == m->build_id_len &&
	       !memcmp(plan->build_id, m->build_id, m->build_id_len) &&
	       plan->n_funcs == m->n_funcs && (plan->n_nodes <= 1 || plan->n_points) &&
	       (!plan->unresolved || plan->unresolved_at) && plan_places_hold(plan, m);
}

struct pugmark_plan *plan_cache_find(const char *path, const struct pugmark_model *model,
				     enum plan_mode mode)
{
	struct private_file file;
	struct pugmark_plan *plan;
	if (!path || own_cache_read(path, PLAN_MAX_BYTES, &file) ||
	    plan_take(&file, path, &plan, NULL))
		return NULL;
	if (fits(plan, model, mode))
		return plan;
	pugmark_plan_free(plan);
	return NULL;
}

int plan_cache_keep(const char *path, const struct pugmark_plan *plan, struct pugmark_diag *diag)
{
	const void *bytes;
	void *own;
	size_t len;
	int err = plan_file_bytes(plan, &bytes, &len, &own);
	if (!err) {
		err = own_cache_write(path, bytes, len);
		free(own);
	}
	return err ? pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "%s", own_cache_why(err))
		   : 0;
}
