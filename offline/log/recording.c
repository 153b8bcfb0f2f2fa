// SPDX-License-Identifier: LGPL-2.1-or-later
/* recording.c: opens a recording: finds its segments, reads what they say of processes, and hands
 * out iterators over a task's events. recording_meta_read.c reads the JSON, recording_growing.c
 * goes on where a recording that is being made had ended. Nothing in the directory is trusted; the
 * file of events may be growing or shrinking while it is read. */
#include "offline/log/recording_impl.h"

#include "offline/base/checksum.h"
#include "offline/base/codec.h"
#include "offline/base/open_regular.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void pugmark_recording_free(struct pugmark_recording *rec)
{
	if (!rec)
		return;
	if (rec->fd >= 0)
		close(rec->fd);
	for (uint32_t i = 0; i < rec->n_notes; i++)
		free(rec->notes[i]);
	codec_free(rec->spare);
	free(rec->notes);
	for (uint32_t i = 0; i < rec->n_modules; i++)
		free((char *)rec->modules[i].plan);
	free(rec->modules);
	for (uint32_t i = 0; i < rec->n_maps; i++)
		free((char *)rec->maps[i].path);
	free(rec->maps);
	recording_code_free(rec);
	free(rec->deaths);
	recording_tasks_free(rec);
	free(rec->segments);
	free(rec->dir);
	free((char *)rec->info.meta);
	json_decref(rec->meta);
	free(rec);
}

/* Reads as much of [@off, @off + @len) as there is. */
static ssize_t read_at(int fd, void *to, size_t len, uint64_t off)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)to + done, len - done, off + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += n;
	}
	return done;
}

static bool header_is_sane(const struct segment_header *h)
{
	return h->raw_bytes <= SEGMENT_MAX_BYTES && h->stored_bytes <= codec_bound(h->raw_bytes) &&
	       (h->kind != SEGMENT_EVENTS || h->n <= SEGMENT_MAX_EVENTS);
}

static int add_segment(struct pugmark_recording *rec, const struct segment_header *h, uint64_t off)
{
	if (rec->n_segments == rec->cap_segments) {
		uint32_t cap = rec->cap_segments ? 2 * rec->cap_segments : 256;
		struct segment_ref *segments = realloc(rec->segments, cap * sizeof(*segments));

		if (!segments)
			return -ENOMEM;
		rec->segments = segments;
		rec->cap_segments = cap;
	}
	rec->segments[rec->n_segments++] = (struct segment_ref){*h, off};
	return 0;
}

int segment_load(int fd, const struct segment_ref *seg, struct codec *codec, struct bytes *stored,
		 struct bytes *raw)
{
	const struct segment_header *h = &seg->header;

	stored->len = raw->len = 0;
	/* One byte too many, so that there is a buffer even for nothing. */
	if (!bytes_reserve(stored, h->stored_bytes + 1) || !bytes_reserve(raw, h->raw_bytes + 1))
		return -ENOMEM;
	ssize_t n = read_at(fd, stored->data, h->stored_bytes, seg->off + SEGMENT_HEADER_BYTES);
	if (n < 0)
		return n;
	if (n != h->stored_bytes || checksum(stored->data, n) != h->crc)
		return -EBADMSG;
	return codec_expand(codec, h->codec, stored->data, n, raw->data, h->raw_bytes);
}

/* Notes that [@from, @to) is damaged. */
static void note_damage(struct pugmark_recording *rec, uint64_t from, uint64_t to, bool end)
{
	if (end)
		recording_add_note(rec,
				   "events: cut off or damaged from %llu to the end, %llu bytes",
				   (unsigned long long)from, (unsigned long long)(to - from));
	else
		recording_add_note(rec, "events: %llu damaged bytes at %llu",
				   (unsigned long long)(to - from), (unsigned long long)from);
	rec->info.damaged_bytes += to - from;
}

/* Walks over the file from where it was left, header by header. What is no segment is damaged only
 * once one follows, or @last. */
static int scan_segments(struct pugmark_recording *rec, uint64_t size, bool last)
{
	uint8_t bytes[SEGMENT_HEADER_BYTES];
	uint64_t off = rec->scanned, bad_from = UINT64_MAX;

	while (off < size) {
		struct segment_header h;
		ssize_t n = read_at(rec->fd, bytes, sizeof(bytes), off);

		if (n < 0)
			return n;
		if (n < (ssize_t)sizeof(bytes) || segment_header_read(bytes, &h) ||
		    !header_is_sane(&h) || h.stored_bytes > size - off - sizeof(bytes)) {
			if (bad_from == UINT64_MAX)
				bad_from = off;
			off = segment_find(rec->fd, off + 1, size);
			continue;
		}
		if (bad_from != UINT64_MAX) {
			note_damage(rec, bad_from, off, false);
			bad_from = UINT64_MAX;
		}
		rec->n_unknown += !codec_known(h.codec);
		int err = add_segment(rec, &h, off);
		if (err)
			return err;
		off += sizeof(bytes) + h.stored_bytes;
		rec->scanned = off;
	}
	if (bad_from != UINT64_MAX && last)
		note_damage(rec, bad_from, size, true);
	if (rec->n_unknown && last)
		recording_add_note(rec,
				   "events: %llu segments are compressed by what this program was "
				   "built without, as zstd may be (read them with one that has it)",
				   (unsigned long long)rec->n_unknown);
	return 0;
}

