/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* codec.h: compression of a recording's payloads: zstd, or zlib where Pugmark was built without. */
#ifndef OFFLINE_CODEC_H
#define OFFLINE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum codec_kind { CODEC_STORED = 0, CODEC_ZLIB = 1, CODEC_ZSTD = 2 };

struct codec; /* working memory, for one thread */

struct codec *codec_new(void);
/* From here on it compresses in two thirds of the time, to about a tenth more. */
void codec_hurry(struct codec *codec);
void codec_free(struct codec *codec);

/* The most bytes that codec_compress() can write for @len of input. */
size_t codec_bound(size_t len);
/* Compresses @len bytes of @in to @out, of at least codec_bound(@len) bytes. Returns the length and
 * sets @kind: CODEC_STORED where nothing is gained. Cannot fail. */
size_t codec_compress(struct codec *codec, const uint8_t *in, size_t len, uint8_t *out,
		      uint8_t *kind);
/* Whether this build has the codec. */
bool codec_known(uint8_t kind);
/* Expands @in to exactly @out_len bytes. Returns 0, or -EBADMSG where that cannot be, -ENOTSUP
 * where this build lacks the codec, -ENOMEM. */
int codec_expand(struct codec *codec, uint8_t kind, const uint8_t *in, size_t in_len, uint8_t *out,
		 size_t out_len);

#endif
