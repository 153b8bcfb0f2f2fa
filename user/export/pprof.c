// SPDX-License-Identifier: LGPL-2.1-or-later
/* pprof.c: a profile as `go tool pprof` reads it: gzip'ed protocol buffers, a sample for each stack
 * of calls. Each has four values: calls, and the time in its innermost function as drawn, at least
 * and at most. Field numbers: profile.proto of github.com/google/pprof. */
#include "user/export/call_tree.h"
#include "user/export/protobuf.h"

#include <errno.h>
#include <zlib.h>

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_DEFAULT_TYPE = 14,
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

/* The first strings; then two for each frame, its name and its module. */
static const char *const strings[] = {
	"", "calls", "count", "time", "nanoseconds", "time_at_least", "time_at_most", "[gap]"};
enum {
	TEXT_CALLS = 1,
	TEXT_COUNT,
	TEXT_TIME,
	TEXT_NS,
	TEXT_CERTAIN,
	TEXT_POSSIBLE,
	TEXT_GAP,
	TEXTS
};

struct pprof {
	z_stream stream;
	bool open;
	struct protobuf pb;
};

/* Compresses what is in the buffer. */
static void flush(struct export *x, int how)
{
	struct pprof *s = x->state;
	uint8_t bytes[1 << 14];
	if (s->pb.failed) {
		export_fail(x, -ENOMEM, "out of memory");
		return;
	}
	s->stream.next_in = s->pb.at;
	s->stream.avail_in = (uInt)s->pb.n;
	do {
		s->stream.next_out = bytes;
		s->stream.avail_out = sizeof(bytes);
		deflate(&s->stream, how);
		outbuf_bytes(x->replay.out, (char *)bytes, sizeof(bytes) - s->stream.avail_out);
	} while (!s->stream.avail_out);
	s->pb.n = 0;
}

static void flush_some(struct export *x)
{
	struct pprof *s = x->state;
	if (s->pb.n > 1 << 16)
		flush(x, Z_NO_FLUSH);
}

static void put_type(struct protobuf *pb, uint32_t type, uint32_t unit)
{
	size_t at = protobuf_open(pb, PROFILE_SAMPLE_TYPE);
	protobuf_uint(pb, TYPE_TYPE, type);
	protobuf_uint(pb, TYPE_UNIT, unit);
	protobuf_close(pb, at);
}

/* Locations and functions are numbered from 1: the gap, then the frames. */
static uint64_t location(uint32_t frame)
{
	return frame == EXPORT_GAP_FRAME ? 1 : (uint64_t)frame + 2;
}

static void put_samples(struct export *x)
{
	struct pprof *s = x->state;
	const struct export_contexts *c = x->contexts;
	for (uint32_t i = 1; i < c->n; i++) {
		const struct context_node *node = &c->nodes[i];
		size_t sample = protobuf_open(&s->pb, PROFILE_SAMPLE);
		size_t at = protobuf_open(&s->pb, SAMPLE_LOCATION);
		for (uint32_t n = i; n; n = c->nodes[n].parent)
			protobuf_varint(&s->pb, location(c->nodes[n].frame));
		protobuf_close(&s->pb, at);
		at = protobuf_open(&s->pb, SAMPLE_VALUE);
		protobuf_varint(&s->pb, node->calls);
		if (x->times) {
			protobuf_varint(&s->pb, node->self_ns);
			protobuf_varint(&s->pb, node->certain_ns);
			protobuf_varint(&s->pb, node->possible_ns);
		}
		protobuf_close(&s->pb, at);
		protobuf_close(&s->pb, sample);
		flush_some(x);
	}
}

static void put_function(struct export *x, uint64_t id, uint64_t name, uint64_t file)
{
	struct pprof *s = x->state;
	size_t at = protobuf_open(&s->pb, PROFILE_FUNCTION);
	protobuf_uint(&s->pb, FUNCTION_ID, id);
	protobuf_uint(&s->pb, FUNCTION_NAME, name);
	protobuf_uint(&s->pb, FUNCTION_SYSTEM_NAME, name);
	protobuf_uint(&s->pb, FUNCTION_FILE, file);
	protobuf_close(&s->pb, at);
	at = protobuf_open(&s->pb, PROFILE_LOCATION);
	protobuf_uint(&s->pb, LOCATION_ID, id);
	size_t line = protobuf_open(&s->pb, LOCATION_LINE);
	protobuf_uint(&s->pb, LINE_FUNCTION, id);
	protobuf_close(&s->pb, line);
	protobuf_close(&s->pb, at);
	flush_some(x);
}

static void end(struct export *x)
{
	struct pprof *s = x->state;
	const struct trace_view *view = &x->replay.view;
	if (deflateInit2(&s->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		export_fail(x, -ENOMEM, "out of memory");
		return;
	}
	s->open = true;
	put_type(&s->pb, TEXT_CALLS, TEXT_COUNT);
	if (x->times) {
		put_type(&s->pb, TEXT_TIME, TEXT_NS);
		put_type(&s->pb, TEXT_CERTAIN, TEXT_NS);
		put_type(&s->pb, TEXT_POSSIBLE, TEXT_NS);
	}
	put_samples(x);
	put_function(x, 1, TEXT_GAP, 0);
	for (uint32_t i = 0; i < x->frames.n; i++)
		put_function(x, (uint64_t)i + 2, TEXTS + 2 * i, TEXTS + 2 * i + 1);
	for (uint32_t i = 0; i < TEXTS; i++)
		protobuf_text(&s->pb, PROFILE_STRING, strings[i]);
	for (uint32_t i = 0; i < x->frames.n; i++) {
		protobuf_text(&s->pb, PROFILE_STRING, x->frames.at[i].name);
		protobuf_text(&s->pb, PROFILE_STRING, x->frames.at[i].module);
		flush_some(x);
	}
	uint64_t last_ns = view->start_ns;
	for (uint32_t i = 0; i < view->n_tasks; i++)
		if (view->tasks[i].last_ns > last_ns)
			last_ns = view->tasks[i].last_ns;
	if (view->info->start_realtime_ns)
		protobuf_uint(&s->pb, PROFILE_TIME, view->info->start_realtime_ns);
	protobuf_uint(&s->pb, PROFILE_DURATION, last_ns - view->start_ns);
	protobuf_uint(&s->pb, PROFILE_DEFAULT_TYPE,
		      x->times && !x->weigh_calls ? TEXT_TIME : TEXT_CALLS);
	flush(x, Z_FINISH);
}

static void deinit(struct export *x)
{
	struct pprof *s = x->state;
	if (s->open)
		deflateEnd(&s->stream);
	protobuf_deinit(&s->pb);
}

const struct export_format export_pprof = {
	.name = "pprof",
	.suffix = "pb.gz",
	.brief = "a profile for go tool pprof",
	.state_bytes = sizeof(struct pprof),
	.weighs = true,
	.adds_up = true,
	.end = end,
	.deinit = deinit,
};
