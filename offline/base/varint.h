/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* varint.h: growing byte buffers, and LEB128 numbers in and out of them. */
#ifndef OFFLINE_VARINT_H
#define OFFLINE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A buffer that grows. After a failed allocation it stays failed and takes nothing more. */
struct bytes {
	uint8_t *data;
	size_t len, cap;
	bool failed;
};

static inline void bytes_deinit(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){0};
}

static inline bool bytes_reserve(struct bytes *b, size_t more)
{
	if (b->cap - b->len >= more)
		return true;
	size_t cap = b->cap ? b->cap : 4096;
	while (cap - b->len < more)
		cap *= 2;
	uint8_t *data = b->failed ? NULL : realloc(b->data, cap);
	if (!data) {
		b->failed = true;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

static inline void bytes_put(struct bytes *b, const void *from, size_t len)
{
	if (len && bytes_reserve(b, len)) {
		memcpy(b->data + b->len, from, len);
		b->len += len;
	}
}

enum { VARINT_MOST = 10 };

/* Writes a number at @to, where VARINT_MOST bytes have room. Returns its end. */
static inline uint8_t *varint_write(uint8_t *to, uint64_t v)
{
	while (v >= 0x80) {
		*to++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*to++ = (uint8_t)v;
	return to;
}

static inline void bytes_put_varint(struct bytes *b, uint64_t v)
{
	if (bytes_reserve(b, VARINT_MOST))
		b->len = varint_write(b->data + b->len, v) - b->data;
}

static inline uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ -(v & 1));
}

/* A column being read. */
struct cursor {
	const uint8_t *at, *end;
};

/* Reads a number; false past the end or where it is longer than 64 bits. */
static inline bool cursor_varint(struct cursor *c, uint64_t *out)
{
	if (c->at < c->end && *c->at < 0x80) {
		*out = *c->at++;
		return true;
	}
	uint64_t v = 0;
	for (unsigned shift = 0; c->at < c->end && shift < 64; shift += 7) {
		uint8_t byte = *c->at++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*out = v;
			return true;
		}
	}
	return false;
}

static inline bool cursor_byte(struct cursor *c, uint8_t *out)
{
	if (c->at == c->end)
		return false;
	*out = *c->at++;
	return true;
}

/* Splits a column off: its length, then its bytes. */
static inline bool cursor_column(struct cursor *c, struct cursor *column)
{
	uint64_t len;

	if (!cursor_varint(c, &len) || len > (uint64_t)(c->end - c->at))
		return false;
	*column = (struct cursor){c->at, c->at + len};
	c->at += len;
	return true;
}

#endif
