// SPDX-License-Identifier: LGPL-2.1-or-later
/* page.c: see page.h. The timeline's events are numbers of seven bits a byte, deflated, in base64:
 *
 *   1 THREAD STACK AT    what follows is of that stack of that thread, from AT on
 *   3 DT LENGTH CAUSE    a gap
 *   0 DT DOUBT           the innermost call ends
 *   2 * (FRAME + 1) DT DOUBT   a call begins
 *
 * Times are in ns (or counts of events, where there are none), DT since the event before, and DOUBT
 * the distance of an event's bounds. page_data.c writes what follows the events. */
#include "user/page/page.h"

#include "user/page/assets.h"
#include "user/page/base64.h"
#include "user/page/page_data.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

enum { BUFFER_BYTES = 1 << 14, EVENT_BYTES_MAX = 40 };

struct page {
	z_stream stream;
	bool open;
	struct base64 base64;
	uint8_t bytes[BUFFER_BYTES];
	uint32_t n;
	uint32_t on; /* number of the track that events are of, + 1 */
	uint64_t last_ns, end_ns, events;
	struct page_gaps gaps;
};

static void put_asset(struct outbuf *out, const char *from, const char *to)
{
	outbuf_bytes(out, from, (size_t)(to - from));
}

static void compress_all(struct export *x, int how)
{
	struct page *s = x->state;
	uint8_t bytes[BUFFER_BYTES];
	s->stream.next_in = s->bytes;
	s->stream.avail_in = s->n;
	do {
		s->stream.next_out = bytes;
		s->stream.avail_out = sizeof(bytes);
		deflate(&s->stream, how);
		base64_put(&s->base64, bytes, sizeof(bytes) - s->stream.avail_out);
	} while (!s->stream.avail_out);
	s->n = 0;
}

static void put(struct page *s, uint64_t value)
{
	for (; value > 127; value >>= 7)
		s->bytes[s->n++] = (uint8_t)(value | 128);
	s->bytes[s->n++] = (uint8_t)value;
}

void page_begin(struct outbuf *out, bool served)
{
	/* Nothing is asked of any network, whatever the recording holds. */
	outbuf_text(out,
		    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:");
	outbuf_text(out, served ? "; connect-src 'self'\">\n" : "\">\n");
	outbuf_text(out, "<link rel=\"icon\" href=\"data:,\">\n<title>pugmark</title>\n<style>\n");
	put_asset(out, page_css, page_css_end);
	outbuf_text(out, "</style>\n</head>\n<body>\n");
	put_asset(out, page_body, page_body_end);
}

void page_end(struct export *x, const struct page_facts *facts)
{
	struct outbuf *out = x->replay.out;
	outbuf_text(out, "<script type=\"application/json\" id=\"data\">\n");
	page_data(x, facts);
	outbuf_text(out, "</script>\n<script>\n");
	put_asset(out, page_against_js, page_against_js_end);
	put_asset(out, page_requests_js, page_requests_js_end);
	put_asset(out, page_flame_js, page_flame_js_end);
	put_asset(out, page_tracks_js, page_tracks_js_end);
	put_asset(out, page_function_js, page_function_js_end);
	put_asset(out, page_js, page_js_end);
	outbuf_text(out, "</script>\n</body>\n</html>\n");
}

static void begin(struct export *x)
{
	struct page *s = x->state;
	struct outbuf *out = x->replay.out;
	s->base64.out = out;
	if (deflateInit(&s->stream, Z_DEFAULT_COMPRESSION) != Z_OK) {
		export_fail(x, -ENOMEM, "out of memory");
		return;
	}
	s->open = true;
	page_begin(out, false);
	outbuf_text(out, "<script type=\"text/plain\" id=\"events\">\n");
}

/* Makes ready for an event drawn @at_ns; false: there are too many. Puts its first number. */
static bool event(struct export *x, uint64_t at_ns, uint64_t tag)
{
	struct page *s = x->state;
	s->events++;
	if (at_ns > s->end_ns)
		s->end_ns = at_ns;
	if (s->events > PAGE_EVENTS_MAX)
		return false;
	if (s->n + 2 * EVENT_BYTES_MAX > BUFFER_BYTES)
		compress_all(x, Z_NO_FLUSH);
	if (s->on != x->on->number + 1) {
		s->on = x->on->number + 1;
		put(s, 1);
		put(s, page_thread(x, x->on->task));
		put(s, x->on->stack);
		put(s, at_ns);
		s->last_ns = at_ns;
	}
	put(s, tag);
	put(s, at_ns > s->last_ns ? at_ns - s->last_ns : 0);
	if (at_ns > s->last_ns)
		s->last_ns = at_ns;
	return true;
}

static uint64_t doubt(const struct export *x, struct export_time time)
{
	return x->times ? time.latest_ns - time.earliest_ns : 0;
}

static void call(struct export *x, const struct export_call *call)
{
	if (event(x, call->at_ns, 2ul * (call->frame + 1ul)))
		put(x->state, doubt(x, call->begin));
}

static void ret(struct export *x, const struct export_call *call, const struct export_end *end)
{
	(void)call;
	if (event(x, end->at_ns, 0))
		put(x->state, doubt(x, end->end));
}

static void gap(struct export *x, const struct export_gap *gap)
{
	struct page *s = x->state;
	uint64_t length = doubt(x, gap->span);
	page_gaps_add(&s->gaps, x, gap);
	if (event(x, gap->at_ns, 3)) {
		put(s, length);
		put(s, gap->cause);
	}
	if (gap->at_ns + length > s->end_ns)
		s->end_ns = gap->at_ns + length;
}

static void end(struct export *x)
{
	struct page *s = x->state;
	struct outbuf *out = x->replay.out;
	compress_all(x, Z_FINISH);
	base64_end(&s->base64);
	outbuf_text(out, "\n</script>\n");
	page_end(x, &(struct page_facts){
			    .end_ns = s->end_ns,
			    .cut = s->events > PAGE_EVENTS_MAX ? PAGE_EVENTS_MAX : 0,
			    .gaps = &s->gaps,
		    });
}

static void deinit(struct export *x)
{
	struct page *s = x->state;
	if (s->open)
		deflateEnd(&s->stream);
	free(s->gaps.at);
}

const struct export_format page_format = {
	.name = "html",
	.suffix = "html",
	.brief = "a page",
	.state_bytes = sizeof(struct page),
	.adds_up = true,
	.begin = begin,
	.call = call,
	.ret = ret,
	.gap = gap,
	.end = end,
	.deinit = deinit,
};
