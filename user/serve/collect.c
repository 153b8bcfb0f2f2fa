// SPDX-License-Identifier: LGPL-2.1-or-later
/* collect.c: see serve.h. An export format that is in no table: calls go to the ranges, and the
 * page is the one of user/page/ without events. */
#include "user/serve/serve.h"

#include "user/page/page_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct collect {
	struct page_about about; /* first: what page_data.h reads */
	struct served *served;
};

struct state {
	struct page_gaps gaps;
	uint64_t end_ns;
};

static struct ranges *ranges_of(const struct export *x)
{
	return ((const struct collect *)x->about)->served->ranges;
}

static uint64_t doubt(const struct export *x, struct export_time time)
{
	return x->times ? time.latest_ns - time.earliest_ns : 0;
}

static void check(struct export *x, int err)
{
	if (err)
		export_fail(x, err, "the calls cannot be kept: %s", strerror(-err));
}

static void seen(struct export *x, uint64_t at_ns)
{
	struct state *s = x->state;
	if (at_ns > s->end_ns)
		s->end_ns = at_ns;
}

static void track(struct export *x, const struct export_track *t)
{
	check(x, ranges_track(ranges_of(x), t->number, page_thread(x, t->task), t->stack));
}

static void call(struct export *x, const struct export_call *call)
{
	seen(x, call->at_ns);
	check(x, ranges_call(ranges_of(x), x->on->number, call->at_ns, doubt(x, call->begin),
			     call->frame));
}

static void ret(struct export *x, const struct export_call *call, const struct export_end *end)
{
	(void)call;
	seen(x, end->at_ns);
	check(x, ranges_ret(ranges_of(x), x->on->number, end->at_ns, doubt(x, end->end)));
}

static void gap(struct export *x, const struct export_gap *gap)
{
	struct state *s = x->state;
	uint64_t length_ns = doubt(x, gap->span);
	page_gaps_add(&s->gaps, x, gap);
	seen(x, gap->at_ns + length_ns);
	check(x, ranges_gap(ranges_of(x), x->on->number, gap->at_ns, length_ns, gap->cause));
}

static void end(struct export *x)
{
	struct served *served = ((const struct collect *)x->about)->served;
	struct state *s = x->state;
	ranges_finish(served->ranges, s->end_ns);
	FILE *file = open_memstream(&served->page, &served->page_bytes);
	if (!file) {
		check(x, -ENOMEM);
		return;
	}
	outbuf_init(x->replay.out, file);
	page_begin(x->replay.out, true);
	page_end(x, &(struct page_facts){.end_ns = s->end_ns, .gaps = &s->gaps, .served = true});
	bool whole = outbuf_flush(x->replay.out);
	if (fclose(file) || !whole)
		check(x, -ENOMEM);
}

static void deinit(struct export *x)
{
	free(((struct state *)x->state)->gaps.at);
}

static const struct export_format format = {
	.name = "serve",
	.suffix = "html",
	.brief = "a page that asks for its timeline",
	.state_bytes = sizeof(struct state),
	.makes_path = true,
	.adds_up = true,
	.track = track,
	.call = call,
	.ret = ret,
	.gap = gap,
	.end = end,
	.deinit = deinit,
};

int serve_collect(struct export *x, const struct page_about *about, int fd, struct served *out,
		  struct pugmark_diag *diag)
{
	const struct collect collect = {.about = *about, .served = out};
	int err = ranges_new(fd, &out->ranges);
	if (err)
		return trace_view_no_memory(&x->replay.view, diag);
	x->format = &format;
	x->output = "-";
	x->about = &collect;
	x->weigh_calls = !x->replay.view.info->times;
	err = export_run(x, diag);
	x->about = NULL;
	return err;
}

void served_deinit(struct served *served)
{
	ranges_free(served->ranges);
	free(served->page);
}
