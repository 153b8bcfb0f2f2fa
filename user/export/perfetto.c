// SPDX-License-Identifier: LGPL-2.1-or-later
/* perfetto.c: Perfetto's own trace format: TracePackets of one sequence, names interned; a track
 * for each thread, below its process, one more for each stack that it switched to, and one for its
 * gaps; and a flow from where a thread was made to its first call. Bounds of a time are debug
 * annotations `earliest` and `latest`, in ns after the recording's start; an event without them was
 * witnessed. Clock: CLOCK_MONOTONIC. Field numbers: perfetto's protos/perfetto/trace, 2024. */
#include "user/export/export.h"
#include "user/export/protobuf.h"

#include <errno.h>

/* TracePacket */
enum {
	PACKET = 1, /* of Trace */
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum { CLOCK_OF_REALTIME = 1, CLOCK_OF_MONOTONIC = 3 };
enum { DEFAULTS_CLOCK_ID = 58 };
/* TrackDescriptor, ProcessDescriptor, ThreadDescriptor */
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
/* TrackEvent */
enum {
	EVENT_CATEGORY = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_FLOW = 47,
	EVENT_FLOW_ENDS = 48,
};
enum { SLICE_BEGIN = 1, SLICE_END = 2, SLICE_INSTANT = 3 };
/* InternedData, and the entries of its tables */
enum { INTERNED_CATEGORY = 1, INTERNED_EVENT = 2, INTERNED_ANNOTATION = 3 };
enum { ENTRY_ID = 1, ENTRY_NAME = 2 };
/* DebugAnnotation */
enum { ANNOTATION_NAME = 1, ANNOTATION_UINT = 3, ANNOTATION_STRING = 6 };

/* Categories and annotations are few: all are interned at once. */
enum { CATEGORY_CALL = 1, CATEGORY_OUTSIDE, CATEGORY_GAP, CATEGORY_THREAD, N_CATEGORIES };
static const char *const categories[] = {NULL, "call", "outside", "gap", "thread"};
enum {
	NOTE_EARLIEST = 1,
	NOTE_LATEST,
	NOTE_CAUSE,
	NOTE_END,
	NOTE_LOST,
	NOTE_MODULE,
	NOTE_SITE,
	NOTE_BEGAN,
	NOTE_THREAD,
	N_NOTES
};
static const char *const notes[] = {NULL,   "earliest", "latest", "cause", "end",
				    "lost", "module",	"site",	  "began", "thread"};

/* Names of events: causes of gaps, one for new threads, then frames. */
enum { NAME_GAPS = 1, NAME_NEW_THREAD = NAME_GAPS + EXPORT_CAUSES, NAME_FRAMES };

/* Ids of tracks: processes by pid, threads by task, the others by number. */
#define UUID_PROCESS (1ul << 32)
#define UUID_THREAD (2ul << 32)
#define UUID_STACK (3ul << 32)
#define UUID_GAPS (4ul << 32)
#define UUID_OTHER (5ul << 32)

struct perfetto {
	struct protobuf pb;
	uint32_t n_named;   /* frames whose name is out */
	uint64_t gap_track; /* of the current thread, described already; 0: none */
	uint64_t uuid;	    /* the current track */
	uint32_t on;	    /* its number + 1 */
	bool any;	    /* the thread has an event */
};

static struct protobuf *pb_of(struct export *x)
{
	struct perfetto *s = x->state;
	return &s->pb;
}

static void flush(struct export *x)
{
	struct protobuf *pb = pb_of(x);
	if (pb->failed)
		export_fail(x, -ENOMEM, "out of memory");
	else
		outbuf_bytes(x->replay.out, (const char *)pb->at, pb->n);
	pb->n = 0;
}

static size_t packet(struct export *x, uint32_t flags)
{
	struct protobuf *pb = pb_of(x);
	size_t packet = protobuf_open(pb, PACKET);
	protobuf_uint(pb, PACKET_SEQUENCE, 1);
	if (flags)
		protobuf_uint(pb, PACKET_SEQUENCE_FLAGS, flags);
	return packet;
}

static void close_packet(struct export *x, size_t packet)
{
	protobuf_close(pb_of(x), packet);
	flush(x);
}

static void intern(struct protobuf *pb, uint32_t table, uint64_t id, const char *name)
{
	size_t entry = protobuf_open(pb, table);
	protobuf_uint(pb, ENTRY_ID, id);
	protobuf_text(pb, ENTRY_NAME, name);
	protobuf_close(pb, entry);
}

static void intern_fixed(struct protobuf *pb)
{
	char name[64];
	size_t data = protobuf_open(pb, PACKET_INTERNED);
	for (uint32_t i = 1; i < N_CATEGORIES; i++)
		intern(pb, INTERNED_CATEGORY, i, categories[i]);
	for (uint32_t i = 1; i < N_NOTES; i++)
		intern(pb, INTERNED_ANNOTATION, i, notes[i]);
	for (uint8_t i = 0; i < EXPORT_CAUSES; i++) {
		snprintf(name, sizeof(name), "gap: %s", trace_view_cause(i));
		intern(pb, INTERNED_EVENT, NAME_GAPS + i, name);
	}
	intern(pb, INTERNED_EVENT, NAME_NEW_THREAD, "new thread");
	protobuf_close(pb, data);
}

static void put_clock(struct protobuf *pb, uint32_t clock, uint64_t ns)
{
	size_t at = protobuf_open(pb, SNAPSHOT_CLOCK);
	protobuf_uint(pb, CLOCK_ID, clock);
	protobuf_uint(pb, CLOCK_TIMESTAMP, ns);
	protobuf_close(pb, at);
}

static void begin(struct export *x)
{
	struct protobuf *pb = pb_of(x);
	const struct pugmark_recording_info *info = x->replay.view.info;
	size_t p = packet(x, FLAG_CLEARED);
	size_t snapshot = protobuf_open(pb, PACKET_CLOCK_SNAPSHOT);
	put_clock(pb, CLOCK_OF_MONOTONIC, x->replay.view.start_ns);
	if (info->start_realtime_ns && info->start_monotonic_ns)
		put_clock(pb, CLOCK_OF_REALTIME, info->start_realtime_ns);
	protobuf_uint(pb, SNAPSHOT_PRIMARY, CLOCK_OF_MONOTONIC);
	protobuf_close(pb, snapshot);
	size_t defaults = protobuf_open(pb, PACKET_DEFAULTS);
	protobuf_uint(pb, DEFAULTS_CLOCK_ID, CLOCK_OF_MONOTONIC);
	protobuf_close(pb, defaults);
	intern_fixed(pb);
	close_packet(x, p);
}

/* ---- tracks ---- */

static void describe(struct export *x, uint64_t uuid, uint64_t parent, const char *name)
{
	struct protobuf *pb = pb_of(x);
	size_t p = packet(x, 0), t = protobuf_open(pb, PACKET_TRACK);
	protobuf_uint(pb, TRACK_UUID, uuid);
	protobuf_uint(pb, TRACK_PARENT, parent);
	protobuf_text(pb, TRACK_NAME, name);
	protobuf_close(pb, t);
	close_packet(x, p);
}

static void describe_process(struct export *x, const struct pugmark_recording_task *task)
{
	struct protobuf *pb = pb_of(x);
	size_t p = packet(x, 0), t = protobuf_open(pb, PACKET_TRACK);
	protobuf_uint(pb, TRACK_UUID, UUID_PROCESS + (uint32_t)task->pid);
	size_t process = protobuf_open(pb, TRACK_PROCESS);
	protobuf_uint(pb, PROCESS_PID, (uint64_t)task->pid);
	char comm[EXPORT_COMM_BYTES];
	export_comm(task, comm);
	if (task->tid == task->pid)
		protobuf_text(pb, PROCESS_NAME, comm);
	protobuf_close(pb, process);
	protobuf_close(pb, t);
	close_packet(x, p);
}

static void describe_thread(struct export *x, const struct pugmark_recording_task *task)
{
	struct protobuf *pb = pb_of(x);
	size_t p = packet(x, 0), t = protobuf_open(pb, PACKET_TRACK);
	protobuf_uint(pb, TRACK_UUID, UUID_THREAD + task->number);
	protobuf_uint(pb, TRACK_PARENT, UUID_PROCESS + (uint32_t)task->pid);
	size_t thread = protobuf_open(pb, TRACK_THREAD);
	protobuf_uint(pb, THREAD_PID, (uint64_t)task->pid);
	protobuf_uint(pb, THREAD_TID, (uint64_t)task->tid);
	char comm[EXPORT_COMM_BYTES];
	export_comm(task, comm);
	protobuf_text(pb, THREAD_NAME, comm);
	protobuf_close(pb, thread);
	protobuf_close(pb, t);
	close_packet(x, p);
}

static void track(struct export *x, const struct export_track *track)
{
	const struct pugmark_recording_task *task = export_task(x, track->task);
	uint64_t thread = UUID_THREAD + task->number;
	char name[EXPORT_TRACK_BYTES];
	if (trace_view_goroutine(&x->replay.view, track->task)) {
		describe_process(x, task);
		export_track_name(x, track, name, sizeof(name));
		describe(x, thread, UUID_PROCESS + (uint32_t)task->pid, name);
		return;
	}
	if (!track->stack) {
		describe_process(x, task);
		describe_thread(x, task);
		return;
	}
	export_track_name(x, track, name, sizeof(name));
	describe(x, UUID_STACK + track->number, thread, name);
}

static void settle_track(struct export *x)
{
	struct perfetto *s = x->state;
	if (s->on == x->on->number + 1)
		return;
	s->on = x->on->number + 1;
	s->uuid = x->on->stack ? UUID_STACK + x->on->number
			       : UUID_THREAD + export_task(x, x->on->task)->number;
}

/* ---- events ---- */

static uint64_t stamp(const struct export *x, uint64_t at_ns)
{
	return x->replay.view.start_ns + at_ns;
}

static size_t event(struct export *x, size_t *p, uint64_t at_ns, uint32_t type, uint64_t uuid)
{
	struct protobuf *pb = pb_of(x);
	*p = packet(x, FLAG_NEEDS_STATE);
	protobuf_uint(pb, PACKET_TIMESTAMP, stamp(x, at_ns));
	size_t e = protobuf_open(pb, PACKET_EVENT);
	protobuf_uint(pb, EVENT_TYPE, type);
	protobuf_uint(pb, EVENT_TRACK, uuid);
	return e;
}

static void note_uint(struct protobuf *pb, uint32_t name, uint64_t value)
{
	size_t note = protobuf_open(pb, EVENT_ANNOTATION);
	protobuf_uint(pb, ANNOTATION_NAME, name);
	protobuf_uint(pb, ANNOTATION_UINT, value);
	protobuf_close(pb, note);
}

static void note_text(struct protobuf *pb, uint32_t name, const char *text)
{
	size_t note = protobuf_open(pb, EVENT_ANNOTATION);
	protobuf_uint(pb, ANNOTATION_NAME, name);
	protobuf_text(pb, ANNOTATION_STRING, text);
	protobuf_close(pb, note);
}

static void note_bounds(struct export *x, struct export_time time)
{
	if (!x->times || time.earliest_ns == time.latest_ns)
		return;
	note_uint(pb_of(x), NOTE_EARLIEST, time.earliest_ns);
	note_uint(pb_of(x), NOTE_LATEST, time.latest_ns);
}

static void call(struct export *x, const struct export_call *call)
{
	struct perfetto *s = x->state;
	struct protobuf *pb = &s->pb;
	const struct export_frame *frame = &x->frames.at[call->frame];
	size_t p;
	settle_track(x);
	size_t e = event(x, &p, call->at_ns, SLICE_BEGIN, s->uuid);
	protobuf_uint(pb, EVENT_CATEGORY, frame->outside ? CATEGORY_OUTSIDE : CATEGORY_CALL);
	protobuf_uint(pb, EVENT_NAME, NAME_FRAMES + call->frame);
	note_bounds(x, call->begin);
	if (call->how == PUGMARK_TRACE_ENTER)
		note_text(pb, NOTE_CAUSE, trace_view_cause(call->cause));
	if (call->again)
		note_text(pb, NOTE_BEGAN, "before");
	if (!s->any && export_task(x, x->on->task)->parent)
		protobuf_fixed64(pb, EVENT_FLOW_ENDS, export_task(x, x->on->task)->number);
	s->any = true;
	protobuf_close(pb, e);
	if (call->frame >= s->n_named) { /* frames appear in the order of their numbers */
		size_t data = protobuf_open(pb, PACKET_INTERNED);
		for (; s->n_named <= call->frame; s->n_named++)
			intern(pb, INTERNED_EVENT, NAME_FRAMES + s->n_named,
			       x->frames.at[s->n_named].name);
		protobuf_close(pb, data);
	}
	close_packet(x, p);
}

static void ret(struct export *x, const struct export_call *call, const struct export_end *end)
{
	struct perfetto *s = x->state;
	size_t p;
	(void)call;
	settle_track(x);
	size_t e = event(x, &p, end->at_ns, SLICE_END, s->uuid);
	note_bounds(x, end->end);
	if (end->how != CALL_RETURNED)
		note_text(&s->pb, NOTE_END,
			  end->cut ? "in the next part" : export_end_word(end->how));
	protobuf_close(&s->pb, e);
	close_packet(x, p);
}

static void gap(struct export *x, const struct export_gap *gap)
{
	struct perfetto *s = x->state;
	const struct pugmark_recording_task *task = export_task(x, x->on->task);
	uint64_t to_ns =
		gap->span.latest_ns > gap->at_ns && x->times ? gap->span.latest_ns : gap->at_ns;
	size_t p;
	if (!s->gap_track) {
		s->gap_track = UUID_GAPS + task->number;
		describe(x, s->gap_track, UUID_THREAD + task->number, "gaps");
	}
	size_t e = event(x, &p, gap->at_ns, SLICE_BEGIN, s->gap_track);
	protobuf_uint(&s->pb, EVENT_CATEGORY, CATEGORY_GAP);
	protobuf_uint(&s->pb, EVENT_NAME, NAME_GAPS + gap->cause);
	if (gap->lost)
		note_uint(&s->pb, NOTE_LOST, gap->lost);
	protobuf_close(&s->pb, e);
	close_packet(x, p);
	e = event(x, &p, to_ns, SLICE_END, s->gap_track);
	protobuf_close(&s->pb, e);
	close_packet(x, p);
}

/* The threads that @task made: each a mark on its track, from where a flow goes to the new one. */
static void put_births(struct export *x, const struct pugmark_recording_task *task)
{
	struct perfetto *s = x->state;
	const struct trace_view *view = &x->replay.view;
	for (uint32_t i = 0; i < view->n_tasks; i++) {
		const struct pugmark_recording_task *child = &view->tasks[i];
		if (child->parent != task->number || !trace_view_has_task(view, i))
			continue;
		uint64_t at =
			child->first_ns > view->start_ns ? child->first_ns - view->start_ns : 0;
		size_t p, e = event(x, &p, at, SLICE_INSTANT, UUID_THREAD + task->number);
		protobuf_uint(&s->pb, EVENT_CATEGORY, CATEGORY_THREAD);
		protobuf_uint(&s->pb, EVENT_NAME, NAME_NEW_THREAD);
		note_uint(&s->pb, NOTE_THREAD, (uint64_t)child->tid);
		protobuf_fixed64(&s->pb, EVENT_FLOW, child->number);
		protobuf_close(&s->pb, e);
		close_packet(x, p);
	}
}

static void thread_end(struct export *x, uint32_t task)
{
	struct perfetto *s = x->state;
	if (s->any && x->times)
		put_births(x, export_task(x, task));
	s->any = false;
	s->gap_track = 0;
}

static void deinit(struct export *x)
{
	protobuf_deinit(pb_of(x));
}

const struct export_format export_perfetto = {
	.name = "perfetto",
	.suffix = "pftrace",
	.brief = "Perfetto's own format (ui.perfetto.dev)",
	.state_bytes = sizeof(struct perfetto),
	.begin = begin,
	.track = track,
	.call = call,
	.ret = ret,
	.gap = gap,
	.thread_end = thread_end,
	.deinit = deinit,
};
