// SPDX-License-Identifier: LGPL-2.1-or-later
/* kept_files.c: see kept_files.h. */
#include "user/values/start/kept_files.h"

#include "offline/base/vec.h"
#include "offline/capture/capture_code.h"
#include "user/file/build_id.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { PAGE = 4096, OPEN_FILES = 200, CLOCK_TICK_NS = 10000000 };

/* So much at most of one mapping is kept: the code of libLLVM is 97 MiB, that of browsers more. */
#define FILE_MAX_BYTES (256u << 20)

struct range {
	uint64_t off, bytes;
};

/* What was written of a file at once, and its CRC-32. */
struct piece {
	struct range range;
	uint32_t crc;
};

struct kept_file {
	char *path;
	struct build_id id;
	dev_t dev;
	ino_t ino;
	struct range *kept; /* what was written of it: offsets, ascending */
	uint32_t n_kept;
	struct piece *pieces; /* the same, as it was written */
	uint32_t n_pieces;
	int fd; /* -1: too many are open */
	/* When it was written, and when that or its names, owner or times were changed, as it was
	 * found first (CLOCK_REALTIME). */
	int64_t written_ns, status_ns;
	bool changed; /* since it was mapped first, perhaps */
};

struct kept_files {
	struct capture_writer *writer;
	pthread_mutex_t lock; /* of all else */
	VEC(struct kept_file) all;
};

struct kept_files *kept_files_new(struct capture_writer *writer)
{
	struct kept_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->writer = writer;
	pthread_mutex_init(&files->lock, NULL);
	return files;
}

void kept_files_free(struct kept_files *files)
{
	if (!files)
		return;
	for (uint32_t i = 0; i < files->all.n; i++) {
		free(files->all.at[i].path);
		free(files->all.at[i].kept);
		free(files->all.at[i].pieces);
		if (files->all.at[i].fd >= 0)
			close(files->all.at[i].fd);
	}
	VEC_FREE(&files->all);
	pthread_mutex_destroy(&files->lock);
	free(files);
}

/* The first bytes of @f at offset @at or behind it, before @end, that were not written; none: it
 * begins at @end. */
static struct range next_unkept(const struct kept_file *f, uint64_t at, uint64_t end)
{
	for (uint32_t i = 0; i < f->n_kept && at < end; i++) {
		const struct range *k = &f->kept[i];

		if (k->off > at)
			return (struct range){at, (k->off < end ? k->off : end) - at};
		if (k->off + k->bytes > at)
			at = k->off + k->bytes;
	}
	return at < end ? (struct range){at, end - at} : (struct range){end, 0};
}

/* Notes that @range of @f, of which nothing was, is written. False: out of memory. */
static bool note_kept(struct kept_file *f, struct range range)
{
	uint32_t i = 0;

	while (i < f->n_kept && f->kept[i].off < range.off)
		i++;
	if (i && f->kept[i - 1].off + f->kept[i - 1].bytes == range.off) {
		f->kept[i - 1].bytes += range.bytes;
		return true;
	}
	struct range *kept = realloc(f->kept, (f->n_kept + 1) * sizeof(*kept));
	if (!kept)
		return false;
	f->kept = kept;
	memmove(kept + i + 1, kept + i, (f->n_kept - i) * sizeof(*kept));
	kept[i] = range;
	f->n_kept++;
	return true;
}

static bool note_piece(struct kept_file *f, struct range range, const uint8_t *bytes)
{
	struct piece *pieces = realloc(f->pieces, (f->n_pieces + 1) * sizeof(*pieces));

	if (!pieces)
		return false;
	f->pieces = pieces;
	pieces[f->n_pieces++] = (struct piece){range, crc32(0, bytes, range.bytes)};
	return true;
}

/* The bytes at @range of the file @fd, which is @size bytes long; behind its end are zeros. False:
 * they cannot be read, or the file ends before. */
static bool read_range(int fd, uint64_t size, struct range range, uint8_t *bytes)
{
	uint64_t there = size > range.off ? size - range.off : 0;
	size_t want = there < range.bytes ? there : range.bytes, got = 0;
	ssize_t n = 1;

	while (got < want && (n > 0 || (n < 0 && errno == EINTR))) {
		n = pread(fd, bytes + got, want - got, range.off + got);
		got += n > 0 ? n : 0;
	}
	memset(bytes + got, 0, range.bytes - got);
	return want && got == want;
}

/* Keeps @len bytes from @off on of the file behind @fd, as far as that has not been. */
static void keep_range(struct kept_files *files, uint32_t number, int fd, const struct stat *st,
		       uint64_t off, uint64_t len)
{
	struct kept_file *f = &files->all.at[number];
	uint64_t end = off + len, unkept = 0;

	if (end > (uint64_t)st->st_size)
		end = ((uint64_t)st->st_size + PAGE - 1) & ~(PAGE - 1ull);
	struct range first = next_unkept(f, off, end), range = first;
	for (; range.bytes; range = next_unkept(f, range.off + range.bytes, end))
		unkept += range.bytes;
	uint8_t *bytes = unkept && unkept <= FILE_MAX_BYTES ? malloc(CAPTURE_FILE_BYTES) : NULL;
	for (range = first; bytes && range.bytes;
	     range = next_unkept(f, range.off + range.bytes, end)) {
		range.bytes = range.bytes < CAPTURE_FILE_BYTES ? range.bytes : CAPTURE_FILE_BYTES;
		if (!read_range(fd, st->st_size, range, bytes) || !note_piece(f, range, bytes) ||
		    !note_kept(f, range))
			break;
		capture_writer_file(files->writer, number, range.off, bytes, range.bytes);
	}
	free(bytes);
}

