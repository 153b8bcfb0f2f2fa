// SPDX-License-Identifier: LGPL-2.1-or-later
/* recording_writer.c: sorts a chunk by task, and appends what becomes of it (unpack.h,
 * process_lines.h) to the file as segments, each with one write. */
#include "user/record/write/recording_writer.h"

#include "offline/base/codec.h"
#include "offline/base/write_all.h"
#include "offline/log/segment.h"
#include "user/cli/command.h"
#include "user/patch/lanes.h"
#include "user/record/write/deaths.h"
#include "user/record/write/process_lines.h"
#include "user/record/write/recording_meta.h"
#include "user/record/write/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { RESERVE_BYTES = 128 << 10 };

struct recording_writer {
	const struct recorder_options *options;
	json_t *meta;
	struct recording_folder folder;
	int fd;
	int err; /* once set, nothing more is written */
	uint64_t off_file;
	uint32_t n_segments;
	struct lanes *lanes; /* NULL: no instructions are patched */
	struct codec *codec;
	struct bytes stored; /* a segment as it goes to the file */

	struct entry_ref *refs;
	uint32_t cap_refs;
	struct unpacker *unpacker;
	struct process_lines lines;
	struct deaths *deaths;
	struct recording_totals totals;
};

/* An entry of a chunk that is about a task. */
struct entry_ref {
	uint32_t task;
	uint32_t off;
};

static int open_files(struct recording_writer *w, struct pugmark_diag *diag)
{
	w->fd = recording_folder_create(&w->folder, "events");
	if (w->fd < 0)
		return pugmark_diag_set(diag, w->fd, w->options->output, PUGMARK_NO_OFFSET,
					"cannot make its file `events`: %s", strerror(-w->fd));
	/* Locked, so that another recorder does not move it away. Some file systems have no
	 * locks. */
	flock(w->fd, LOCK_EX | LOCK_NB);
	/* Reserves room for the last meta.json, should the disk be full by then. */
	int fd = recording_folder_create(&w->folder, "reserve");
	if (fd >= 0) {
		int err = posix_fallocate(fd, 0, RESERVE_BYTES);
		close(fd);
		if (err)
			return pugmark_diag_set(diag, -err, w->options->output, PUGMARK_NO_OFFSET,
						"%s",
						err == ENOSPC ? "the disk is full" : strerror(err));
	}
	return 0;
}

void recording_writer_abandon(struct recording_writer *w)
{
	if (!w)
		return;
	unpacker_free(w->unpacker);
	process_lines_deinit(&w->lines);
	deaths_free(w->deaths);
	free(w->refs);
	codec_free(w->codec);
	bytes_deinit(&w->stored);
	json_decref(w->meta);
	if (w->fd >= 0)
		close(w->fd);
	recording_folder_close(&w->folder);
	free(w);
}

/* Writes meta.json anew. Errors are told by the name that the user knows. */
static int write_meta(struct recording_writer *w, struct pugmark_diag *diag)
{
	int err = recording_meta_write(&w->folder, w->meta);

	return err ? pugmark_diag_set(diag, err, w->options->output, PUGMARK_NO_OFFSET,
				      "cannot write its meta.json: %s", strerror(-err))
		   : 0;
}

int recording_writer_change(struct recording_writer *w, const struct recorder_options *options,
			    const struct text_span *spans, struct pugmark_diag *diag)
{
	uint32_t first;
	int err = unpacker_change(w->unpacker, options, spans, &first);

	if (err)
		return pugmark_diag_set(
			diag, err, options->output, PUGMARK_NO_OFFSET,
			"what is traced was changed too often: there is no room for "
			"another plan");
	err = recording_modules_add(options, &w->folder, first, spans, w->meta, diag);
	return err ? err : write_meta(w, diag);
}

void recording_writer_lanes(struct recording_writer *w, struct lanes *lanes)
{
	unpacker_lanes(w->unpacker, lanes);
	w->lanes = lanes;
}

void recording_writer_began(struct recording_writer *w, uint64_t time_ns)
{
	unpacker_began(w->unpacker, time_ns);
}

void recording_writer_ended(struct recording_writer *w, uint64_t time_ns)
{
	unpacker_ended(w->unpacker, time_ns);
}

