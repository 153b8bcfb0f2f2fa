/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* recording_meta.h: the meta.json of a recording, and its plans. */
#ifndef USER_RECORDING_META_H
#define USER_RECORDING_META_H

#include "user/file/text_span.h"
#include "user/kernel/record_options.h"
#include "user/record/write/recording_folder.h"

#include <jansson.h>

/* Writes the plans of @options as those from number @first on. Returns 0, or -errno with @diag
 * filled. */
int recording_plans_write(const struct recorder_options *options,
			  const struct recording_folder *folder, uint32_t first,
			  struct pugmark_diag *diag);
/* Whether events are written in columns: those of a part that is to be merged. */
bool recording_in_columns(const struct recorder_options *options);
/* What meta.json says at the start. A reference that the caller gives back; NULL: no memory. */
json_t *recording_meta_start(const struct recorder_options *options, const struct text_span *spans);
/* Writes meta.json whole, by rename. Returns 0 or -errno. */
int recording_meta_write(const struct recording_folder *folder, json_t *meta);

/* A JSON string; bytes that are not UTF-8 become question marks. */
json_t *recording_json_text(const char *text);

/* Adds the modules of @options to the recording that has @first: copies their plans, and lists them
 * in @meta. Returns 0, or -errno with @diag filled. */
int recording_modules_add(const struct recorder_options *options,
			  const struct recording_folder *folder, uint32_t first,
			  const struct text_span *spans, json_t *meta, struct pugmark_diag *diag);

#endif
