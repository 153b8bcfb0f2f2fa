// SPDX-License-Identifier: LGPL-2.1-or-later
/* lanes_take.c: the records of a lane, from wherever its chunks are by now: stored, or still in the
 * area. */
#include "user/patch/lanes_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long it is waited for one record to be written, and for all of an area: a program may leave
 * as many unwritten as it likes. */
enum { TORN_MS = 50, TORN_ALL_MS = 5000 };

/* So often a program may say of an area what is not so; then nothing is looked for there any more.
 */
enum { MISSING_MAX = 4096 };
#define NOWHERE UINT32_MAX

/* Of a lane's chunk: from @off up to @end. */
struct chunk_part {
	uint32_t area, lane, serial, off, end;
};

/* What is in the file at @off, in the reader's chunk. */
static int read_packed(const struct lanes *l, uint64_t off, uint32_t bytes)
{
	struct lanes_reader *r = l->reader;

	if (pread(l->fd, r->packed, bytes, off) != (ssize_t)bytes)
		return -EIO;
	return lane_unpack(&r->history, r->packed, bytes, r->chunk) ? 0 : -EBADMSG;
}

/* The chunk that is stored as @s, which @reference is of, in the reader's. */
static int read_stored(const struct lanes *l, const struct stored *s, struct reference reference)
{
	struct lanes_reader *r = l->reader;
	int err = 0;

	if (s->bytes == PATCH_CHUNK)
		return pread(l->fd, r->chunk, s->bytes, s->off_file) == PATCH_CHUNK ? 0 : -EIO;
	if (r->reference != s->reference) {
		r->reference = UINT32_MAX;
		err = read_packed(l, reference.off_file, reference.bytes);
		if (!err)
			r->reference = s->reference;
	}
	return err ? err : read_packed(l, s->off_file, s->bytes);
}

/* The chunk of the area that is number @serial of the lane, for now: it may be written to at any
 * time. NOWHERE: none. */
static uint32_t find_here(const struct source *a, uint32_t lane, uint32_t serial)
{
	uint32_t n = a->n_chunks;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = (a->last + k) % n;
		const struct patch_chunk *header = (const void *)chunk_of(a, i);

		if (header->state != PATCH_FREE && header->lane == lane && header->serial == serial)
			return i;
	}
	return NOWHERE;
}

/* Where it stands how much of chunk @serial of the lane was handed over; NULL: there is no such
 * chunk. Under the lock. */
static uint32_t *handed_of(struct source *a, uint32_t lane, uint32_t serial)
{
	struct stored *s = lane_index_find(&a->taken, lane, serial);

	if (s)
		return &s->handed;
	uint32_t i = find_here(a, lane, serial);
	if (i == NOWHERE)
		return NULL;
	a->last = i;
	return &a->handed[i];
}

/* The disk is given back what nobody reads again. */
static void give_back(struct lanes *l)
{
	struct lanes_reader *r = l->reader;
	uint64_t off = 0;
	uint32_t bytes = 0;

	if (!r->area || !r->is_last)
		return;
	pthread_mutex_lock(&l->lock);
	struct stored *s = lane_index_find(&l->areas[r->area - 1].taken, r->lane, r->serial);
	if (s &&
	    (s->bytes == PATCH_CHUNK || l->references.at[s->reference].off_file != s->off_file)) {
		off = s->off_file;
		bytes = s->bytes;
		s->bytes = 0;
	}
	pthread_mutex_unlock(&l->lock);
	r->area = 0;
	r->is_last = false;
	if (bytes)
		fallocate(l->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off,
			  (bytes + LANES_BLOCK - 1) / LANES_BLOCK * LANES_BLOCK);
}

/* Copies chunk @serial of the lane to the reader's, from wherever it is; at least from @off up to
 * @end. If @handed, it is counted that this is handed over; -ENOENT: there is no such chunk, or no
 * more of it is to be. */
static int load(struct lanes *l, const struct chunk_part *part, bool handed)
{
	struct source *a = &l->areas[part->area - 1];
	struct lanes_reader *r = l->reader;
	struct reference reference = {0};
	struct stored stored = {0};
	uint32_t bytes = part->end - part->off, *so_far = NULL;

	if (r->area != part->area || r->lane != part->lane || r->serial != part->serial)
		give_back(l);
	pthread_mutex_lock(&l->lock);
	const struct stored *s = lane_index_find(&a->taken, part->lane, part->serial);
	if (handed)
		so_far = handed_of(a, part->lane, part->serial);
	if ((handed && (!so_far || bytes > PATCH_CHUNK - *so_far)) || (s && !s->bytes)) {
		pthread_mutex_unlock(&l->lock);
		return -ENOENT;
	}
	if (handed)
		*so_far += bytes;
	bool is_last = s && s->handed >= PATCH_CHUNK - PATCH_CHUNK_HEADER;
	uint32_t i = s ? NOWHERE : find_here(a, part->lane, part->serial);
	if (s) {
		stored = *s;
		if (s->bytes != PATCH_CHUNK)
			reference = l->references.at[s->reference];
	} else if (i != NOWHERE) {
		r->area = 0;
		memcpy(r->chunk, chunk_of(a, i), PATCH_CHUNK_HEADER);
		memcpy(r->chunk + part->off, chunk_of(a, i) + part->off, bytes);
	}
	pthread_mutex_unlock(&l->lock);
	if (!stored.key)
		return i == NOWHERE ? -ENOENT : 0;
	r->is_last = is_last;
	if (r->area == part->area && r->lane == part->lane && r->serial == part->serial)
		return 0;
	r->area = 0;
	int err = read_stored(l, &stored, reference);
	if (err)
		return err;
	r->area = part->area;
	r->lane = part->lane;
	r->serial = part->serial;
	return 0;
}

