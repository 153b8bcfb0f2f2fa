// SPDX-License-Identifier: LGPL-2.1-or-later
/* certificate.c: counts what is recovered and lists the gaps, thread by thread; then adds up, and
 * compares with what the recorder says it wrote. */
#include <pugmark/certificate.h>

#include <errno.h>
#include <stdlib.h>

#define PROGRESS_EVERY 65536 /* recovered events */

struct certifier {
	struct pugmark_thread_certificate part;
	uint64_t cap;
	uint32_t open; /* how many frames were open before the last gap, until the next event says
			  how many of them ended */
	bool in_gap;
};

static int add_gap(struct certifier *c, const struct pugmark_trace_event *e)
{
	struct pugmark_thread_certificate *part = &c->part;
	if (part->n_gaps == c->cap) {
		uint64_t cap = c->cap ? 2 * c->cap : 16;
		struct pugmark_gap *gaps = realloc(part->gaps, cap * sizeof(*gaps));
		if (!gaps)
			return -ENOMEM;
		part->gaps = gaps;
		c->cap = cap;
	}
	part->gaps[part->n_gaps++] = (struct pugmark_gap){
		.from_ns = e->from_ns,
		.to_ns = e->to_ns,
		.lost = e->lost,
		.cause = e->cause,
		.module = e->module,
		.was_module = e->target_module,
		.addr = e->addr,
		.was = e->was,
	};
	c->open = e->depth;
	c->in_gap = true;
	return 0;
}

/* Takes what the first event after a gap says of the frames before it. */
static void close_gap(struct certifier *c, uint32_t depth)
{
	if (c->in_gap && c->open > depth)
		c->part.gaps[c->part.n_gaps - 1].frames = c->open - depth;
	c->in_gap = false;
}

static int take(struct certifier *c, const struct pugmark_trace_event *events, uint32_t n)
{
	uint64_t n_events = 0;
	for (const struct pugmark_trace_event *e = events; e < events + n; e++) {
		uint8_t kind = e->kind;
		if (c->in_gap)
			close_gap(c, e->depth);
		if (kind != PUGMARK_TRACE_GAP)
			n_events += kind < PUGMARK_TRACE_BLOCK;
		else if (add_gap(c, e))
			return -ENOMEM;
	}
	c->part.events += n_events;
	return 0;
}

int pugmark_certify_thread(const struct pugmark_trace *trace, uint32_t task,
			   pugmark_certify_progress *progress, void *ctx,
			   struct pugmark_thread_certificate *out)
{
	struct certifier c = {0};
	struct pugmark_trace_iter *it;
	const struct pugmark_trace_event *events;
	int err = pugmark_trace_iter_new(trace, task, &it);
	if (err)
		return err;
	uint64_t told = 0;
	uint32_t n, untold = 0;
	while ((err = pugmark_trace_batch(it, &events, &n)) == 1) {
		err = take(&c, events, n);
		if (err)
			break;
		untold += n;
		if (progress && untold >= PROGRESS_EVERY) {
			uint64_t read = pugmark_trace_witnesses(it);
			progress(ctx, read - told);
			told = read;
			untold = 0;
		}
	}
	close_gap(&c, 0);
	c.part.witness_events = pugmark_trace_witnesses(it);
	if (progress)
		progress(ctx, c.part.witness_events - told);
	pugmark_trace_iter_free(it);
	if (err)
		pugmark_thread_certificate_deinit(&c.part);
	else
		*out = c.part;
	return err;
}

void pugmark_thread_certificate_deinit(struct pugmark_thread_certificate *part)
{
	free(part->gaps);
	*part = (struct pugmark_thread_certificate){0};
}

void pugmark_certificate_join(const struct pugmark_trace *trace,
			      const struct pugmark_thread_certificate *parts,
			      struct pugmark_certificate *out)
{
	const struct pugmark_recording *rec = pugmark_trace_recording(trace);
	const struct pugmark_recording_info *info = pugmark_recording_info(rec);
	struct pugmark_certificate c = {
		.closed = info->closed,
		.damaged_bytes = info->damaged_bytes,
	};
	uint32_t n;
	pugmark_recording_tasks(rec, &n);
	for (uint32_t i = 0; i < n; i++) {
		c.events += parts[i].events;
		c.witness_events += parts[i].witness_events;
		c.gaps += parts[i].n_gaps;
		for (uint64_t g = 0; g < parts[i].n_gaps; g++)
			c.lost += parts[i].gaps[g].lost;
	}
	uint64_t recorded = info->events + info->lost, placed = c.witness_events + c.lost;
	c.unplaced = recorded > placed ? recorded - placed : 0;
	c.complete = n && c.closed && !info->meta_damaged && !info->not_whole && !c.gaps &&
		     !c.damaged_bytes && !c.unplaced;
	*out = c;
}
