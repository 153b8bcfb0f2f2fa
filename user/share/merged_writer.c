// SPDX-License-Identifier: LGPL-2.1-or-later
/* merged_writer.c: see merged_writer.h. One encoder, for one task at a time: memory does not grow
 * with the trace. */
#include "user/share/merged_writer.h"

#include "offline/base/open_regular.h"
#include "offline/base/codec.h"
#include "offline/log/segment.h"
#include "user/record/write/recording_meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { SEGMENT_EVENTS_MAX = 1 << 18 };

/* As record has it by default. Times of several runs beside each other have no more digits that
 * mean anything, and each would be kept. */
enum { TIME_UNIT_NS = 200 };

struct merged_writer {
	const char *dir; /* what it is to be; borrowed */
	struct recording_folder folder;
	FILE *file;
	json_t *meta;
	struct codec *codec;
	struct segment_encoder *enc;
	uint8_t *stored;
	size_t cap_stored;
	uint64_t bases[SEGMENT_MAX_MODULES];
	uint64_t known;
	uint32_t task, n_segments;
	uint64_t task_events, events;
};

static int failed(struct merged_writer *w, int err, struct pugmark_diag *diag)
{
	return pugmark_diag_set(diag, err, w->dir, PUGMARK_NO_OFFSET, "cannot write: %s",
				strerror(-err));
}

