/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* columns.h: several buffers as one, each compressed for itself: of each how (codec.h), its length,
 * the length compressed, and so many bytes. */
#ifndef OFFLINE_WET_COLUMNS_H
#define OFFLINE_WET_COLUMNS_H

#include "offline/base/codec.h"
#include "offline/base/varint.h"

enum { COLUMNS_MAX = 8 };

struct columns {
	uint8_t *bytes[COLUMNS_MAX];
	struct cursor in[COLUMNS_MAX];
};

/* Appends @n columns to @to. False: out of memory. */
bool columns_pack(const struct bytes *columns, unsigned n, struct bytes *to);
/* What @len bytes at @at say that the @n columns have, which nobody else has looked at. False: they
 * are none. */
bool columns_lens(const uint8_t *at, size_t len, unsigned n, uint64_t *lens);
/* Expands them, to be freed with columns_free(), as after an error. 0, -EBADMSG, -ENOTSUP or
 * -ENOMEM. */
int columns_read(struct codec *codec, const uint8_t *at, size_t len, unsigned n,
		 struct columns *out);
void columns_free(struct columns *columns);

#endif
