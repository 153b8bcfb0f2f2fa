/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* capture_code.h: records of one task to the payload of a segment and back
 * (docs/recording-format.md, "Captures"). No files here. */
#ifndef OFFLINE_CAPTURE_CAPTURE_CODE_H
#define OFFLINE_CAPTURE_CAPTURE_CODE_H

#include "offline/capture/captures.h"

#include "offline/base/varint.h"

enum {
	CAPTURE_SEGMENT_RECORDS = 3, /* kinds of segments of the file `captures` */
	CAPTURE_SEGMENT_PAGES = 4,
	CAPTURE_SEGMENT_TABLE = 5,
	CAPTURE_SEGMENT_FILE = 6,
	CAPTURE_SEGMENT_CHANNELS = 7,

	CAPTURE_TIME_SHIFT = 16,	 /* times are told in units of 65536 ns */
	CAPTURE_SEGMENT_BYTES = 1 << 20, /* about where a segment is full */
	CAPTURE_PAGES = 256,		 /* at most, in a segment of them */
	CAPTURE_FILE_BYTES = 1 << 20,
};

struct capture_encoder;

struct capture_encoder *capture_encoder_new(void);
void capture_encoder_free(struct capture_encoder *enc);
/* Adds a record. Returns 0, or -ENOMEM. Told of it: what its kind has, rdx and the hash where
 * known, its ranges. */
int capture_encoder_add(struct capture_encoder *enc, const struct capture *c);
uint32_t capture_encoder_count(const struct capture_encoder *enc);
/* How long the payload is going to be, about. */
size_t capture_encoder_bytes(const struct capture_encoder *enc);
/* The payload, borrowed until the next call; begins anew. NULL: out of memory. */
const uint8_t *capture_encoder_finish(struct capture_encoder *enc, uint32_t *len);

struct capture_decoder;

struct capture_decoder *capture_decoder_new(void);
void capture_decoder_free(struct capture_decoder *dec);
/* @raw is borrowed while the decoder is in use. 0, or -EBADMSG. */
int capture_decoder_open(struct capture_decoder *dec, const uint8_t *raw, uint32_t len);
/* 1 and the next record (ip only of those without a place), 0 at the end, -EBADMSG, -ENOMEM. */
int capture_decoder_next(struct capture_decoder *dec, struct capture *out);

#endif