static char *path_in(const char *dir, const char *name)
{
	char *path;
	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static int write_segment(struct merged_writer *w, struct segment_header *h, const uint8_t *payload)
{
	uint8_t bytes[SEGMENT_HEADER_BYTES];
	size_t bound = codec_bound(h->raw_bytes);
	if (bound > w->cap_stored) {
		uint8_t *more = realloc(w->stored, bound);
		if (!more)
			return -ENOMEM;
		w->stored = more;
		w->cap_stored = bound;
	}
	h->stored_bytes = codec_compress(w->codec, payload, h->raw_bytes, w->stored, &h->codec);
	h->crc = crc32(0, w->stored, h->stored_bytes);
	h->number = w->n_segments++;
	segment_header_write(h, bytes);
	errno = 0;
	if (fwrite(bytes, sizeof(bytes), 1, w->file) != 1 ||
	    fwrite(w->stored, 1, h->stored_bytes, w->file) != h->stored_bytes)
		return errno ? -errno : -EIO;
	return 0;
}

static int flush(struct merged_writer *w)
{
	struct segment_header h = {
		.kind = SEGMENT_EVENTS,
		.task = w->task,
		.first_event = w->task_events,
	};
	if (!segment_encoder_count(w->enc))
		return 0;
	const uint8_t *payload = segment_encoder_finish(w->enc, &h);
	if (!payload)
		return -ENOMEM;
	int err = write_segment(w, &h, payload);
	w->task_events += h.n;
	segment_encoder_reset(w->enc, w->bases, w->known);
	return err;
}

int merged_writer_task(struct merged_writer *w, uint32_t task)
{
	int err = flush(w);
	w->task = task;
	w->task_events = 0;
	w->known = 0;
	segment_encoder_reset(w->enc, w->bases, w->known);
	return err;
}

/* Where the module is holds for a whole segment. */
static int follow_base(struct merged_writer *w, const struct pugmark_witness_event *e)
{
	uint64_t bit = 1ull << e->module;
	if (e->kind != PUGMARK_EVENT_WITNESS || (w->known & bit && w->bases[e->module] == e->bias))
		return 0;
	int err = flush(w);
	w->bases[e->module] = e->bias;
	w->known |= bit;
	segment_encoder_reset(w->enc, w->bases, w->known);
	return err;
}

int merged_writer_add(struct merged_writer *w, const struct pugmark_witness_event *e)
{
	int err = e->module < SEGMENT_MAX_MODULES ? follow_base(w, e) : -EINVAL;
	if (!err && segment_encoder_count(w->enc) >= SEGMENT_EVENTS_MAX)
		err = flush(w);
	if (!err)
		err = segment_encoder_add(w->enc, e);
	if (err == -ENOSPC) {
		err = flush(w);
		if (!err)
			err = segment_encoder_add(w->enc, e);
	}
	w->events += !err && e->kind == PUGMARK_EVENT_WITNESS;
	return err;
}

int merged_writer_note(struct merged_writer *w, const char *text)
{
	json_t *j = json_pack("{s:s, s:i, s:o}", "ev", "note", "t", 0, "text",
			      recording_json_text(text));
	char *line = j ? json_dumps(j, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
	char *whole = NULL;
	json_decref(j);
	int len = line ? asprintf(&whole, "%s\n", line) : -1;
	free(line);
	if (len < 0)
		return -ENOMEM;
	struct segment_header h = {.kind = SEGMENT_PROCESS, .n = 1, .raw_bytes = len};
	int err = write_segment(w, &h, (const uint8_t *)whole);
	free(whole);
	return err;
}

/* The segments of the first part that tell of processes, as they are. */
static int copy_processes(struct merged_writer *w, const char *first_dir)
{
	uint8_t bytes[SEGMENT_HEADER_BYTES];
	char *path = path_in(first_dir, "events");
	int fd = path ? open_regular(path, NULL) : -ENOMEM;
	FILE *from = fd < 0 ? NULL : fdopen(fd, "r");
	int err = fd < 0 ? fd : from ? 0 : -errno;
	if (fd >= 0 && !from)
		close(fd);
	free(path);
	while (!err && fread(bytes, sizeof(bytes), 1, from) == 1) {
		struct segment_header h;
		if (segment_header_read(bytes, &h))
			break;
		if (h.kind != SEGMENT_PROCESS) {
			if (fseeko(from, h.stored_bytes, SEEK_CUR))
				break;
			continue;
		}
		uint8_t *payload = malloc(h.stored_bytes + 1);
		if (!payload || fread(payload, 1, h.stored_bytes, from) != h.stored_bytes) {
			err = payload ? 0 : -ENOMEM;
			free(payload);
			break;
		}
		h.number = w->n_segments++;
		segment_header_write(&h, bytes);
		if (fwrite(bytes, sizeof(bytes), 1, w->file) != 1 ||
		    fwrite(payload, 1, h.stored_bytes, w->file) != h.stored_bytes)
			err = -EIO;
		free(payload);
	}
	if (from)
		fclose(from);
	return err;
}

static int make_files(struct merged_writer *w, const struct pugmark_plan *plan,
		      struct pugmark_diag *diag)
{
	const struct recorder_module module = {.plan = plan};
	struct recorder_options options = {.modules = &module, .n_modules = 1, .output = w->dir};
	int err = recording_plans_write(&options, &w->folder, 0, diag);
	if (err)
		return err;
	int fd = recording_folder_create(&w->folder, "events");
	if (fd < 0)
		return failed(w, fd, diag);
	w->file = fdopen(fd, "w");
	if (w->file)
		return 0;
	err = -errno;
	close(fd);
	return failed(w, err, diag);
}

static void writer_free(struct merged_writer *w)
{
	if (w->file)
		fclose(w->file);
	segment_encoder_free(w->enc);
	codec_free(w->codec);
	json_decref(w->meta);
	free(w->stored);
	recording_folder_close(&w->folder);
	free(w);
}

int merged_writer_open(const char *dir, const struct pugmark_plan *plan,
		       const struct pugmark_recording *first, const char *first_dir,
		       struct merged_writer **out, struct pugmark_diag *diag)
{
	struct merged_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return pugmark_diag_set(diag, -ENOMEM, dir, PUGMARK_NO_OFFSET, "out of memory");
	w->dir = dir;
	w->folder = RECORDING_FOLDER_NONE;
	int err = recording_folder_make(dir, &w->folder, diag);
	if (err) {
		writer_free(w);
		return err;
	}
	err = make_files(w, plan, diag);
	if (err) {
		merged_writer_close(w, 0, true, NULL);
		return err;
	}
	w->meta = json_loads(pugmark_recording_info(first)->meta, 0, NULL);
	w->codec = codec_new();
	w->enc = segment_encoder_new(pugmark_recording_info(first)->times ? TIME_UNIT_NS : 0);
	err = w->meta && w->codec && w->enc ? 0 : -ENOMEM;
	if (!err)
		segment_encoder_columns(w->enc);
	if (!err)
		segment_encoder_reset(w->enc, w->bases, 0);
	if (!err)
		err = copy_processes(w, first_dir);
	if (err) {
		failed(w, err, diag);
		merged_writer_close(w, 0, true, NULL);
		return err;
	}
	*out = w;
	return 0;
}

uint64_t merged_writer_events(const struct merged_writer *w)
{
	return w->events;
}

void merged_writer_alone(struct merged_writer *w, uint64_t decisions)
{
	json_object_set_new(w->meta, "merged_alone", json_integer(decisions));
}

int merged_writer_close(struct merged_writer *w, uint32_t n_parts, bool abandon,
			struct pugmark_diag *diag)
{
	int err = abandon ? 0 : flush(w);
	errno = 0;
	if (w->file && (fflush(w->file) || (!abandon && fsync(fileno(w->file)))) && !err)
		err = errno ? -errno : -EIO;
	if (!err && !abandon) {
		json_object_set_new(w->meta, "version", json_integer(SEGMENT_VERSION_COLUMNS));
		json_object_set_new(w->meta, "merged", json_integer(n_parts));
		json_object_set_new(w->meta, "closed", json_true());
		json_object_set_new(w->meta, "events", json_integer(w->events));
		json_object_set_new(w->meta, "segments", json_integer(w->n_segments));
		err = recording_meta_write(&w->folder, w->meta);
	}
	if (err)
		failed(w, err, diag);
	if (!err && !abandon)
		err = recording_folder_place(&w->folder, diag);
	if (err || abandon)
		recording_folder_discard(&w->folder);
	writer_free(w);
	return err;
}
