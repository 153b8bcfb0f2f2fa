/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* recording_meta.h: the directory of a recording and its meta.json. */
#ifndef USER_RECORDING_META_H
#define USER_RECORDING_META_H

#include "user/file/text_span.h"
#include "user/record/recorder.h"

#include <jansson.h>

/* Makes a directory beside the one that is asked for, NAME.pugmark-new, and copies the plans into
 * it. @out: its name, which the caller frees. */
int recording_directory_make(const struct recorder_options *options, char **out,
			     struct pugmark_diag *diag);
/* Gives it, once it is a whole recording, its name (what is there becomes NAME.old): whenever the
 * recorder is killed, what has that name can be read. */
int recording_directory_place(const char *made, const char *dir, struct pugmark_diag *diag);
/* Removes a recording, whole or half made: of other files the directory stays. */
void recording_directory_remove(const char *dir);
/* What meta.json says at the start. A reference that the caller gives back; NULL: no memory. */
json_t *recording_meta_start(const struct recorder_options *options, const struct text_span *spans);
/* Writes meta.json whole, by rename. */
int recording_meta_write(const char *dir, json_t *meta, struct pugmark_diag *diag);

/* A JSON string; bytes that are not UTF-8 become question marks. */
json_t *recording_json_text(const char *text);

/* Adds the modules of @options to the recording in @dir that has @first: copies their plans, and
 * lists them in @meta. Returns 0, or -errno with @diag filled. */
int recording_modules_add(const struct recorder_options *options, const char *dir, uint32_t first,
			  const struct text_span *spans, json_t *meta, struct pugmark_diag *diag);

#endif
