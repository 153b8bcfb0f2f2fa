// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_cache.c: see plan_cache.h. A plan is written under a temporary name and renamed, so two
 * processes that plan the same binary at once cost time, not truth. */
#include "user/plan/plan_cache.h"

#include "offline/plan/plan_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define PLANNER_VERSION 31 /* another one where the same binary would be planned otherwise */

int plan_cache_make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		int err = mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
		*slash = '/';
		if (err)
			return err;
	}
	return 0;
}

static uint32_t add_text(uint32_t crc, const char *text)
{
	return crc32(crc, (const void *)text, strlen(text) + 1);
}

static uint32_t scope_hash(const struct planning_options *o)
{
	uint32_t crc = 0;
	for (uint32_t i = 0; i < o->n_only; i++)
		crc = add_text(crc, o->only[i]);
	crc = add_text(crc, "");
	for (uint32_t i = 0; i < o->n_without; i++)
		crc = add_text(crc, o->without[i]);
	for (uint32_t i = 0; i < o->n_out; i++)
		crc = crc32(crc, (const void *)&o->out[i], sizeof(o->out[i]));
	for (uint32_t i = 0; i < o->n_reads; i++)
		crc = crc32(add_text(crc, o->reads[i].pattern), &o->reads[i].what, 1);
	return o->n_only || o->n_without || o->n_out || o->n_reads ? crc : 0;
}

/* What tells the file of @model from all others: its build-id, or else where it is and when it was
 * written. */
static void identity(const struct pugmark_model *model, char id[80])
{
	struct stat st;
	*id = 0;
	for (uint32_t i = 0; i < model->build_id_len; i++)
		sprintf(id + 2 * i, "%02x", model->build_id[i]);
	if (!model->build_id_len && !stat(model->path, &st))
		snprintf(id, 80, "file-%llx-%llx-%llx-%llx", (unsigned long long)st.st_dev,
			 (unsigned long long)st.st_ino, (unsigned long long)st.st_size,
			 (unsigned long long)st.st_mtim.tv_sec * 1000000000ull +
				 st.st_mtim.tv_nsec);
}

/* The file @name in the folder @what of the cache. */
static char *path_in_cache(const char *what, const char *name)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool has_xdg = xdg && *xdg == '/';
	char *path = NULL;
	if (!has_xdg && !(home && *home))
		return NULL;
	if (asprintf(&path, "%s%s/pugmark/%s/%s", has_xdg ? xdg : home, has_xdg ? "" : "/.cache",
		     what, name) < 0)
		return NULL;
	return path;
}

char *plan_cache_path(const struct pugmark_model *model, const struct planning_options *o,
		      uint32_t input_hash)
{
	char id[80], name[160];
	identity(model, id);
	snprintf(name, sizeof(name), "%s-%s%s-%08" PRIx32 "-%08" PRIx32 "-v%d.plan", id,
		 planning_mode_name(o->mode), o->returns_apart ? "-returns" : "", scope_hash(o),
		 input_hash, PLANNER_VERSION);
	return path_in_cache("plans", name);
}

char *plan_cache_taken_path(const struct pugmark_model *model, const struct planning_options *o)
{
	struct planning_options scope = *o;
	char id[80], name[160];
	scope.n_out = 0;
	identity(model, id);
	snprintf(name, sizeof(name), "%s-%s-%08" PRIx32 "-%g", id, planning_mode_name(o->mode),
		 scope_hash(&scope), o->max_overhead);
	return path_in_cache("taken-out", name);
}

/* Whether @plan is of this binary, and of a format that says all that one made now does. */
static bool fits(const struct pugmark_plan *plan, const struct pugmark_model *m,
		 enum plan_mode mode)
{
	return plan->mode == mode && plan->build_id_len == m->build_id_len &&
	       !memcmp(plan->build_id, m->build_id, m->build_id_len) &&
	       plan->n_funcs == m->n_funcs && (plan->n_nodes <= 1 || plan->n_points) &&
	       (!plan->unresolved || plan->unresolved_at);
}

struct pugmark_plan *plan_cache_find(const char *path, const struct pugmark_model *model,
				     enum plan_mode mode)
{
	struct pugmark_plan *plan;
	if (!path || access(path, R_OK) || pugmark_plan_open(path, &plan, NULL))
		return NULL;
	if (fits(plan, model, mode))
		return plan;
	pugmark_plan_free(plan);
	return NULL;
}

int plan_cache_keep(char *path, const struct pugmark_plan *plan, struct pugmark_diag *diag)
{
	int err = plan_cache_make_folders(path);
	if (err)
		return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET,
					"cannot make the folder: %s", strerror(-err));
	return pugmark_plan_write(plan, path, diag);
}
