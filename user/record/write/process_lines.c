// SPDX-License-Identifier: LGPL-2.1-or-later
/* process_lines.c: what happened to processes, as the lines of JSON that a recording keeps of it
 * (docs/recording-format.md). */
#include "user/record/write/process_lines.h"

#include "user/file/maps_lines.h"
#include "user/file/perf_map.h"
#include "user/record/write/recording_meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int process_lines_json(struct process_lines *l, uint64_t time_ns, json_t *line)
{
	char *text = line ? json_dumps(line, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;

	json_decref(line);
	if (!text)
		return -ENOMEM;
	bytes_put(&l->text, text, strlen(text));
	bytes_put(&l->text, "\n", 1);
	free(text);
	if (!l->n++)
		l->first_ns = time_ns;
	l->last_ns = time_ns;
	return l->text.failed ? -ENOMEM : 0;
}

int process_lines_add(struct process_lines *l, const struct process_record *r)
{
	json_t *j = json_object();
	char comm[sizeof(r->comm) + 1] = "", file[sizeof(r->file) + 1] = "";

	memcpy(comm, r->comm, sizeof(r->comm));
	memcpy(file, r->file, sizeof(r->file));
	json_object_set_new(j, "ev",
			    json_string(r->kind == PROCESS_TASK	  ? "task"
					: r->kind == PROCESS_EXEC ? "exec"
					: r->kind == PROCESS_EXIT ? "exit"
								  : "stop"));
	json_object_set_new(j, "t", json_integer(r->time_ns));
	json_object_set_new(j, "task", json_integer(r->task));
	json_object_set_new(j, "tid", json_integer(r->tid));
	json_object_set_new(j, "pid", json_integer(r->pid));
	json_object_set_new(j, "comm", recording_json_text(comm));
	switch (r->kind) {
	case PROCESS_TASK:
		json_object_set_new(j, "start", json_integer(r->start_ns));
		if (r->parent)
			json_object_set_new(j, "parent", json_integer(r->parent));
		if (r->attached)
			json_object_set_new(j, "attached", json_true());
		break;
	case PROCESS_EXEC:
		json_object_set_new(j, "file", recording_json_text(file));
		break;
	case PROCESS_EXIT:
		json_object_set_new(j, "code", json_integer(r->exit_code));
		json_object_set_new(j, "last", json_boolean(r->last));
		break;
	}
	return process_lines_json(l, r->time_ns, j);
}

int process_lines_maps(struct process_lines *l, const struct chunk_text *text, uint32_t bytes)
{
	char *copy = strndup(text->text, bytes - sizeof(*text)), *next;
	json_t *maps = json_array(), *j = json_object();

	for (char *at = copy; at && *at; at = next) {
		struct maps_line line;

		next = at + strcspn(at, "\n");
		next += *next == '\n';
		if (!maps_line_parse(at, &line))
			continue;
		json_t *row = json_array();
		json_array_append_new(row, json_integer(line.start));
		json_array_append_new(row, json_integer(line.end));
		json_array_append_new(row, json_integer(line.off));
		json_array_append_new(row, recording_json_text(line.name));
		json_array_append_new(maps, row);
	}
	free(copy);
	json_object_set_new(j, "ev", json_string("maps"));
	json_object_set_new(j, "t", json_integer(text->time_ns));
	json_object_set_new(j, "pid", json_integer(text->pid));
	json_object_set_new(j, "maps", maps);
	return process_lines_json(l, text->time_ns, j);
}

int process_lines_code(struct process_lines *l, const struct chunk_code *code, uint32_t bytes)
{
	const char *at = code->text, *end = code->text + (bytes - sizeof(*code));
	json_t *list = json_array(), *j = json_object();
	struct perf_map map = {0};
	struct perf_map_line line;
	bool is;

	for (size_t used; (used = perf_map_next(&map, at, end - at, &line, &is)); at += used) {
		char name[PERF_MAP_NAME_MAX + 1];

		if (!is)
			continue;
		memcpy(name, line.name, line.name_len);
		name[line.name_len] = 0;
		json_t *row = json_array();
		json_array_append_new(row, json_integer(line.start));
		json_array_append_new(row, json_integer(line.size));
		json_array_append_new(row, recording_json_text(name));
		json_array_append_new(list, row);
	}
	json_object_set_new(j, "ev", json_string("code"));
	json_object_set_new(j, "t", json_integer(code->time_ns));
	json_object_set_new(j, "since", json_integer(code->since_ns));
	json_object_set_new(j, "pid", json_integer(code->pid));
	json_object_set_new(j, "code", list);
	if (bytes == sizeof(*code))
		json_object_set_new(j, "left_out", json_true());
	return process_lines_json(l, code->time_ns, j);
}

int process_lines_note(struct process_lines *l, const struct chunk_text *text, uint32_t bytes)
{
	char *copy = strndup(text->text, bytes - sizeof(*text));
	json_t *j = json_object();

	json_object_set_new(j, "ev", json_string("note"));
	json_object_set_new(j, "t", json_integer(text->time_ns));
	json_object_set_new(j, "text", recording_json_text(copy ? copy : ""));
	free(copy);
	return process_lines_json(l, text->time_ns, j);
}

void process_lines_deinit(struct process_lines *l)
{
	bytes_deinit(&l->text);
}
