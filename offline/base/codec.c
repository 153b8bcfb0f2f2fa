// SPDX-License-Identifier: LGPL-2.1-or-later
/* codec.c: zstd and zlib behind one pair of calls. */
#include "offline/base/codec.h"

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

enum { ZSTD_LEVEL = 3, ZLIB_LEVEL = 6, HURRIED_LEVEL = 1 };

struct codec {
#if HAVE_ZSTD
	ZSTD_CCtx *compress; /* each made when it is first needed: a reader has one a thread, and */
	ZSTD_DCtx *expand;   /* compresses nothing */
#endif
	bool hurried;
};

struct codec *codec_new(void)
{
	return calloc(1, sizeof(struct codec));
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

void codec_hurry(struct codec *codec)
{
	codec->hurried = true;
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
	if (!codec->compress)
		codec->compress = ZSTD_createCCtx();
	size_t n = len;
	if (codec->compress)
		n = ZSTD_compressCCtx(codec->compress, out, codec_bound(len), in, len,
				      codec->hurried ? HURRIED_LEVEL : ZSTD_LEVEL);
	*kind = CODEC_ZSTD;
	if (!ZSTD_isError(n) && n < len)
		return n;
#else
	uLongf n = codec_bound(len);
	*kind = CODEC_ZLIB;
	if (compress2(out, &n, in, len, codec->hurried ? HURRIED_LEVEL : ZLIB_LEVEL) == Z_OK &&
	    n < len)
		return n;
#endif
	*kind = CODEC_STORED;
	if (len)
		memcpy(out, in, len);
	return len;
}

bool codec_known(uint8_t kind)
{
	return kind == CODEC_STORED || kind == CODEC_ZLIB || (kind == CODEC_ZSTD && HAVE_ZSTD);
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
		if (!codec->expand)
			codec->expand = ZSTD_createDCtx();
		if (!codec->expand)
			return -ENOMEM;
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
