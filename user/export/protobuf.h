/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* protobuf.h: writes protocol buffer messages into a buffer that grows: varints, strings, and
 * messages within messages, whose length is filled in behind. See the encoding's specification at
 * protobuf.dev. */
#ifndef USER_EXPORT_PROTOBUF_H
#define USER_EXPORT_PROTOBUF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct protobuf {
	uint8_t *at; /* heap */
	size_t n, cap;
	bool failed; /* memory was out: what is in it is not whole */
};

static inline void protobuf_deinit(struct protobuf *pb)
{
	free(pb->at);
}

static inline bool protobuf_room(struct protobuf *pb, size_t bytes)
{
	if (pb->cap - pb->n >= bytes)
		return true;
	size_t cap = 2 * pb->cap + bytes + 256;
	uint8_t *at = realloc(pb->at, cap);
	if (!at) {
		pb->failed = true;
		return false;
	}
	pb->at = at;
	pb->cap = cap;
	return true;
}

static inline void protobuf_varint(struct protobuf *pb, uint64_t value)
{
	if (!protobuf_room(pb, 10))
		return;
	for (; value > 127; value >>= 7)
		pb->at[pb->n++] = (uint8_t)(value | 128);
	pb->at[pb->n++] = (uint8_t)value;
}

enum { PROTOBUF_VARINT = 0, PROTOBUF_FIXED64 = 1, PROTOBUF_BYTES = 2 };

static inline void protobuf_uint(struct protobuf *pb, uint32_t field, uint64_t value)
{
	protobuf_varint(pb, (uint64_t)field << 3 | PROTOBUF_VARINT);
	protobuf_varint(pb, value);
}

static inline void protobuf_fixed64(struct protobuf *pb, uint32_t field, uint64_t value)
{
	protobuf_varint(pb, (uint64_t)field << 3 | PROTOBUF_FIXED64);
	if (!protobuf_room(pb, 8))
		return;
	memcpy(pb->at + pb->n, &value, 8); /* little-endian, as all that we run on */
	pb->n += 8;
}

static inline void protobuf_bytes(struct protobuf *pb, uint32_t field, const void *data, size_t n)
{
	protobuf_varint(pb, (uint64_t)field << 3 | PROTOBUF_BYTES);
	protobuf_varint(pb, n);
	if (!protobuf_room(pb, n))
		return;
	memcpy(pb->at + pb->n, data, n);
	pb->n += n;
}

static inline void protobuf_text(struct protobuf *pb, uint32_t field, const char *text)
{
	protobuf_bytes(pb, field, text, strlen(text));
}

/* Begins a message in a field; the result is for protobuf_close(). Messages close in the reverse
 * order. */
static inline size_t protobuf_open(struct protobuf *pb, uint32_t field)
{
	protobuf_varint(pb, (uint64_t)field << 3 | PROTOBUF_BYTES);
	if (protobuf_room(pb, 1))
		pb->n++;
	return pb->n;
}

/* Ends a message. One byte was left for its length; if the length takes more, the message moves. */
static inline void protobuf_close(struct protobuf *pb, size_t from)
{
	if (pb->failed)
		return;
	size_t bytes = pb->n - from, more = 0;
	for (size_t rest = bytes >> 7; rest; rest >>= 7)
		more++;
	if (more && !protobuf_room(pb, more))
		return;
	if (more)
		memmove(pb->at + from + more, pb->at + from, bytes);
	pb->n += more;
	uint8_t *at = pb->at + from - 1;
	for (; bytes > 127; bytes >>= 7)
		*at++ = (uint8_t)(bytes | 128);
	*at = (uint8_t)bytes;
}

#endif
