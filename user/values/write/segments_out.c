// SPDX-License-Identifier: LGPL-2.1-or-later
/* segments_out.c: see segments_out.h. */
#include "user/values/write/segments_out.h"

#include "offline/base/varint.h"
#include "offline/base/codec.h"
#include "offline/base/write_all.h"
#include "offline/capture/capture_code.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

struct segments_out {
	pthread_mutex_t lock;
	int fd;
	atomic_int err; /* also of who waits for the end */
	uint64_t off;
	uint32_t n;
	struct codec *codec, *hurried; /* of the start and files; of records, beside what runs */
	struct bytes stored;
};

int segments_out_open(int fd, struct segments_out **out)
{
	struct segments_out *s = calloc(1, sizeof(*s));

	if (!s || !(s->codec = codec_new()) || !(s->hurried = codec_new())) {
		if (s)
			codec_free(s->codec);
		free(s);
		close(fd);
		return -ENOMEM;
	}
	codec_hurry(s->hurried);
	s->fd = fd;
	pthread_mutex_init(&s->lock, NULL);
	*out = s;
	return 0;
}

void segments_out_fail(struct segments_out *s, int err)
{
	if (!s->err)
		s->err = err;
}

int segments_out_error(const struct segments_out *s)
{
	return s->err;
}

uint32_t segments_out_count(const struct segments_out *s)
{
	return s->n;
}

static void append_locked(struct segments_out *s, struct segment_header *h, const uint8_t *payload)
{
	struct bytes *b = &s->stored;

	b->len = 0;
	if (s->err)
		return;
	if (!bytes_reserve(b, SEGMENT_HEADER_BYTES + codec_bound(h->raw_bytes))) {
		segments_out_fail(s, -ENOMEM);
		return;
	}
	bool beside = h->kind == CAPTURE_SEGMENT_RECORDS || h->kind == CAPTURE_SEGMENT_CHANNELS;
	h->stored_bytes = codec_compress(beside ? s->hurried : s->codec, payload, h->raw_bytes,
					 b->data + SEGMENT_HEADER_BYTES, &h->codec);
	h->crc = crc32(0, b->data + SEGMENT_HEADER_BYTES, h->stored_bytes);
	h->number = s->n;
	segment_header_write(h, b->data);
	size_t len = SEGMENT_HEADER_BYTES + h->stored_bytes;
	int err = pwrite_all(s->fd, b->data, len, s->off);
	if (err) {
		segments_out_fail(s, err);
		/* Nothing follows. A part of it that stays the reader takes for cut short. */
		while (ftruncate(s->fd, s->off) && errno == EINTR)
			;
		return;
	}
	s->off += len;
	s->n++;
}

void segments_out_append(struct segments_out *s, struct segment_header *header,
			 const uint8_t *payload)
{
	pthread_mutex_lock(&s->lock);
	append_locked(s, header, payload);
	pthread_mutex_unlock(&s->lock);
}

int segments_out_close(struct segments_out *s, uint64_t *bytes)
{
	if (!s->err && fsync(s->fd))
		segments_out_fail(s, -errno);
	close(s->fd);
	if (bytes)
		*bytes = s->off;
	codec_free(s->codec);
	codec_free(s->hurried);
	bytes_deinit(&s->stored);
	pthread_mutex_destroy(&s->lock);
	int err = s->err;
	free(s);
	return err;
}