static int64_t time_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static uint32_t add_file(struct kept_files *files, const struct stat *st, const char *link,
			 const char *name)
{
	char *path = VEC_RESERVE(&files->all, 1) ? strdup(name) : NULL;
	if (!path)
		return CAPTURE_UNKNOWN;
	files->all.at[files->all.n] = (struct kept_file){
		.path = path,
		.id = build_id_read(link),
		.dev = st->st_dev,
		.ino = st->st_ino,
		.fd = files->all.n < OPEN_FILES ? open(link, O_RDONLY | O_CLOEXEC) : -1,
		.written_ns = time_ns(&st->st_mtim),
		.status_ns = time_ns(&st->st_ctim)};
	return files->all.n++;
}

/* The moment @monotonic_ns of CLOCK_MONOTONIC by the clock that files have. */
static int64_t by_wall_clock(uint64_t monotonic_ns)
{
	struct timespec now, wall;

	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_gettime(CLOCK_REALTIME, &wall);
	return (int64_t)monotonic_ns - time_ns(&now) + time_ns(&wall);
}

/* Of a file that is not open what its name leads to is it, if that is the same one. */
static bool look(const struct kept_file *f, struct stat *st)
{
	if (f->fd >= 0)
		return !fstat(f->fd, st);
	return !stat(f->path, st) && st->st_dev == f->dev && st->st_ino == f->ino;
}

/* Whether the file, of @size bytes now, has those that were kept of it. */
static bool is_as_kept(const struct kept_file *f, uint64_t size)
{
	uint8_t *bytes = f->fd >= 0 ? malloc(CAPTURE_FILE_BYTES) : NULL;
	bool same = bytes;

	for (uint32_t i = 0; same && i < f->n_pieces; i++)
		same = read_range(f->fd, size, f->pieces[i].range, bytes) &&
		       crc32(0, bytes, f->pieces[i].range.bytes) == f->pieces[i].crc;
	free(bytes);
	return same;
}

/* Notes whether the file has been written since @mapped_ns (0: that was asked before) or since it
 * was found. Files are told their time by a clock that goes in ticks. The time when it
 * was written can be put back (cp -p), the other one not: where only that is another, as that of a
 * file that was removed is, its bytes are compared. */
static void note_change(struct kept_file *f, uint64_t mapped_ns)
{
	struct stat st;

	if (f->changed || !look(f, &st)) {
		f->changed = true;
		return;
	}
	int64_t written = time_ns(&st.st_mtim), status = time_ns(&st.st_ctim);
	int64_t last = written > status ? written : status;
	f->changed = written != f->written_ns ||
		     (status != f->status_ns && !is_as_kept(f, st.st_size)) ||
		     (mapped_ns && last + CLOCK_TICK_NS > by_wall_clock(mapped_ns));
	f->status_ns = status;
}

uint32_t kept_files_take(struct kept_files *files, int fd, const struct stat *st, const char *name,
			 uint64_t off, uint64_t bytes, uint64_t mapped_ns)
{
	char link[32];
	uint32_t i = 0;

	if (fd < 0)
		return CAPTURE_UNKNOWN;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	pthread_mutex_lock(&files->lock);
	while (i < files->all.n &&
	       (files->all.at[i].dev != st->st_dev || files->all.at[i].ino != st->st_ino))
		i++;
	if (i == files->all.n)
		i = add_file(files, st, link, name);
	if (i != CAPTURE_UNKNOWN)
		keep_range(files, i, fd, st, off, bytes);
	if (i != CAPTURE_UNKNOWN)
		note_change(&files->all.at[i], mapped_ns);
	pthread_mutex_unlock(&files->lock);
	close(fd);
	return i;
}

json_t *kept_files_list(struct kept_files *files)
{
	json_t *list = json_array();

	pthread_mutex_lock(&files->lock);
	for (uint32_t i = 0; i < files->all.n; i++) {
		struct kept_file *f = &files->all.at[i];
		char hex[2 * sizeof(f->id.bytes) + 1] = "";
		json_t *path = json_string(f->path);

		note_change(f, 0);
		for (uint32_t k = 0; k < f->id.len && k < 20; k++)
			sprintf(hex + 2 * k, "%02x", f->id.bytes[k]);
		/* Where the name is no UTF-8. */
		json_array_append_new(list, json_pack("[o,s,b]", path ? path : json_string("?"),
						      hex, f->changed));
	}
	pthread_mutex_unlock(&files->lock);
	return list;
}

bool kept_files_changed(struct kept_files *files)
{
	bool changed = false;

	pthread_mutex_lock(&files->lock);
	for (uint32_t i = 0; i < files->all.n; i++) {
		note_change(&files->all.at[i], 0);
		changed |= files->all.at[i].changed;
	}
	pthread_mutex_unlock(&files->lock);
	return changed;
}

uint32_t kept_files_count(struct kept_files *files)
{
	pthread_mutex_lock(&files->lock);
	uint32_t n = files->all.n;
	pthread_mutex_unlock(&files->lock);
	return n;
}