static int by_task_and_event(const void *a, const void *b)
{
	const struct segment_ref *x = a, *y = b;

	if (x->header.kind != y->header.kind)
		return x->header.kind < y->header.kind ? -1 : 1;
	if (x->header.task != y->header.task)
		return x->header.task < y->header.task ? -1 : 1;
	if (x->header.first_event != y->header.first_event)
		return x->header.first_event < y->header.first_event ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

/* Of the segments from @first on, in the order of the file. */
static int read_processes(struct pugmark_recording *rec, uint32_t first)
{
	struct codec *codec = codec_new();
	struct bytes stored = {0}, raw = {0};
	int err = codec ? 0 : -ENOMEM;

	for (uint32_t i = first; !err && i < rec->n_segments; i++) {
		const struct segment_ref *seg = &rec->segments[i];

		if (seg->header.kind != SEGMENT_PROCESS)
			continue;
		err = segment_load(rec->fd, seg, codec, &stored, &raw);
		if (!err)
			err = recording_process_lines(rec, (char *)raw.data, seg->header.raw_bytes);
		if (err == -EBADMSG || err == -ENOTSUP) {
			recording_add_note(
				rec,
				"events: process records at %llu %s: names and parents of "
				"some tasks are missing",
				(unsigned long long)seg->off,
				err == -ENOTSUP ? "are compressed in an unknown way"
						: "are damaged");
			rec->info.damaged_bytes += SEGMENT_HEADER_BYTES + seg->header.stored_bytes;
			err = 0;
		}
	}
	bytes_deinit(&stored);
	bytes_deinit(&raw);
	codec_free(codec);
	return err;
}

/* Puts the segments from @first on, which are in order, among those before, which are as well. */
static int merge_segments(struct pugmark_recording *rec, uint32_t first)
{
	struct segment_ref *at = rec->segments;
	uint32_t n = rec->n_segments - first, to = rec->n_segments;

	if (!first || !n)
		return 0;
	struct segment_ref *added = malloc(n * sizeof(*added));
	if (!added)
		return -ENOMEM;
	memcpy(added, at + first, n * sizeof(*added));
	while (n)
		at[--to] = first && by_task_and_event(&at[first - 1], &added[n - 1]) > 0
				   ? at[--first]
				   : added[--n];
	free(added);
	return 0;
}

/* Adds the tasks that only segments from @first on name, and what these tell of all. */
static int index_tasks(struct pugmark_recording *rec, uint32_t first)
{
	for (uint32_t i = first; i < rec->n_segments; i++) {
		const struct segment_header *h = &rec->segments[i].header;

		if (h->kind != SEGMENT_EVENTS)
			continue;
		struct pugmark_recording_task *task = recording_task_get(rec, h->task);
		if (!task)
			return recording_no_room(rec);
		if (!task->n_events)
			task->first_ns = h->first_ns;
		task->n_events += h->n;
		task->last_ns = h->last_ns;
	}
	return 0;
}

int recording_scan(struct pugmark_recording *rec, uint64_t size, bool last)
{
	uint32_t first = rec->n_segments;

	rec->file_bytes = size;
	int err = scan_segments(rec, size, last);
	if (!err)
		err = read_processes(rec, first);
	if (rec->n_segments > first)
		qsort(rec->segments + first, rec->n_segments - first, sizeof(*rec->segments),
		      by_task_and_event);
	if (!err)
		err = index_tasks(rec, first);
	if (!err)
		err = merge_segments(rec, first);
	rec->grown += rec->n_segments != first;
	return err;
}

/* Why there is no file of events in @dir. Returns @err. */
static int no_events(const char *dir, int err, struct pugmark_diag *diag)
{
	struct stat st;

	if (stat(dir, &st))
		return pugmark_diag_set(diag, -errno, dir, PUGMARK_NO_OFFSET, "%s",
					errno == ENOENT ? "no such recording" : strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET,
					"not a recording, which is a directory");
	if (err == -ENOENT)
		return pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET,
					"not a recording: it has no file `events`");
	return pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET,
				"cannot read its file `events`: %s", strerror(-err));
}

