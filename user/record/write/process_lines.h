/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* process_lines.h: what happened to processes, as the lines of a recording's process segment. */
#ifndef USER_PROCESS_LINES_H
#define USER_PROCESS_LINES_H

#include "offline/base/varint.h"
#include "user/record/write/recording_writer.h"

#include <jansson.h>

/* Zeroed to begin with; whoever has written the lines sets text.len and n to 0. */
struct process_lines {
	struct bytes text;
	uint32_t n;
	uint64_t first_ns, last_ns; /* of the lines */
};

void process_lines_deinit(struct process_lines *lines);
/* Each adds one line and returns 0 or -ENOMEM. */
int process_lines_add(struct process_lines *lines, const struct process_record *r);
/* @bytes: of @text and what follows it in the chunk. */
int process_lines_maps(struct process_lines *lines, const struct chunk_text *text, uint32_t bytes);
/* The same of names of code that process made at run time. */
int process_lines_code(struct process_lines *lines, const struct chunk_code *code, uint32_t bytes);
/* Takes @line over. */
int process_lines_json(struct process_lines *lines, uint64_t time_ns, json_t *line);
int process_lines_note(struct process_lines *lines, const struct chunk_text *text, uint32_t bytes);

#endif
