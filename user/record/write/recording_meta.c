// SPDX-License-Identifier: LGPL-2.1-or-later
/* recording_meta.c: what meta.json of a recording says, and the plans that it lists. */
#include "user/record/write/recording_meta.h"

#include "offline/log/recording_impl.h"
#include "offline/plan/plan_file.h"

#include <errno.h>
#include <limits.h>
#include <linux/types.h>
#include "bpf/protocol.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

/* What is known of the arguments of module @m's functions. */
static int write_arg_types(const struct recorder_module *mod, const struct recording_folder *folder,
			   uint32_t m)
{
	char name[32];

	if (!mod->arg_types_json)
		return 0;
	snprintf(name, sizeof(name), "arguments-%u.json", m);
	return recording_folder_write(folder, name, mod->arg_types_json,
				      strlen(mod->arg_types_json), false);
}

int recording_plans_write(const struct recorder_options *options,
			  const struct recording_folder *folder, uint32_t first,
			  struct pugmark_diag *diag)
{
	for (uint32_t m = 0; m < options->n_modules; m++) {
		char name[32];
		const void *bytes;
		void *own;
		size_t len;

		if (!options->modules[m].plan)
			continue;
		snprintf(name, sizeof(name), "plan-%u.pmp", first + m);
		int err = plan_file_bytes(options->modules[m].plan, &bytes, &len, &own);
		if (!err) {
			err = recording_folder_write(folder, name, bytes, len, false);
			free(own);
		}
		if (!err)
			err = write_arg_types(&options->modules[m], folder, first + m);
		if (err)
			return pugmark_diag_set(diag, err, options->output, PUGMARK_NO_OFFSET,
						"cannot write the plan: %s", strerror(-err));
	}
	return 0;
}

json_t *recording_json_text(const char *text)
{
	json_t *s = json_string(text);

	if (s)
		return s;
	/* Not UTF-8: names of files may be anything. */
	char *clean = strdup(text);
	for (char *p = clean; p && *p; p++)
		if (*p & 0x80)
			*p = '?';
	s = clean ? json_string(clean) : NULL;
	free(clean);
	return s;
}

static json_t *module_json(const struct recorder_module *mod, uint32_t m,
			   const struct text_span *span)
{
	char hex[2 * sizeof(mod->build_id) + 1] = "", plan[32];
	json_t *j = json_object();

	for (uint32_t i = 0; i < mod->build_id_len && i < sizeof(mod->build_id); i++)
		sprintf(hex + 2 * i, "%02x", mod->build_id[i]);
	char *real = realpath(mod->name ? mod->name : mod->path, NULL);
	const char *path = real ? real : mod->name ? mod->name : mod->path;
	const char *slash = strrchr(path, '/');
	json_object_set_new(j, "name", recording_json_text(slash ? slash + 1 : path));
	json_object_set_new(j, "path", recording_json_text(path));
	free(real);
	json_object_set_new(j, "build_id", json_string(hex));
	json_object_set_new(j, "text_addr", json_integer(span->addr));
	json_object_set_new(j, "text_end", json_integer(span->end));
	json_object_set_new(j, "sites", json_integer(mod->n_sites));
	if (mod->plan) {
		snprintf(plan, sizeof(plan), "plan-%u.pmp", m);
		json_object_set_new(j, "plan", json_string(plan));
		return j;
	}
	json_t *table = json_array();
	for (uint32_t i = 0; i < mod->n_sites; i++)
		json_array_append_new(table, json_pack("[I,i,i]", (json_int_t)mod->sites[i].addr,
						       mod->sites[i].kind, mod->sites[i].capture));
	json_object_set_new(j, "site_table", table);
	return j;
}

/* Of times that are bounds, until it is known: for a recorder that is killed. */
enum { SLACK_NS = 100000 };

static json_int_t clock_now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static json_t *boot_id(void)
{
	char id[64] = "";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (f) {
		if (!fgets(id, sizeof(id), f))
			*id = 0;
		fclose(f);
	}
	id[strcspn(id, "\n")] = 0;
	return json_string(id);
}

bool recording_in_columns(const struct recorder_options *options)
{
	return options->n_modules == 1 && options->modules->plan && options->modules->plan->share;
}

json_t *recording_meta_start(const struct recorder_options *options, const struct text_span *spans)
{
	json_t *j = json_object(), *list;
	struct utsname uts;

	if (!j)
		return NULL;
	uname(&uts);
	json_object_set_new(j, "version",
			    json_integer(recording_in_columns(options) ? SEGMENT_VERSION_COLUMNS
								       : SEGMENT_VERSION));
	json_object_set_new(j, "pugmark", json_string(PUGMARK_VERSION));
	json_object_set_new(j, "kernel", json_string(uts.release));
	json_object_set_new(j, "arch", json_string(uts.machine));
	if (options->argv) {
		list = json_array();
		for (char *const *arg = options->argv; *arg; arg++)
			json_array_append_new(list, recording_json_text(*arg));
		json_object_set_new(j, "command", list);
	} else {
		list = json_array();
		for (uint32_t i = 0; i < options->n_pids; i++)
			json_array_append_new(list, json_integer(options->pids[i]));
		json_object_set_new(j, "pids", list);
	}
	if (options->n_shares) {
		json_object_set_new(j, "share", json_integer(options->share));
		json_object_set_new(j, "shares", json_integer(options->n_shares));
	}
	json_object_set_new(j, "clock", json_string("monotonic"));
	json_object_set_new(j, "times", json_boolean(options->time_unit_ns));
	if (options->captures)
		json_object_set_new(j, "values", json_true());
	if (options->carrier && options->time_unit_ns) /* until more is known */
		json_object_set_new(j, "bounds_slack_ns", json_integer(SLACK_NS));
	json_object_set_new(j, "start_monotonic_ns", json_integer(clock_now(CLOCK_MONOTONIC)));
	json_object_set_new(j, "start_realtime_ns", json_integer(clock_now(CLOCK_REALTIME)));
	json_object_set_new(j, "boot_id", boot_id());
	list = json_array();
	for (uint32_t m = 0; m < options->n_modules; m++)
		json_array_append_new(list, module_json(&options->modules[m], m, &spans[m]));
	json_object_set_new(j, "modules", list);
	return j;
}

int recording_modules_add(const struct recorder_options *options,
			  const struct recording_folder *folder, uint32_t first,
			  const struct text_span *spans, json_t *meta, struct pugmark_diag *diag)
{
	int err = recording_plans_write(options, folder, first, diag);
	json_t *list = json_object_get(meta, "modules");

	for (uint32_t m = 0; !err && m < options->n_modules; m++)
		json_array_append_new(list,
				      module_json(&options->modules[m], first + m, &spans[m]));
	return err;
}

int recording_meta_write(const struct recording_folder *folder, json_t *meta)
{
	json_object_del(meta, RECORDING_META_SUM);
	json_object_set_new(meta, RECORDING_META_SUM, json_integer(recording_meta_sum(meta)));
	char *text = json_dumps(meta, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	int err = text ? recording_folder_write(folder, "meta.json", text, strlen(text), true)
		       : -ENOMEM;
	free(text);
	return err;
}