/* Appends one segment. If it does not fit, what was written of it is cut off again. */
static int write_segment(void *ctx, struct segment_header *header, const uint8_t *payload)
{
	struct recording_writer *w = ctx;
	struct bytes *b = &w->stored;

	b->len = 0;
	if (w->err)
		return w->err;
	if (!bytes_reserve(b, SEGMENT_HEADER_BYTES + codec_bound(header->raw_bytes)))
		return w->err = -ENOMEM;
	header->stored_bytes = codec_compress(w->codec, payload, header->raw_bytes,
					      b->data + SEGMENT_HEADER_BYTES, &header->codec);
	header->crc = crc32(0, b->data + SEGMENT_HEADER_BYTES, header->stored_bytes);
	header->number = w->n_segments;
	segment_header_write(header, b->data);

	size_t len = SEGMENT_HEADER_BYTES + header->stored_bytes;
	w->err = pwrite_all(w->fd, b->data, len, w->off_file);
	if (w->err) {
		if (ftruncate(w->fd, w->off_file))
			return w->err; /* the reader sees a segment cut short */
		return w->err;
	}
	w->off_file += len;
	w->n_segments++;
	atomic_store(&w->totals.bytes, w->off_file);
	atomic_store(&w->totals.segments, w->n_segments);
	return 0;
}

static int take_death(void *ctx, const struct death *death, const struct generations *all)
{
	struct recording_writer *w = ctx;

	return deaths_add(w->deaths, death, all, &w->lines);
}

char *recording_writer_deaths(struct recording_writer *w, bool all)
{
	return deaths_words(w->deaths, all);
}

int recording_writer_open(const struct recorder_options *options, const struct text_span *spans,
			  struct recording_writer **out, struct pugmark_diag *diag)
{
	struct recording_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->options = options;
	w->fd = -1;
	w->folder = RECORDING_FOLDER_NONE;
	w->codec = codec_new();
	w->meta = recording_meta_start(options, spans);
	w->deaths = deaths_new();
	int err = w->codec && w->meta && w->deaths
			  ? unpacker_new(options, &w->totals, write_segment, w, &w->unpacker)
			  : -ENOMEM;
	uint32_t first;
	if (!err)
		unpacker_deaths(w->unpacker, take_death);
	if (!err)
		err = unpacker_change(w->unpacker, options, spans, &first);
	if (!err)
		err = recording_folder_make(options->output, &w->folder, diag);
	if (!err)
		err = recording_plans_write(options, &w->folder, 0, diag);
	if (!err)
		err = open_files(w, diag);
	if (!err)
		err = write_meta(w, diag);
	if (!err)
		err = recording_folder_place(&w->folder, diag);
	if (!err && !options->quiet && strstr(w->folder.moved, ".old."))
		command_say(stderr, "pugmark: note: the last recording of that name is ",
			    w->folder.moved, " now\n");
	if (err) {
		recording_folder_discard(&w->folder);
		recording_writer_abandon(w);
	} else {
		*out = w;
	}
	return err;
}

int recording_writer_create(const struct recording_writer *w, const char *name)
{
	return recording_folder_create(&w->folder, name);
}

struct recording_totals *recording_writer_totals(struct recording_writer *w)
{
	return &w->totals;
}

static void finish_lines(struct recording_writer *w)
{
	struct process_lines *l = &w->lines;
	struct segment_header header = {
		.kind = SEGMENT_PROCESS,
		.n = l->n,
		.raw_bytes = l->text.len,
		.first_ns = l->first_ns,
		.last_ns = l->last_ns,
	};

	if (l->n)
		write_segment(w, &header, l->text.data);
	l->text.len = l->n = 0;
}

/* All that the chunk says of one task, in order. */
static int write_task(struct recording_writer *w, const uint8_t *chunk,
		      const struct entry_ref *refs, uint32_t n, bool keep)
{
	int err = unpacker_begin(w->unpacker, refs->task);

	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++) {
		const struct chunk_entry *entry = (const void *)(chunk + refs[i].off);

		unpacker_add(w->unpacker, entry + 1, entry->bytes);
	}
	return unpacker_end(w->unpacker, keep);
}

/* Lists the entries that are about tasks and writes the lines of the others. */
static int index_chunk(struct recording_writer *w, const uint8_t *chunk, size_t len,
		       uint32_t *n_refs)
{
	uint32_t n = 0;
	int err = 0;

	for (size_t off = 0; off + sizeof(struct chunk_entry) < len;) {
		const struct chunk_entry *entry = (const void *)(chunk + off);
		const void *data = entry + 1;
		uint32_t kind = *(const uint32_t *)data;

		if (n == w->cap_refs) {
			uint32_t cap = n ? 2 * n : 4096;
			struct entry_ref *refs = realloc(w->refs, cap * sizeof(*refs));

			if (!refs)
				return -ENOMEM;
			w->refs = refs;
			w->cap_refs = cap;
		}
		/* In every kind that is about a task, its number is the second word. */
		if (kind < CHUNK_MAPS)
			w->refs[n++] =
				(struct entry_ref){((const uint32_t *)data)[1], (uint32_t)off};
		if (kind == CHUNK_MAPS)
			err = process_lines_maps(&w->lines, data, entry->bytes);
		else if (kind == CHUNK_CODE)
			err = process_lines_code(&w->lines, data, entry->bytes);
		else if (kind == CHUNK_NOTE)
			err = process_lines_note(&w->lines, data, entry->bytes);
		else if (kind >= PROCESS_TASK)
			err = process_lines_add(&w->lines, data);
		if (err)
			return err;
		if (w->lines.text.len > 1 << 20)
			finish_lines(w);
		off += sizeof(*entry) + (entry->bytes + 7) / 8 * 8;
	}
	*n_refs = n;
	return 0;
}

