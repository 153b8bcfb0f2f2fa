// SPDX-License-Identifier: LGPL-2.1-or-later
/* recording_meta.c: makes a recording's directory and writes its meta.json. */
#include "user/record/recording_meta.h"

#include "offline/log/recording_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/types.h>
#include "bpf/protocol.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Only a directory that is a recording is ever moved or removed. */
static bool is_recording(const char *dir)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool is = fd >= 0 && !faccessat(fd, "meta.json", F_OK, 0);

	if (fd >= 0)
		close(fd);
	return is;
}

/* Whether a recorder is writing it still, which keeps a lock on its events. */
static bool is_in_use(const char *dir)
{
	char events[PATH_MAX + 32];

	snprintf(events, sizeof(events), "%s/events", dir);
	int fd = open(events, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	bool is = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return is;
}

void recording_directory_remove(const char *dir)
{
	static const char *const names[] = {"meta.json.new", "events", "captures", "reserve",
					    "meta.json"};
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char plan[32];

	if (fd < 0)
		return;
	for (unsigned i = 0; i < BATCH_MODULES; i++) {
		snprintf(plan, sizeof(plan), "plan-%u.pmp", i);
		unlinkat(fd, plan, 0);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlinkat(fd, names[i], 0);
	close(fd);
	rmdir(dir);
}

static int move_aside(const char *dir, struct pugmark_diag *diag)
{
	char old[PATH_MAX + 32];

	if (!is_recording(dir)) {
		if (!rmdir(dir)) /* empty */
			return 0;
		return pugmark_diag_set(diag, -EEXIST, dir, PUGMARK_NO_OFFSET,
					"is there and is not a recording (choose another with -o)");
	}
	snprintf(old, sizeof(old), "%s.old", dir);
	if (is_in_use(dir) || is_in_use(old))
		return pugmark_diag_set(diag, -EBUSY, dir, PUGMARK_NO_OFFSET,
					"is being recorded (choose another with -o)");
	if (is_recording(old))
		recording_directory_remove(old);
	if (rename(dir, old))
		return pugmark_diag_set(diag, -errno, old, PUGMARK_NO_OFFSET,
					"moving the last recording here: %s", strerror(errno));
	return 0;
}

static int write_plans(const struct recorder_options *options, const char *dir, uint32_t first,
		       struct pugmark_diag *diag)
{
	for (uint32_t m = 0; m < options->n_modules; m++) {
		char to[PATH_MAX + 32];

		if (!options->modules[m].plan)
			continue;
		snprintf(to, sizeof(to), "%s/plan-%u.pmp", dir, first + m);
		int err = pugmark_plan_write(options->modules[m].plan, to, NULL);
		if (err)
			return pugmark_diag_set(diag, err, options->output, PUGMARK_NO_OFFSET,
						"cannot write the plan: %s", strerror(-err));
	}
	return 0;
}

int recording_directory_make(const struct recorder_options *options, char **out,
			     struct pugmark_diag *diag)
{
	char *dir = NULL;

	if (asprintf(&dir, "%s.pugmark-new", options->output) < 0)
		return -ENOMEM;
	/* What a recorder left that was killed while it made this. */
	if (!is_in_use(dir))
		recording_directory_remove(dir);
	int err = mkdir(dir, 0755) ? -errno : 0;
	if (err)
		pugmark_diag_set(diag, err, options->output, PUGMARK_NO_OFFSET,
				 "cannot make this folder: %s", strerror(-err));
	if (!err) {
		err = write_plans(options, dir, 0, diag);
		if (err)
			recording_directory_remove(dir);
	}
	if (err)
		free(dir);
	else
		*out = dir;
	return err;
}

int recording_directory_place(const char *made, const char *dir, struct pugmark_diag *diag)
{
	struct stat st;
	int err = lstat(dir, &st) ? 0 : move_aside(dir, diag);

	if (!err && rename(made, dir))
		err = pugmark_diag_set(diag, -errno, dir, PUGMARK_NO_OFFSET,
				       "cannot make this folder: %s", strerror(errno));
	return err;
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

json_t *recording_meta_start(const struct recorder_options *options, const struct text_span *spans)
{
	json_t *j = json_object(), *list;
	struct utsname uts;

	if (!j)
		return NULL;
	uname(&uts);
	json_object_set_new(j, "version", json_integer(SEGMENT_VERSION));
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
	json_object_set_new(j, "clock", json_string("monotonic"));
	json_object_set_new(j, "times", json_boolean(options->time_unit_ns));
	json_object_set_new(j, "start_monotonic_ns", json_integer(clock_now(CLOCK_MONOTONIC)));
	json_object_set_new(j, "start_realtime_ns", json_integer(clock_now(CLOCK_REALTIME)));
	json_object_set_new(j, "boot_id", boot_id());
	list = json_array();
	for (uint32_t m = 0; m < options->n_modules; m++)
		json_array_append_new(list, module_json(&options->modules[m], m, &spans[m]));
	json_object_set_new(j, "modules", list);
	return j;
}

int recording_modules_add(const struct recorder_options *options, const char *dir, uint32_t first,
			  const struct text_span *spans, json_t *meta, struct pugmark_diag *diag)
{
	int err = write_plans(options, dir, first, diag);
	json_t *list = json_object_get(meta, "modules");

	for (uint32_t m = 0; !err && m < options->n_modules; m++)
		json_array_append_new(list,
				      module_json(&options->modules[m], first + m, &spans[m]));
	return err;
}

int recording_meta_write(const char *dir, json_t *meta, struct pugmark_diag *diag)
{
	char path[PATH_MAX + 32], path_new[PATH_MAX + 32];

	json_object_del(meta, RECORDING_META_SUM);
	json_object_set_new(meta, RECORDING_META_SUM, json_integer(recording_meta_sum(meta)));
	snprintf(path, sizeof(path), "%s/meta.json", dir);
	snprintf(path_new, sizeof(path_new), "%s/meta.json.new", dir);
	FILE *f = fopen(path_new, "we");
	if (!f)
		goto failed;
	int bad = json_dumpf(meta, f, JSON_INDENT(1) | JSON_PRESERVE_ORDER) || fflush(f) ||
		  fsync(fileno(f));
	if (fclose(f) || bad || rename(path_new, path)) {
		int err = errno;

		unlink(path_new);
		errno = err;
		goto failed;
	}
	return 0;
failed:
	return pugmark_diag_set(diag, errno ? -errno : -EIO, path, PUGMARK_NO_OFFSET, "%s",
				strerror(errno));
}
