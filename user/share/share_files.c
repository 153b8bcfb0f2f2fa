// SPDX-License-Identifier: LGPL-2.1-or-later
/* share_files.c: see share_files.h. */
#include "user/share/share_files.h"

#include "offline/base/folder.h"
#include "offline/base/whole_file.h"
#include "user/record/write/recording_meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uint32_t share_files_sites(const struct share_set *set, uint32_t k)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < set->plan->n_sites; i++)
		n += set->members[i] >> k & 1;
	return n;
}

static int write_share(const struct share_set *set, uint32_t k, const char *dir,
		       struct pugmark_diag *diag)
{
	struct pugmark_plan plan;
	struct pugmark_plan_site *sites;
	char *path = NULL;
	int err = share_plan(set, k, &plan, &sites);
	if (err)
		return pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET, "out of memory");
	err = asprintf(&path, "%s/share-%u.pmp", dir, k + 1) < 0 ? -ENOMEM : 0;
	if (!err)
		err = pugmark_plan_write(&plan, path, diag);
	free(path);
	free(sites);
	return err;
}

static json_t *manifest(const struct share_set *set, const struct share_files_options *o)
{
	char number[17], hex[2 * sizeof(set->plan->build_id) + 1] = "";
	json_t *j = json_object(), *list = json_array();
	snprintf(number, sizeof(number), "%016llx", (unsigned long long)set->plan->share_set);
	for (uint32_t i = 0; i < set->plan->build_id_len && i < sizeof(set->plan->build_id); i++)
		sprintf(hex + 2 * i, "%02x", set->plan->build_id[i]);
	json_object_set_new(j, "version", json_integer(1));
	json_object_set_new(j, "set", json_string(number));
	json_object_set_new(j, "binary", recording_json_text(o->binary));
	json_object_set_new(j, "build_id", json_string(hex));
	json_object_set_new(j, "level", json_string(o->paths ? "paths" : "calls"));
	json_object_set_new(j, "grouping", json_string(o->grouping));
	json_object_set_new(j, "machines", json_integer(o->machines));
	json_object_set_new(j, "bound", json_integer(o->bound));
	json_object_set_new(j, "tellers", json_integer(o->tellers));
	json_object_set_new(j, "sites", json_integer(set->plan->n_sites));
	json_object_set_new(j, "untold", json_integer(set->untold));
	for (uint32_t k = 0; k < set->n; k++) {
		char name[32];
		snprintf(name, sizeof(name), "share-%u.pmp", k + 1);
		json_array_append_new(list, json_pack("{s:i, s:s, s:i, s:i, s:f}", "share", k + 1,
						      "plan", name, "machine", set->machine[k] + 1,
						      "probes", share_files_sites(set, k),
						      "cost_ns", set->load_ns[k]));
	}
	json_object_set_new(j, "shares", list);
	return j;
}

/* One that is there is taken. Links of others on the way are not followed. */
static int make_folder(const char *dir)
{
	char name[FOLDER_NAME_MAX];
	int parent = folder_parent(dir, FOLDER_OWN, name);
	if (parent < 0) /* "." and its like are there */
		return parent == -EINVAL ? 0 : parent;
	int err = mkdirat(parent, name, 0755) && errno != EEXIST ? -errno : 0;
	close(parent);
	return err;
}

int share_files_write(const struct share_set *set, const struct share_files_options *o,
		      const char *dir, struct pugmark_diag *diag)
{
	char *path = NULL;
	int err = make_folder(dir);
	if (err)
		return pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET,
					"cannot make this folder: %s", strerror(-err));
	for (uint32_t k = 0; k < set->n && !err; k++)
		err = write_share(set, k, dir, diag);
	if (err)
		return err;
	json_t *j = manifest(set, o);
	if (asprintf(&path, "%s/manifest.json", dir) < 0)
		path = NULL;
	char *text = json_dumps(j, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	err = path && text ? whole_file_write(path, text, strlen(text)) : -ENOMEM;
	if (err)
		pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET,
				 "cannot write its manifest.json: %s", strerror(-err));
	free(text);
	free(path);
	json_decref(j);
	return err;
}
