// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_segment.c: any bytes as the payload of a segment. The decoder either refuses them or hands
 * out at most as many events as the header says, each with its fields in range; and what it hands
 * out survives being written and read again. The first two bytes are the number of events; with the
 * highest bit of these the payload is in columns. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offline/log/segment.h"
#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Decodes @payload and adds the events to @enc; returns how many there were. */
static uint32_t copy_events(struct segment_decoder *dec, const uint8_t *payload,
			    const struct segment_header *header, struct segment_encoder *enc)
{
	struct pugmark_witness_event e;
	uint32_t n = 0;
	uint64_t base, sum = 0;

	if (segment_decoder_open(dec, payload, header))
		return 0;
	while (segment_decoder_next(dec, &e) == 1) {
		MUST(++n <= header->n);
		MUST(e.module < SEGMENT_MAX_MODULES);
		MUST(e.stack_words <= SNAPSHOT_MAX_WORDS);
		for (uint32_t i = 0; i < e.stack_words; i++)
			sum ^= e.stack[i];
		if (e.kind <= PUGMARK_EVENT_STOP)
			segment_encoder_add(enc, &e);
	}
	segment_decoder_base(dec, sum & 0xffff, &base);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t bases[SEGMENT_MAX_MODULES];
	struct segment_decoder *dec = segment_decoder_new();
	struct segment_encoder *enc = segment_encoder_new(1), *again = segment_encoder_new(1);
	struct segment_header header = {.n = 0}, second = {.n = 0};
	bool in_columns = size >= 2 && data[1] & 0x80;

	if (size >= 2) {
		uint8_t *payload = malloc(size - 2 + (size == 2));

		header.n = data[0] | (data[1] & 0x7f) << 8;
		if (in_columns) {
			header.version = SEGMENT_VERSION_COLUMNS;
			segment_encoder_columns(enc);
		}
		header.raw_bytes = size - 2;
		memcpy(payload, data + 2, size - 2);
		segment_encoder_reset(enc, bases, 0);
		segment_encoder_reset(again, bases, 0);
		copy_events(dec, payload, &header, enc);
		uint32_t n = segment_encoder_count(enc);
		const uint8_t *copy = segment_encoder_finish(enc, &second);
		MUST(copy);
		MUST(copy_events(dec, copy, &second, again) == n);
		free(payload);
	}
	segment_encoder_free(enc);
	segment_encoder_free(again);
	segment_decoder_free(dec);
	return 0;
}
