// SPDX-License-Identifier: LGPL-2.1-or-later
/* recording_iter.c: one task's events in order, segment by segment, with what is missing between
 * them said in its place. */
#include "offline/base/search.h"
#include "offline/log/recording_impl.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

struct pugmark_recording_iter {
	struct pugmark_recording *rec;
	uint32_t number;	   /* of the task */
	uint32_t next, end, grown; /* its segments, when the recording had grown so often */
	struct codec *codec;
	struct segment_decoder *dec;
	struct bytes stored, raw;
	uint64_t expected; /* number of the next event */
	uint64_t time_ns;
	uint32_t left;			   /* events of the open segment */
	struct pugmark_witness_event made; /* an event that is in no segment */
	uint32_t n_opened;
	uint8_t last_kind;
	bool open, any, said_cut;
};

/* Whether a segment comes before those with the events of the task @number from @event on. */
static bool is_before(const struct segment_header *h, uint64_t number, uint64_t event)
{
	if (h->kind != SEGMENT_EVENTS)
		return h->kind < SEGMENT_EVENTS;
	return h->task < number || (h->task == number && h->first_event < event);
}

/* Where the task's segments are now that have not been read. Segments of events come first, by
 * task. */
static void find_segments(struct pugmark_recording_iter *iter)
{
	const struct segment_ref *at = iter->rec->segments;
	uint32_t n = iter->rec->n_segments;

	iter->next =
		SEARCH_FIRST_NOT(0u, n, i, is_before(&at[i].header, iter->number, iter->expected));
	iter->end = SEARCH_FIRST_NOT(iter->next, n, i,
				     is_before(&at[i].header, iter->number + 1ull, 0));
	iter->grown = iter->rec->grown;
}

int pugmark_recording_iter_new(const struct pugmark_recording *rec, uint32_t index,
			       struct pugmark_recording_iter **out)
{
	if (index >= rec->n_tasks)
		return -EINVAL;
	struct pugmark_recording_iter *iter = calloc(1, sizeof(*iter));
	if (!iter)
		return -ENOMEM;
	iter->rec = (struct pugmark_recording *)rec; /* only its spare codec is written */
	iter->codec = atomic_exchange(&iter->rec->spare, NULL);
	if (!iter->codec)
		iter->codec = codec_new();
	iter->dec = segment_decoder_new();
	if (!iter->codec || !iter->dec) {
		pugmark_recording_iter_free(iter);
		return -ENOMEM;
	}
	iter->number = rec->tasks[index].number;
	find_segments(iter);
	*out = iter;
	return 0;
}

void pugmark_recording_iter_free(struct pugmark_recording_iter *iter)
{
	if (!iter)
		return;
	codec_free(atomic_exchange(&iter->rec->spare, iter->codec));
	segment_decoder_free(iter->dec);
	bytes_deinit(&iter->stored);
	bytes_deinit(&iter->raw);
	free(iter);
}

static int say_lost(struct pugmark_recording_iter *iter, uint64_t lost)
{
	iter->made = (struct pugmark_witness_event){
		.kind = PUGMARK_EVENT_LOST,
		.flags = PUGMARK_EVENT_DAMAGED,
		.lost = lost,
		.time_ns = iter->time_ns,
	};
	iter->any = true;
	iter->last_kind = PUGMARK_EVENT_LOST;
	return 1;
}

/* Opens the next segment. Returns 1, or 2 where something is missing and an event says so, 0 at the
 * end. */
static int next_segment(struct pugmark_recording_iter *iter)
{
	if (iter->grown != iter->rec->grown)
		find_segments(iter);
	while (iter->next < iter->end) {
		const struct segment_ref *seg = &iter->rec->segments[iter->next];
		const struct segment_header *h = &seg->header;

		if (h->first_event < iter->expected) { /* one that was there already */
			iter->next++;
			continue;
		}
		if (h->first_event > iter->expected) {
			uint64_t lost = h->first_event - iter->expected;

			iter->expected = h->first_event;
			say_lost(iter, lost);
			return 2;
		}
		iter->next++;
		iter->expected += h->n;
		int err = segment_version_known(h->version) ? 0 : -ENOTSUP;
		if (!err)
			err = segment_load(iter->rec->fd, seg, iter->codec, &iter->stored,
					   &iter->raw);
		if (!err)
			err = segment_decoder_open(iter->dec, iter->raw.data, h);
		if (!err) {
			iter->open = true;
			iter->left = h->n;
			iter->n_opened++;
			return 1;
		}
		if (err != -EBADMSG && err != -ENOTSUP)
			return err;
		say_lost(iter, h->n);
		return 2;
	}
	return 0;
}

static bool is_ended(const struct pugmark_recording_iter *iter)
{
	return iter->last_kind == PUGMARK_EVENT_END || iter->last_kind == PUGMARK_EVENT_STOP;
}

bool recording_may_go_on(const struct pugmark_recording_iter *iter)
{
	return iter->rec->growing && !(iter->any && is_ended(iter));
}

int recording_take(struct pugmark_recording_iter *iter, struct pugmark_witness_event **event)
{
	for (;;) {
		if (!iter->open) {
			int n = next_segment(iter);

			*event = &iter->made;
			if (n == 2)
				return 1;
			if (n < 0)
				return n;
			if (!n)
				break;
		}
		int n = segment_decoder_take(iter->dec, event);
		if (n == 1) {
			iter->left--;
			iter->any = true;
			iter->last_kind = (*event)->kind;
			/* A segment begins with its exact time, and the one before may have been
			 * read as half a unit later than it was. */
			if ((*event)->time_ns < iter->time_ns)
				(*event)->time_ns = iter->time_ns;
			iter->time_ns = (*event)->time_ns;
			return 1;
		}
		iter->open = false;
		*event = &iter->made;
		if (n == -ENOMEM)
			return n;
		if (n < 0)
			return say_lost(iter, iter->left);
	}
	if (iter->said_cut || !iter->any || is_ended(iter) || iter->rec->growing)
		return 0;
	iter->said_cut = true;
	return say_lost(iter, 0);
}

int pugmark_recording_next(struct pugmark_recording_iter *iter, struct pugmark_witness_event *event)
{
	struct pugmark_witness_event *taken;
	int n = recording_take(iter, &taken);

	if (n == 1)
		*event = *taken;
	return n;
}

uint32_t recording_opened(const struct pugmark_recording_iter *iter)
{
	return iter->n_opened;
}

bool pugmark_recording_bias(const struct pugmark_recording_iter *iter, uint16_t module,
			    uint64_t *bias)
{
	return segment_decoder_base(iter->dec, module, bias);
}
