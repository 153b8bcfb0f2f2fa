// SPDX-License-Identifier: LGPL-2.1-or-later
/* codec.c: zstd and zlib behind one pair of calls. */
#include "offline/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#if __has_include(<zstd.h>) && !defined(PUGMARK_NO_ZSTD)
#include <zstd.h>
#define HAVE_ZSTD 1
#else
#define HAVE_ZSTD 0
#endif

enum { ZSTD_LEVEL = 3, ZLIB_LEVEL = 6 };

struct codec {
#if HAVE_ZSTD
	ZSTD_CCtx *compress;
	ZSTD_DCtx *expand;
#else
	int unused;
#endif
};

struct codec *codec_new(void)
{
	struct codec *codec = calloc(1, sizeof(*codec));
#if HAVE_ZSTD
	if (codec) {
		codec->compress = ZSTD_createCCtx();
		codec->expand = ZSTD_createDCtx();
		if (!codec->compress || !codec->expand) {
			codec_free(codec);
			return NULL;
		}
	}
#endif
	return codec;
}

void codec_free(struct codec *codec)
{
	if (!codec)
		return;
#if HAVE_ZSTD
	ZSTD_freeCCtx(codec->compress);
	ZSTD_freeDCtx(codec->expand);
#endif
	free(codec);
}

size_t codec_bound(size_t len)
{
	size_t bound = compressBound(len);
#if HAVE_ZSTD
	if (ZSTD_compressBound(len) > bound)
		bound = ZSTD_compressBound(len);
#endif
	return bound;
}

size_t codec_compress(struct codec *codec, const uint8_t *in, size_t len, uint8_t *out,
		      uint8_t *kind)
{
#if HAVE_ZSTD
	size_t n = ZSTD_compressCCtx(codec->compress, out, codec_bound(len), in, len, ZSTD_LEVEL);
	*kind = CODEC_ZSTD;
	if (!ZSTD_isError(n) && n < len)
		return n;
#else
	(void)codec;
	uLongf n = codec_bound(len);
	*kind = CODEC_ZLIB;
	if (compress2(out, &n, in, len, ZLIB_LEVEL) == Z_OK && n < len)
		return n;
#endif
	*kind = CODEC_STORED;
	if (len)
		memcpy(out, in, len);
	return len;
}

int codec_expand(struct codec *codec, uint8_t kind, const uint8_t *in, size_t in_len, uint8_t *out,
		 size_t out_len)
{
	switch (kind) {
	case CODEC_STORED:
		if (in_len != out_len)
			return -EBADMSG;
		if (in_len)
			memcpy(out, in, in_len);
		return 0;
	case CODEC_ZLIB: {
		uLongf n = out_len;

		if (uncompress(out, &n, in, in_len) != Z_OK || n != out_len)
			return -EBADMSG;
		return 0;
	}
	case CODEC_ZSTD:
#if HAVE_ZSTD
		if (ZSTD_decompressDCtx(codec->expand, out, out_len, in, in_len) != out_len)
			return -EBADMSG;
		return 0;
#else
		(void)codec;
		return -ENOTSUP;
#endif
	}
	return -ENOTSUP;
}