/* Whether what is read says of @off is final: a record is there, or there will be none. Behind
 * PATCH_FILLED that is known once the chunk is closed. */
static bool is_settled(const struct lanes *l, uint32_t off)
{
	const struct patch_chunk *header = (const void *)l->reader->chunk;

	return head_at(l->reader->chunk, off) ||
	       (off >= PATCH_FILLED && off >= header->closed && header->state != PATCH_TAKEN);
}

/* The same; waits a little for the record that @part begins with, and which is begun, to be
 * written. */
static int load_written(struct lanes *l, const struct chunk_part *part)
{
	struct source *a = &l->areas[part->area - 1];

	for (int ms = 0;; ms++) {
		int err = load(l, part, false);
		if (err || is_settled(l, part->off) || ms == TORN_MS || a->waited_ms == TORN_ALL_MS)
			return err;
		a->waited_ms++;
		usleep(1000);
	}
}

static uint64_t word_at(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Where the next record begins behind one at @off that was never written: those that follow up to
 * @end tell how long it is. */
static uint32_t behind_torn(const uint8_t *chunk, uint32_t off, uint32_t end)
{
	for (uint32_t bytes = 12; bytes <= 28; bytes += 8) {
		uint32_t at = off + bytes;

		while (at + 4 <= end && head_at(chunk, at) & PATCH_HEAD_SET)
			at += lane_record_bytes(head_at(chunk, at));
		if (at == end || (end == PATCH_CHUNK && at >= PATCH_FILLED))
			return off + bytes;
	}
	return end;
}

static void tell(struct lanes *l, const struct lanes_sink *sink, uint64_t pos, uint32_t head,
		 uint64_t frame, uint64_t ret, uint64_t target)
{
	if (!(head & PATCH_HEAD_STAMP))
		sink->record(sink->ctx, pos, head, frame, ret, target);
	else if (sink->stamp && l->clock)
		sink->stamp(sink->ctx, pos, tsc_clock_ns(l->clock, frame));
}

/* The records of @part, which is loaded; with PATCH_CHUNK as its end, of all that are there. */
static int take_records(struct lanes *l, struct chunk_part part, const struct lanes_sink *sink,
			uint64_t *lost)
{
	const uint8_t *chunk = l->reader->chunk;
	const struct patch_chunk *header = (const void *)chunk;

	while (part.off < part.end && part.off + LANE_RECORD_BYTES_MOST <= PATCH_CHUNK) {
		if (!is_settled(l, part.off)) {
			int err = load_written(l, &part);
			if (err)
				return err;
		}
		uint32_t off = part.off, head = head_at(chunk, off);

		/* Behind PATCH_FILLED there is one only where a handler took the next chunk before
		 * it was written. */
		if (off >= PATCH_FILLED && !head && off >= header->closed)
			break;
		if (!head) {
			part.off = behind_torn(chunk, off, part.end);
			l->totals.torn++;
			++*lost;
			continue;
		}
		const uint8_t *at = chunk + off;
		uint32_t len = LANE_RECORD_BYTES_LEAST;
		uint64_t ret = 0, target = 0;
		if (head & PATCH_HEAD_RET) {
			ret = word_at(at + len);
			len += 8;
		}
		if (head & PATCH_HEAD_TARGET) {
			target = word_at(at + len);
			len += 8;
		}
		tell(l, sink, PATCH_POSITION(part.serial, off), head, word_at(at + 4), ret, target);
		part.off += len;
	}
	return 0;
}

/* The records of a part of a chunk. -ENOENT: there is none, or as much of it was handed over as it
 * has. (In any order: a thread that has the ring of one that ended may be unpacked before that.) */
static int take_part(struct lanes *l, const struct chunk_part *part, const struct lanes_sink *sink,
		     uint64_t *lost)
{
	struct source *a = &l->areas[part->area - 1];

	if (a->n_missing == MISSING_MAX)
		return -ENOENT;
	int err = load(l, part, true);
	a->n_missing += err == -ENOENT;
	return err ? err : take_records(l, *part, sink, lost);
}

int lanes_take(struct lanes *l, uint32_t area, uint32_t lane, uint64_t from, uint64_t to,
	       const struct lanes_sink *sink, uint64_t *lost)
{
	uint32_t serial = from >> 32, last = to >> 32, off = (uint32_t)from;

	if (!area || area > l->n_areas)
		return -ENOENT;
	if (!serial) {
		serial = 1;
		off = PATCH_CHUNK_HEADER;
	}
	for (; serial <= last; serial++, off = PATCH_CHUNK_HEADER) {
		uint32_t end =
			serial == last && (uint32_t)to < PATCH_CHUNK ? (uint32_t)to : PATCH_CHUNK;
		struct chunk_part part = {area, lane, serial, off, end};
		int err = off < end ? take_part(l, &part, sink, lost) : 0;
		idle_thread_rest_again(l->idle); /* there may be many parts */
		bool is_last = serial == last;	 /* maybe the highest number there is */

		if (err == -ENOENT) { /* numbers are the program's, and may be made up */
			++*lost;
			err = 0;
			if (!is_last)
				serial = last - 1;
		}
		if (err || is_last)
			return err;
	}
	return 0;
}
