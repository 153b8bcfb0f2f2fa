/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* segment.h: one segment of a recording (docs/recording-format.md): its header, and the payload
 * that holds a run of events of one task. Bytes to events and back; no files here. */
#ifndef OFFLINE_SEGMENT_H
#define OFFLINE_SEGMENT_H

#include <pugmark/event.h>

#include <stdbool.h>
#include <stddef.h>

enum {
	SEGMENT_HEADER_BYTES = 64,
	SEGMENT_VERSION = 3,
	SEGMENT_VERSION_COLUMNS = 4,  /* its events are in columns */
	SEGMENT_MAX_BYTES = 16 << 20, /* of a payload once expanded */
	SEGMENT_MAX_EVENTS = 1 << 19,
	SEGMENT_MAX_MODULES = 64,
	SNAPSHOT_MAX_WORDS = 16384,
};

enum segment_kind { SEGMENT_EVENTS = 1, SEGMENT_PROCESS = 2 };

struct segment_header {
	uint16_t version; /* written: 0 is SEGMENT_VERSION */
	uint8_t kind;	  /* enum segment_kind */
	uint8_t codec;	  /* enum codec_kind */
	uint32_t task;
	uint64_t first_event; /* events of this task in earlier segments */
	uint32_t n;
	uint32_t raw_bytes, stored_bytes;
	uint32_t crc; /* of the stored payload */
	uint64_t first_ns, last_ns;
	uint32_t number;
};

void segment_header_write(const struct segment_header *header, uint8_t out[SEGMENT_HEADER_BYTES]);
/* Returns 0, or -EBADMSG where these 64 bytes are no intact header. */
int segment_header_read(const uint8_t in[SEGMENT_HEADER_BYTES], struct segment_header *header);
/* The next place in the file @fd of @size bytes, from @off on, that has an intact header; @size:
 * there is none. After damage reading goes on there. Holes, which may have terabytes, cost nothing.
 */
uint64_t segment_find(int fd, uint64_t off, uint64_t size);
/* Whether a segment, or a recording, of this version can be read. */
bool segment_version_known(uint64_t version);
extern const uint8_t segment_magic[8];

/* Encoding: events of one task are added, then the payload is made. The encoder owns its buffers
 * and keeps them for the next segment. */
struct segment_encoder;

/* @time_unit_ns: 0 for no times. */
struct segment_encoder *segment_encoder_new(uint32_t time_unit_ns);
void segment_encoder_free(struct segment_encoder *enc);
/* From the next reset on, events go into columns (segment_columns.h). */
void segment_encoder_columns(struct segment_encoder *enc);
/* Forgets all events; says with which load bases the next ones come. */
void segment_encoder_reset(struct segment_encoder *enc, const uint64_t *bases, uint64_t known);
/* Adds one event; its stack is copied. Returns 0; -ENOMEM; -ENOSPC: the segment is full, finish it
 * first; or -EINVAL: no segment can hold such an event. */
int segment_encoder_add(struct segment_encoder *enc, const struct pugmark_witness_event *event);
uint32_t segment_encoder_count(const struct segment_encoder *enc);
/* The payload, borrowed until the next reset; fills version, kind, n, raw_bytes, first_ns and
 * last_ns of
 * @header.
 * NULL where memory is short. */
const uint8_t *segment_encoder_finish(struct segment_encoder *enc, struct segment_header *header);

/* Decoding: @raw is borrowed while the decoder is in use. */
struct segment_decoder;

struct segment_decoder *segment_decoder_new(void);
void segment_decoder_free(struct segment_decoder *dec);
/* Returns 0, -ENOMEM, or -EBADMSG where the payload does not hold together. */
int segment_decoder_open(struct segment_decoder *dec, const uint8_t *raw,
			 const struct segment_header *header);
/* Returns 1 and the next event (its stack and its values are borrowed until the next call), 0 at
 * the end, -ENOMEM, or -EBADMSG. */
int segment_decoder_next(struct segment_decoder *dec, struct pugmark_witness_event *event);
/* The same without a copy: @*event is the decoder's, until the next call, and may be changed. */
int segment_decoder_take(struct segment_decoder *dec, struct pugmark_witness_event **event);
/* The run-time address of ELF address 0 of @module; false where no event here needs it. */
bool segment_decoder_base(const struct segment_decoder *dec, uint16_t module, uint64_t *base);

#endif
