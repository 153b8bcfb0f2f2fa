// SPDX-License-Identifier: LGPL-2.1-or-later
/* recording_meta_read.c: the JSON in a recording: meta.json, and the lines about processes. */
#include "offline/log/recording_impl.h"

#include "offline/base/private_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { META_MAX_BYTES = 1 << 28, MODULES_MAX = SEGMENT_MAX_MODULES };

static uint64_t number(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

static const char *string(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

static uint32_t parse_hex(const char *hex, uint8_t *out, uint32_t max)
{
	uint32_t n = 0;

	for (; n < max && hex[2 * n]; n++)
		if (!hex[2 * n + 1] || sscanf(hex + 2 * n, "%2hhx", &out[n]) != 1)
			return 0;
	return n;
}

/* The path of plan N of the recording where there is such a file. */
static char *plan_path(const struct pugmark_recording *rec, uint32_t n)
{
	char *path = NULL;

	if (asprintf(&path, "%s/plan-%u.pmp", rec->dir, n) < 0)
		return NULL;
	if (!access(path, R_OK))
		return path;
	free(path);
	return NULL;
}

static int read_modules(struct pugmark_recording *rec)
{
	const json_t *list = json_object_get(rec->meta, "modules");
	size_t n = json_is_array(list) ? json_array_size(list) : 0;

	if (n > MODULES_MAX)
		n = MODULES_MAX;
	if (!json_is_array(list))
		for (; n < MODULES_MAX; n++) {
			char *plan = plan_path(rec, n);
			free(plan);
			if (!plan)
				break;
		}
	rec->modules = calloc(n + 1, sizeof(*rec->modules));
	if (!rec->modules)
		return -ENOMEM;
	rec->n_modules = n;
	for (uint32_t i = 0; i < n; i++) {
		const json_t *from = json_array_get(list, i);
		struct pugmark_recording_module *to = &rec->modules[i];

		to->name = string(from, "name");
		to->path = string(from, "path");
		to->plan = plan_path(rec, i);
		to->text_addr = number(from, "text_addr");
		to->text_end = number(from, "text_end");
		to->n_sites = number(from, "sites");
		to->build_id_len =
			parse_hex(string(from, "build_id"), to->build_id, sizeof(to->build_id));
	}
	return 0;
}

static char *read_text(const char *path)
{
	struct private_file file;

	if (private_file_open(path, META_MAX_BYTES, &file))
		return NULL;
	char *text = malloc(file.len_bytes + 1);
	if (text && file.len_bytes)
		memcpy(text, file.bytes, file.len_bytes);
	if (text)
		text[file.len_bytes] = 0;
	private_file_free(&file);
	return text;
}

uint32_t recording_meta_sum(const json_t *meta)
{
	char *text = json_dumps(meta, JSON_COMPACT | JSON_PRESERVE_ORDER);
	uint32_t sum = text ? crc32(0, (const uint8_t *)text, strlen(text)) : 0;

	free(text);
	return sum;
}

/* Whether @meta has a checksum, which is taken out, and it is that of the rest. */
static bool sum_holds(json_t *meta)
{
	const json_t *said = json_object_get(meta, RECORDING_META_SUM);
	json_int_t sum = json_integer_value(said);

	if (!said)
		return false;
	json_object_del(meta, RECORDING_META_SUM);
	return sum == recording_meta_sum(meta);
}

/* What it says of the recording as a whole. */
static void read_info(struct pugmark_recording *rec)
{
	struct pugmark_recording_info *info = &rec->info;

	info->times |= json_is_true(json_object_get(rec->meta, "times"));
	info->bounded = json_object_get(rec->meta, "bounds_slack_ns") != NULL;
	info->slack_ns = number(rec->meta, "bounds_slack_ns");
	info->losses_follow = json_is_true(json_object_get(rec->meta, "losses_follow"));
	info->not_whole = json_is_false(json_object_get(rec->meta, "whole"));
	info->values = json_is_true(json_object_get(rec->meta, "values"));
	info->closed |= json_is_true(json_object_get(rec->meta, "closed"));
	info->start_monotonic_ns = number(rec->meta, "start_monotonic_ns");
	info->start_realtime_ns = number(rec->meta, "start_realtime_ns");
	info->events = number(rec->meta, "events");
	info->lost = number(rec->meta, "lost");
	info->exit_status = number(rec->meta, "exit_status");
	info->stopped = string(rec->meta, "stopped");
}

static void free_modules(struct pugmark_recording_module *modules, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free((char *)modules[i].plan);
	free(modules);
}

int recording_meta_again(struct pugmark_recording *rec)
{
	struct pugmark_recording_module *modules = rec->modules;
	uint32_t n = rec->n_modules;
	char *path;

	if (asprintf(&path, "%s/meta.json", rec->dir) < 0)
		return -ENOMEM;
	char *text = read_text(path);
	free(path);
	json_t *meta = text && (!rec->info.meta || strcmp(text, rec->info.meta) != 0)
			       ? json_loads(text, 0, NULL)
			       : NULL;
	if (!json_is_object(meta) || json_array_size(json_object_get(meta, "modules")) < n ||
	    !sum_holds(meta)) {
		json_decref(meta);
		free(text);
		return 0;
	}
	free((char *)rec->info.meta);
	json_decref(rec->meta);
	rec->info.meta = text;
	rec->meta = meta;
	read_info(rec);
	int err = read_modules(rec);
	if (err) /* what is listed is gone */
		rec->n_modules = 0;
	free_modules(modules, n);
	return err;
}

int recording_meta_read(struct pugmark_recording *rec, struct pugmark_diag *diag)
{
	struct pugmark_recording_info *info = &rec->info;
	json_error_t error = {.position = 0};
	char *path;

	if (asprintf(&path, "%s/meta.json", rec->dir) < 0)
		return -ENOMEM;
	char *text = read_text(path);
	info->meta = text;
	rec->meta = text ? json_loads(text, 0, &error) : NULL;
	if (!json_is_object(rec->meta)) {
		recording_add_note(rec, "meta.json: %s%s: modules are known by their plans alone",
				   text ? "damaged: " : "missing", text ? error.text : "");
		json_decref(rec->meta);
		rec->meta = json_object();
		info->closed = true; /* not known, and said above */
		info->times = true;
		info->meta_damaged = true;
	} else if (!sum_holds(rec->meta)) {
		recording_add_note(
			rec, "meta.json: changed or damaged: its checksum is missing or differs");
		info->meta_damaged = true;
	}
	uint64_t version = number(rec->meta, "version");
	if (version && !segment_version_known(version)) {
		pugmark_diag_set(diag, -ENOTSUP, path, PUGMARK_NO_OFFSET,
				 "a recording of version %llu, this program reads %d and %d",
				 (unsigned long long)version, SEGMENT_VERSION,
				 SEGMENT_VERSION_COLUMNS);
		free(path);
		return -ENOTSUP;
	}
	free(path);
	read_info(rec);
	return read_modules(rec);
}

static int add_maps(struct pugmark_recording *rec, const json_t *line)
{
	const json_t *list = json_object_get(line, "maps"), *row;
	size_t i;

	json_array_foreach(list, i, row)
	{
		if (rec->n_maps == rec->cap_maps) {
			uint32_t cap = rec->cap_maps ? 2 * rec->cap_maps : 64;
			struct pugmark_recording_map *maps =
				realloc(rec->maps, cap * sizeof(*maps));

			if (!maps)
				return -ENOMEM;
			rec->maps = maps;
			rec->cap_maps = cap;
		}
		const char *path = json_string_value(json_array_get(row, 3));
		if (!recording_may_grow(rec, sizeof(*rec->maps) + (path ? strlen(path) : 0)))
			return recording_no_room(rec);
		char *copy = strdup(path ? path : "");
		if (!copy)
			return -ENOMEM;
		rec->maps[rec->n_maps++] = (struct pugmark_recording_map){
			.pid = number(line, "pid"),
			.time_ns = number(line, "t"),
			.start = json_integer_value(json_array_get(row, 0)),
			.end = json_integer_value(json_array_get(row, 1)),
			.off_file = json_integer_value(json_array_get(row, 2)),
			.path = copy,
		};
	}
	return 0;
}

static int add_code(struct pugmark_recording *rec, const json_t *line)
{
	const json_t *list = json_object_get(line, "code"), *row;
	size_t i;
	int err = 0;

	json_array_foreach(list, i, row)
	{
		const char *name = json_string_value(json_array_get(row, 2));

		if (!err && name)
			err = recording_code_add(rec, number(line, "pid"), number(line, "since"),
						 number(line, "t"),
						 json_integer_value(json_array_get(row, 0)),
						 json_integer_value(json_array_get(row, 1)), name);
	}
	if (!err && json_is_true(json_object_get(line, "left_out")))
		err = recording_code_left_out(rec, number(line, "pid"), number(line, "since"));
	return err;
}

static int add_death(struct pugmark_recording *rec, const json_t *line)
{
	const json_t *hits = json_object_get(line, "hits"), *row;
	const json_t *module = json_object_get(line, "module");
	size_t i;

	if (!recording_may_grow(rec, sizeof(*rec->deaths)))
		return recording_no_room(rec);
	if (rec->n_deaths == rec->cap_deaths) {
		uint32_t cap = rec->cap_deaths ? 2 * rec->cap_deaths : 8;
		struct pugmark_recording_death *deaths =
			realloc(rec->deaths, cap * sizeof(*deaths));

		if (!deaths)
			return -ENOMEM;
		rec->deaths = deaths;
		rec->cap_deaths = cap;
	}
	struct pugmark_recording_death *d = &rec->deaths[rec->n_deaths++];
	*d = (struct pugmark_recording_death){
		.task = number(line, "task"),
		.tid = number(line, "tid"),
		.pid = number(line, "pid"),
		.code = number(line, "code"),
		.signal = number(line, "signal"),
		.si_code = number(line, "si_code"),
		.si_addr = number(line, "si_addr"),
		.ip = number(line, "ip"),
		.module = json_is_integer(module) ? number(line, "module") : UINT32_MAX,
		.addr = number(line, "addr"),
		.at_ns = number(line, "at"),
		.time_ns = number(line, "t"),
	};
	snprintf(d->comm, sizeof(d->comm), "%s", string(line, "comm"));
	json_array_foreach(hits, i, row)
	{
		if (d->n_hits == PUGMARK_DEATH_HITS)
			break;
		d->hits[d->n_hits++] = (struct pugmark_recording_hit){
			.module = json_integer_value(json_array_get(row, 0)),
			.site = json_integer_value(json_array_get(row, 1)),
			.time_ns = json_integer_value(json_array_get(row, 2)),
		};
	}
	return 0;
}

static int add_note(struct pugmark_recording *rec, const char *text)
{
	if (rec->n_notes < RECORDING_MAX_NOTES && !recording_may_grow(rec, strlen(text)))
		return recording_no_room(rec);
	recording_add_note(rec, "recorder: %s", text);
	return 0;
}

static int take_line(struct pugmark_recording *rec, const json_t *line)
{
	const char *ev = string(line, "ev");
	uint64_t task_number = number(line, "task");

	if (!strcmp(ev, "maps"))
		return add_maps(rec, line);
	if (!strcmp(ev, "code"))
		return add_code(rec, line);
	if (!strcmp(ev, "note"))
		return add_note(rec, string(line, "text"));
	if (!task_number || task_number > UINT32_MAX)
		return 0;
	struct pugmark_recording_task *task = recording_task_get(rec, task_number);
	if (!task)
		return recording_no_room(rec);
	task->tid = number(line, "tid");
	task->pid = number(line, "pid");
	snprintf(task->comm, sizeof(task->comm), "%s", string(line, "comm"));
	if (!strcmp(ev, "died"))
		return add_death(rec, line);
	if (!strcmp(ev, "task")) {
		task->parent = number(line, "parent");
		task->attached = json_is_true(json_object_get(line, "attached"));
	} else if (!strcmp(ev, "exit")) {
		task->exited = true;
		task->exit_code = number(line, "code");
	} else if (!strcmp(ev, "exec")) {
		return recording_code_exec(rec, task->pid, number(line, "t"));
	}
	return 0;
}

int recording_process_lines(struct pugmark_recording *rec, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		const char *stop = memchr(text, '\n', end - text);
		size_t n = stop ? stop - text : end - text;
		json_t *line =
			n <= recording_longest_line(rec) ? json_loadb(text, n, 0, NULL) : NULL;
		int err = 0;

		if (json_is_object(line))
			err = take_line(rec, line);
		else
			recording_add_note(rec, "events: a process record that is not JSON");
		json_decref(line);
		if (err)
			return err;
		text += n + 1;
	}
	return 0;
}
