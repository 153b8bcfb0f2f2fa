// SPDX-License-Identifier: LGPL-2.1-or-later
/* captures_iter.c: one task's records, segment after segment. What is missing between two, by the
 * numbers in their headers, or cannot be read, is one record CAPTURE_LOST. */
#include "offline/capture/captures.h"

#include "offline/capture/capture_code.h"
#include "offline/capture/captures_impl.h"

#include <errno.h>

struct captures_iter {
	const struct captures *captures;
	struct capture_decoder *decoder;
	struct codec *codec;
	struct bytes stored, raw;
	uint32_t segment, task; /* the next one; captures->segments.n: none */
	uint64_t number;	/* of the next record */
	uint64_t order, time_ns;
	bool open;
};

int captures_iter_new(const struct captures *captures, uint32_t task, struct captures_iter **out)
{
	struct captures_iter *it = calloc(1, sizeof(*it));

	if (it) {
		it->captures = captures;
		it->decoder = capture_decoder_new();
		it->codec = codec_new();
	}
	if (!it || !it->decoder || !it->codec) {
		captures_iter_free(it);
		return -ENOMEM;
	}
	it->task = task;
	it->segment = capture_segments_find(&captures->segments, CAPTURE_SEGMENT_RECORDS, task, 0);
	*out = it;
	return 0;
}

void captures_iter_free(struct captures_iter *it)
{
	if (!it)
		return;
	capture_decoder_free(it->decoder);
	codec_free(it->codec);
	bytes_deinit(&it->stored);
	bytes_deinit(&it->raw);
	free(it);
}

static int lose(struct captures_iter *it, uint64_t to, struct capture *out)
{
	*out = (struct capture){
		.kind = CAPTURE_LOST,
		.place = CAPTURE_NONE,
		.map_file = CAPTURE_NONE,
		.number = it->number,
		.order = it->order,
		.time_ns = it->time_ns,
		.lost = to - it->number,
	};
	it->number = to;
	return 1;
}

/* Opens the next segment. 1: there is one; 0: there is none; else what lose() says. */
static int open_next(struct captures_iter *it, struct capture *out, bool *lost)
{
	const struct capture_segments *s = &it->captures->segments;

	if (it->segment == s->n || s->at[it->segment].header.kind != CAPTURE_SEGMENT_RECORDS ||
	    s->at[it->segment].header.task != it->task)
		return 0;
	const struct segment_ref *seg = &s->at[it->segment];
	if (seg->header.first_event > it->number) {
		*lost = true;
		return lose(it, seg->header.first_event, out);
	}
	it->segment++;
	int err = segment_load(s->fd, seg, it->codec, &it->stored, &it->raw);
	if (!err)
		err = capture_decoder_open(it->decoder, it->raw.data, seg->header.raw_bytes);
	if (err == -ENOMEM || err == -EIO)
		return err;
	*lost = err != 0;
	it->open = !err;
	return err ? lose(it, seg->header.first_event + seg->header.n, out) : 1;
}

/* What the record's place tells. */
static bool place_of(const struct captures *c, struct capture *r)
{
	if (r->place == CAPTURE_NONE)
		return true;
	if (r->place >= c->n_places)
		return false;
	const struct capture_place *p = &c->places[r->place];
	r->ip = c->bias[p->module] + p->addr;
	return true;
}

/* A file that the table does not have: it may be of a moment before that file was mapped. */
static void file_of(const struct captures *c, struct capture *r)
{
	if (r->map_file < CAPTURE_UNKNOWN && r->map_file >= c->n_files)
		r->map_file = CAPTURE_UNKNOWN;
}

int captures_next(struct captures_iter *it, struct capture *out)
{
	for (;;) {
		bool lost = false;
		int got = it->open ? capture_decoder_next(it->decoder, out) : 0;

		if (got > 0 && !place_of(it->captures, out))
			got = -EBADMSG;
		if (got > 0) {
			file_of(it->captures, out);
			out->number = it->number++;
			it->order = out->order;
			it->time_ns = out->time_ns;
			return 1;
		}
		if (got == -ENOMEM)
			return got;
		if (got < 0) { /* what follows in there has no meaning */
			const struct segment_header *h =
				&it->captures->segments.at[it->segment - 1].header;

			it->open = false;
			return lose(it, h->first_event + h->n, out);
		}
		it->open = false;
		got = open_next(it, out, &lost);
		if (got <= 0 || lost)
			return got;
	}
}