static int by_task(const void *a, const void *b)
{
	const struct entry_ref *x = a, *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

static void fail(struct recording_writer *w, int err)
{
	if (err && !w->err)
		w->err = err;
}

int recording_writer_chunk(struct recording_writer *w, const uint8_t *chunk, size_t len, bool more)
{
	bool kept = false;
	uint32_t n = 0;

	fail(w, index_chunk(w, chunk, len, &n));
	finish_lines(w);
	qsort(w->refs, n, sizeof(*w->refs), by_task);
	for (uint32_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && w->refs[k].task == w->refs[i].task;)
			k++;
		bool keep = more && k - i > n / 2; /* so that of no other there is as much */
		if (w->refs[i].task)
			fail(w, write_task(w, chunk, w->refs + i, k - i, keep));
		kept |= keep;
	}
	if (!kept)
		fail(w, unpacker_settle(w->unpacker));
	finish_lines(w); /* of those that died, which their events have told */
	return w->err;
}

void recording_writer_since(struct recording_writer *w, uint64_t since_ns)
{
	unpacker_since(w->unpacker, since_ns);
}

int recording_writer_settle(struct recording_writer *w)
{
	fail(w, unpacker_settle(w->unpacker));
	return w->err;
}

void recording_writer_give_back(struct recording_writer *w)
{
	unpacker_give_back(w->unpacker);
}

bool recording_writer_keeps(const struct recording_writer *w)
{
	return unpacker_keeps(w->unpacker);
}

/* Where times are bounds: by how much they may be wrong. Where no process was patched each is that
 * of its event. */
static void note_slack(struct recording_writer *w)
{
	uint32_t unit_ns = w->options->time_unit_ns;

	if (!w->lanes || !unit_ns)
		return;
	if (lanes_totals(w->lanes).lanes)
		json_object_set_new(w->meta, "bounds_slack_ns",
				    json_integer(lanes_slack_ns(w->lanes) + (unit_ns + 1) / 2));
	else
		json_object_del(w->meta, "bounds_slack_ns");
}

int recording_writer_close(struct recording_writer *w, const struct recorder_result *result,
			   struct pugmark_diag *diag)
{
	static const char *const why[] = {
		[STOP_EXIT] = "exit",	      [STOP_SIGNAL] = "signal",
		[STOP_DURATION] = "duration", [STOP_DISK] = "disk",
		[STOP_OVERHEAD] = "overhead", [STOP_CHANGED] = "changed",
		[STOP_REFUSED] = "refused",   [STOP_MEMORY] = "memory",
	};

	unlinkat(w->folder.fd, "reserve", 0);
	if (!w->err && fsync(w->fd))
		w->err = -errno;
	json_object_set_new(w->meta, "closed", json_true());
	if (result->not_whole)
		json_object_set_new(w->meta, "whole", json_false());
	json_object_set_new(w->meta, "stopped", json_string(why[result->why]));
	if (w->options->argv)
		json_object_set_new(w->meta, "exit_status", json_integer(result->exit_status));
	json_object_set_new(w->meta, "probed_from_ns", json_integer(result->probed_from_ns));
	json_object_set_new(w->meta, "probed_to_ns", json_integer(result->probed_to_ns));
	note_slack(w);
	if (w->lanes && lanes_totals(w->lanes).lanes)
		json_object_set_new(w->meta, "losses_follow", json_true());
	json_object_set_new(w->meta, "events", json_integer(w->totals.events));
	json_object_set_new(w->meta, "lost", json_integer(w->totals.lost));
	json_object_set_new(w->meta, "tasks", json_integer(w->totals.tasks));
	json_object_set_new(w->meta, "segments", json_integer(w->n_segments));
	int err = write_meta(w, diag);
	recording_writer_abandon(w);
	return err;
}