bool recording_is_locked(const struct pugmark_recording *rec)
{
	if (flock(rec->fd, LOCK_SH | LOCK_NB))
		return errno == EWOULDBLOCK;
	flock(rec->fd, LOCK_UN);
	return false;
}

int recording_cannot_read(const struct pugmark_recording *rec, int err, struct pugmark_diag *diag)
{
	char *path = NULL;

	if (err != -ENOTSUP && asprintf(&path, "%s/events", rec->dir) >= 0) {
		pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "%s",
				 err == -EFBIG ? "it names more tasks and mappings than a "
						 "recording of its size has"
					       : strerror(-err));
		free(path);
	}
	return err;
}

/* Opens the files of the recording; nothing is read yet. */
static int open_files(const char *dir, struct pugmark_recording **out, struct pugmark_diag *diag)
{
	struct pugmark_recording *rec = calloc(1, sizeof(*rec));
	struct stat st;
	char *path = NULL;
	int err = 0;

	if (!rec)
		return -ENOMEM;
	rec->fd = -1;
	rec->dir = strdup(dir);
	if (!rec->dir || asprintf(&path, "%s/events", dir) < 0) {
		pugmark_recording_free(rec);
		return -ENOMEM;
	}
	rec->fd = open_regular(path, &st);
	if (rec->fd == -ENXIO)
		err = pugmark_diag_set(diag, -EINVAL, path, PUGMARK_NO_OFFSET,
				       "not a regular file");
	else if (rec->fd < 0)
		err = no_events(dir, rec->fd, diag);
	free(path);
	if (err) {
		pugmark_recording_free(rec);
		return err;
	}
	rec->file_bytes = (uint64_t)st.st_size;
	*out = rec;
	return 0;
}

int pugmark_recording_open(const char *dir, struct pugmark_recording **out,
			   struct pugmark_diag *diag)
{
	struct pugmark_recording *rec;
	int err = open_files(dir, &rec, diag);

	if (err)
		return err;
	err = recording_meta_read(rec, diag);
	if (!err)
		err = recording_scan(rec, rec->file_bytes, true);
	if (err) {
		recording_cannot_read(rec, err, diag);
		pugmark_recording_free(rec);
		return err;
	}
	if (!rec->info.closed)
		recording_add_note(rec, recording_is_locked(rec)
						? "it is still being recorded: this is what there "
						  "is so far"
						: "the recorder did not end well: the end may be "
						  "missing");
	*out = rec;
	return 0;
}

int recording_open_growing(const char *dir, struct pugmark_recording **out,
			   struct pugmark_diag *diag)
{
	struct pugmark_recording *rec;
	int err = open_files(dir, &rec, diag);

	if (err)
		return err;
	err = recording_meta_read(rec, diag);
	rec->growing = true;
	if (err) {
		recording_cannot_read(rec, err, diag);
		pugmark_recording_free(rec);
		return err;
	}
	*out = rec;
	return 0;
}

const struct pugmark_recording_info *pugmark_recording_info(const struct pugmark_recording *rec)
{
	return &rec->info;
}

const struct pugmark_recording_module *
pugmark_recording_modules(const struct pugmark_recording *rec, uint32_t *n)
{
	*n = rec->n_modules;
	return rec->modules;
}

const struct pugmark_recording_task *pugmark_recording_tasks(const struct pugmark_recording *rec,
							     uint32_t *n)
{
	*n = rec->n_tasks;
	return rec->tasks;
}

const struct pugmark_recording_death *pugmark_recording_deaths(const struct pugmark_recording *rec,
							       uint32_t *n)
{
	*n = rec->n_deaths;
	return rec->deaths;
}

const struct pugmark_recording_map *pugmark_recording_maps(const struct pugmark_recording *rec,
							   uint32_t *n)
{
	*n = rec->n_maps;
	return rec->maps;
}

const char *pugmark_recording_note(const struct pugmark_recording *rec, uint32_t index)
{
	return index < rec->n_notes ? rec->notes[index] : NULL;
}

const struct pugmark_recording_map *pugmark_recording_map_at(const struct pugmark_recording *rec,
							     int32_t pid, uint64_t addr,
							     uint64_t time_ns)
{
	const struct pugmark_recording_map *best = NULL;
	uint64_t best_far = 0;

	for (uint32_t i = 0; i < rec->n_maps; i++) {
		const struct pugmark_recording_map *m = &rec->maps[i];
		uint64_t far = m->time_ns > time_ns ? m->time_ns - time_ns : time_ns - m->time_ns;

		if (m->pid != pid || addr < m->start || addr >= m->end)
			continue;
		if (!best || far < best_far) {
			best = m;
			best_far = far;
		}
	}
	return best;
}
