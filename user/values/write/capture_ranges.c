// SPDX-License-Identifier: LGPL-2.1-or-later
/* capture_ranges.c: see capture_ranges.h. */
#include "user/values/write/capture_ranges.h"

#include <errno.h>
#include <stdlib.h>

/* A record must fit into a segment: of bytes beyond that the address and the number are kept. */
enum { RECORD_MAX_BYTES = 12 << 20 };

/* The bytes of a range are in the memory of the ring, which is so until the end of their batch. If
 * their record has not come by then they are copied. */
#define IN_RING SIZE_MAX

static int reserve_one(struct capture_ranges *q)
{
	if (q->n < q->cap)
		return 0;
	uint32_t cap = q->cap ? 2 * q->cap : 16;
	struct capture_range *ranges = realloc(q->ranges, cap * sizeof(*ranges));

	if (ranges)
		q->ranges = ranges;
	size_t *offs = realloc(q->offs, cap * sizeof(*offs));
	if (offs)
		q->offs = offs;
	if (!ranges || !offs)
		return -ENOMEM;
	q->cap = cap;
	return 0;
}

int capture_ranges_take(struct capture_ranges *q, const struct capture_bytes *r)
{
	int err = reserve_one(q);

	if (err)
		return err;
	bool unread = r->unread || q->bytes.len + r->len > RECORD_MAX_BYTES;
	q->offs[q->n] = IN_RING;
	q->ranges[q->n++] = (struct capture_range){
		.addr = r->addr, .len = r->len, .unread = unread, .bytes = r->data};
	return 0;
}

int capture_ranges_keep(struct capture_ranges *q)
{
	for (uint32_t i = 0; i < q->n; i++) {
		struct capture_range *r = &q->ranges[i];

		if (q->offs[i] != IN_RING)
			continue;
		q->offs[i] = q->bytes.len;
		if (!r->unread)
			bytes_put(&q->bytes, r->bytes, r->len);
		r->unread |= q->bytes.failed; /* then they are not there */
	}
	return q->bytes.failed ? -ENOMEM : 0;
}

void capture_ranges_give(struct capture_ranges *q, struct capture *c)
{
	for (uint32_t i = 0; i < q->n; i++)
		if (q->offs[i] != IN_RING)
			q->ranges[i].bytes = q->bytes.data + q->offs[i];
	c->ranges = q->ranges;
	c->n_ranges = q->n;
}

void capture_ranges_forget(struct capture_ranges *q)
{
	q->n = 0;
	q->bytes.len = 0;
}

void capture_ranges_deinit(struct capture_ranges *q)
{
	free(q->ranges);
	free(q->offs);
	bytes_deinit(&q->bytes);
}
