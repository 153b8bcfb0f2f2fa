// SPDX-License-Identifier: LGPL-2.1-or-later
/* lanes_take.c: the records of a lane, from wherever its chunks are by now: stored, or still in the
 * area. */
#include "user/patch/lanes_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long it is waited for one record to be written, and for all of an area: a program may leave
 * as many unwritten as it likes. */
enum { TORN_MS = 50, TORN_ALL_MS = 5000, RECORD_BYTES_MOST = 28 };

/* So often a program may say of an area what is not so; then nothing is looked for there any more.
 */
enum { MISSING_MAX = 4096 };
#define NOWHERE UINT32_MAX

static int unpack_stored(struct lanes *l, const struct stored *s, uint8_t *chunk)
{
	uint8_t *room = s->bytes < PATCH_CHUNK ? malloc(s->bytes) : chunk;

	if (!room)
		return -ENOMEM;
	ssize_t n = pread(l->fd, room, s->bytes, s->off_file);
	int err = n == (ssize_t)s->bytes ? 0 : -EIO;
#ifndef PUGMARK_NO_ZSTD
	if (!err && room != chunk &&
	    ZSTD_decompress(chunk, PATCH_CHUNK, room, s->bytes) != PATCH_CHUNK)
		err = -EBADMSG;
#endif
	if (room != chunk)
		free(room);
	return err;
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

/* Copies chunk @serial of the lane to l->chunk, from wherever it is; at least from @off up to @end.
 * Under the lock. */
static int load(struct lanes *l, uint32_t area, uint32_t lane, uint32_t serial, uint32_t off,
		uint32_t end)
{
	struct source *a = &l->areas[area - 1];
	const struct stored *s = lane_index_find(&a->taken, lane, serial);

	if (s && l->chunk_area == area && l->chunk_lane == lane && l->chunk_serial == serial)
		return 0;
	l->chunk_area = 0;
	if (s) {
		int err = unpack_stored(l, s, l->chunk);
		if (err)
			return err;
		l->chunk_area = area;
		l->chunk_lane = lane;
		l->chunk_serial = serial;
		return 0;
	}
	uint32_t i = find_here(a, lane, serial);
	if (i == NOWHERE)
		return -ENOENT;
	memcpy(l->chunk, chunk_of(a, i), PATCH_CHUNK_HEADER);
	memcpy(l->chunk + off, chunk_of(a, i) + off, end - off);
	return 0;
}

/* Whether what l->chunk says of @off is final: a record is there, or there will be none. Behind
 * PATCH_FILLED that is known once the chunk is closed. */
static bool is_settled(const struct lanes *l, uint32_t off)
{
	const struct patch_chunk *header = (const void *)l->chunk;

	return head_at(l->chunk, off) ||
	       (off >= PATCH_FILLED && off >= header->closed && header->state != PATCH_TAKEN);
}

/* The same; waits a little for a record at @off, which is begun, to be written. */
static int load_written(struct lanes *l, uint32_t area, uint32_t lane, uint32_t serial,
			uint32_t off, uint32_t end)
{
	struct source *a = &l->areas[area - 1];

	for (int ms = 0;; ms++) {
		pthread_mutex_lock(&l->lock);
		int err = load(l, area, lane, serial, off, end);
		pthread_mutex_unlock(&l->lock);
		if (err || is_settled(l, off) || ms == TORN_MS || a->waited_ms == TORN_ALL_MS)
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
			at += record_bytes(head_at(chunk, at));
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

/* The records of l->chunk from @off to @end; with PATCH_CHUNK, of all that are there. */
static int take_chunk(struct lanes *l, uint32_t area, uint32_t lane, uint32_t serial, uint32_t off,
		      uint32_t end, const struct lanes_sink *sink, uint64_t *lost)
{
	while (off < end && off + RECORD_BYTES_MOST <= PATCH_CHUNK) {
		if (!is_settled(l, off)) {
			int err = load_written(l, area, lane, serial, off, end);
			if (err)
				return err;
		}
		uint32_t head = head_at(l->chunk, off);

		/* Behind PATCH_FILLED there is one only where a handler took the next chunk before
		 * it was written. */
		if (off >= PATCH_FILLED && !head &&
		    off >= ((const struct patch_chunk *)l->chunk)->closed)
			break;
		if (!head) {
			off = behind_torn(l->chunk, off, end);
			l->totals.torn++;
			++*lost;
			continue;
		}
		const uint8_t *at = l->chunk + off;
		uint32_t len = 12;
		uint64_t ret = 0, target = 0;
		if (head & PATCH_HEAD_RET) {
			ret = word_at(at + len);
			len += 8;
		}
		if (head & PATCH_HEAD_TARGET) {
			target = word_at(at + len);
			len += 8;
		}
		tell(l, sink, PATCH_POSITION(serial, off), head, word_at(at + 4), ret, target);
		off += len;
	}
	return 0;
}

/* The records of chunk @serial of the lane, from @off to @end. -ENOENT: there is none, or as much
 * of it was handed over as it has. (In any order: a thread that has the ring of one that ended may
 * be unpacked before that.) */
static int take_serial(struct lanes *l, uint32_t area, uint32_t lane, uint32_t serial, uint32_t off,
		       uint32_t end, const struct lanes_sink *sink, uint64_t *lost)
{
	struct source *a = &l->areas[area - 1];

	if (a->n_missing == MISSING_MAX)
		return -ENOENT;
	pthread_mutex_lock(&l->lock);
	uint32_t *handed = handed_of(a, lane, serial);
	bool left = handed && end - off <= PATCH_CHUNK - *handed;
	int err = left ? load(l, area, lane, serial, off, end) : -ENOENT;
	if (!err)
		*handed += end - off;
	pthread_mutex_unlock(&l->lock);
	a->n_missing += err == -ENOENT;
	return err ? err : take_chunk(l, area, lane, serial, off, end, sink, lost);
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
		int err = off < end ? take_serial(l, area, lane, serial, off, end, sink, lost) : 0;
		bool is_last = serial == last; /* maybe the highest number there is */

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
