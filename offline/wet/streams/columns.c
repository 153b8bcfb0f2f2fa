// SPDX-License-Identifier: LGPL-2.1-or-later
/* columns.c: see columns.h. */
#include "offline/wet/streams/columns.h"

#include <errno.h>
#include <stdlib.h>

bool columns_pack(const struct bytes *columns, unsigned n, struct bytes *to)
{
	struct codec *codec = codec_new();
	for (unsigned i = 0; codec && i < n; i++) {
		uint8_t kind = CODEC_STORED, *packed = malloc(codec_bound(columns[i].len));
		size_t len = packed ? codec_compress(codec, columns[i].data, columns[i].len, packed,
						     &kind)
				    : 0;
		to->failed |= !packed || columns[i].failed;
		bytes_put(to, &kind, 1);
		bytes_put_varint(to, columns[i].len);
		bytes_put_varint(to, len);
		bytes_put(to, packed, len);
		free(packed);
	}
	codec_free(codec);
	return codec && !to->failed;
}

static bool find(const uint8_t *at, size_t len, unsigned n, uint8_t *kinds, uint64_t *lens,
		 struct cursor *packed)
{
	struct cursor in = {at, at + len};
	for (unsigned i = 0; i < n; i++)
		if (!cursor_byte(&in, &kinds[i]) || !cursor_varint(&in, &lens[i]) ||
		    !cursor_column(&in, &packed[i]))
			return false;
	return in.at == in.end;
}

bool columns_lens(const uint8_t *at, size_t len, unsigned n, uint64_t *lens)
{
	struct cursor packed[COLUMNS_MAX];
	uint8_t kinds[COLUMNS_MAX];
	return find(at, len, n, kinds, lens, packed);
}

int columns_read(struct codec *codec, const uint8_t *at, size_t len, unsigned n,
		 struct columns *out)
{
	struct cursor packed[COLUMNS_MAX];
	uint8_t kinds[COLUMNS_MAX];
	uint64_t lens[COLUMNS_MAX];
	*out = (struct columns){0};
	if (!find(at, len, n, kinds, lens, packed))
		return -EBADMSG;
	for (unsigned i = 0; i < n; i++) {
		out->bytes[i] = malloc(lens[i] + 1);
		if (!out->bytes[i])
			return -ENOMEM;
		int err = codec_expand(codec, kinds[i], packed[i].at,
				       (size_t)(packed[i].end - packed[i].at), out->bytes[i],
				       lens[i]);
		if (err)
			return err;
		out->in[i] = (struct cursor){out->bytes[i], out->bytes[i] + lens[i]};
	}
	return 0;
}

void columns_free(struct columns *c)
{
	for (unsigned i = 0; i < COLUMNS_MAX; i++)
		free(c->bytes[i]);
}
