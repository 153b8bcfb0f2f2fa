// SPDX-License-Identifier: LGPL-2.1-or-later
/* ctf.c: the Common Trace Format 1.8, a folder: `metadata`, which describes all else, and a stream
 * of events a track. Functions are values of an enumeration in the metadata, which is written last.
 * Both bounds of each time are fields, in ns after the recording's start; the timestamp is where
 * the event is drawn. Of a goroutine (--by goroutine)
 * comm is g and its number. Little-endian, packed to bytes. */
#include "user/export/export.h"

#include "offline/base/write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CTF_MAGIC = 0xC1FC1FC1, PACKET_BYTES = 1 << 18, EVENT_BYTES_MAX = 64 };
enum { EVENT_CALL = 0, EVENT_RETURN = 1, EVENT_GAP = 2 };

/* packet.header and packet.context as the metadata describes them. */
struct packet_head {
	uint32_t magic;
	uint32_t stream_id;
	uint64_t content_bits, packet_bits;
	uint64_t from_ns, to_ns;
	int32_t pid, tid;
	uint32_t stack;
	char comm[16];
} __attribute__((packed));

struct ctf_stream {
	int fd;
	uint32_t stack;
	uint32_t n; /* bytes in the packet */
	uint64_t from_ns, to_ns;
	uint8_t *packet; /* heap, PACKET_BYTES */
};

struct ctf {
	int dir;
	VEC(struct ctf_stream) streams; /* of the thread that is walked */
};

static void put(struct ctf_stream *stream, const void *data, uint32_t n)
{
	memcpy(stream->packet + stream->n, data, n);
	stream->n += n;
}

static void flush_packet(struct export *x, struct ctf_stream *stream, uint32_t task)
{
	const struct pugmark_recording_task *t = export_task(x, task);
	struct packet_head head = {
		.magic = CTF_MAGIC,
		.content_bits = 8ul * stream->n,
		.packet_bits = 8ul * stream->n,
		.from_ns = stream->from_ns,
		.to_ns = stream->to_ns,
		.pid = t->pid,
		.tid = t->tid,
		.stack = stream->stack,
	};
	if (stream->n <= sizeof(head))
		return;
	char who[VIEW_WHO_BYTES];
	trace_view_who(&x->replay.view, task, who);
	if (trace_view_goroutine(&x->replay.view, task))
		memcpy(head.comm, who, strnlen(who, sizeof(head.comm)));
	else
		printable_copy(head.comm, sizeof(head.comm), t->comm, PRINT_TEXT);
	memcpy(stream->packet, &head, sizeof(head));
	int err = write_all(stream->fd, stream->packet, stream->n);
	if (err)
		export_fail(x, err, "a stream cannot be written: %s", strerror(-err));
	stream->n = sizeof(head);
}

static void begin(struct export *x)
{
	struct ctf *s = x->state;
	s->dir = -1;
	s->dir = export_create_folder(x);
}

static struct ctf_stream *stream_of(struct export *x)
{
	struct ctf *s = x->state;
	for (uint32_t i = 0; i < s->streams.n; i++)
		if (s->streams.at[i].stack == x->on->stack)
			return &s->streams.at[i];
	uint8_t *packet = malloc(PACKET_BYTES);
	if (!packet || !VEC_RESERVE(&s->streams, 1)) {
		free(packet);
		export_fail(x, -ENOMEM, "out of memory");
		return NULL;
	}
	char name[32];
	snprintf(name, sizeof(name), "stream_%u", x->on->number);
	int fd = openat(s->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) {
		free(packet);
		export_fail(x, -errno, "%s in it cannot be created: %m", name);
		return NULL;
	}
	struct ctf_stream *stream = &s->streams.at[s->streams.n++];
	*stream = (struct ctf_stream){
		.fd = fd, .stack = x->on->stack, .n = sizeof(struct packet_head), .packet = packet};
	return stream;
}

/* The stream that takes the next event, drawn @at_ns, with its header written; NULL: a failure. */
static struct ctf_stream *event(struct export *x, uint8_t id, uint64_t at_ns)
{
	struct ctf_stream *stream = stream_of(x);
	if (stream && stream->n + EVENT_BYTES_MAX > PACKET_BYTES)
		flush_packet(x, stream, x->on->task);
	if (!stream || x->err)
		return NULL;
	if (stream->n == sizeof(struct packet_head))
		stream->from_ns = at_ns;
	stream->to_ns = at_ns;
	put(stream, &id, 1);
	put(stream, &at_ns, 8);
	return stream;
}

static void call(struct export *x, const struct export_call *call)
{
	struct ctf_stream *stream = event(x, EVENT_CALL, call->at_ns);
	if (!stream)
		return;
	put(stream, &call->frame, 4);
	put(stream, &call->site, 8);
	put(stream, &call->begin.earliest_ns, 8);
	put(stream, &call->begin.latest_ns, 8);
	put(stream, &call->how, 1);
	put(stream, &call->cause, 1);
}

static void ret(struct export *x, const struct export_call *call, const struct export_end *end)
{
	struct ctf_stream *stream = event(x, EVENT_RETURN, end->at_ns);
	if (!stream)
		return;
	put(stream, &call->frame, 4);
	put(stream, &end->end.earliest_ns, 8);
	put(stream, &end->end.latest_ns, 8);
	put(stream, &end->how, 1);
}

static void gap(struct export *x, const struct export_gap *gap)
{
	struct ctf_stream *stream = event(x, EVENT_GAP, gap->at_ns);
	if (!stream)
		return;
	put(stream, &gap->span.earliest_ns, 8);
	put(stream, &gap->span.latest_ns, 8);
	put(stream, &gap->lost, 8);
	put(stream, &gap->cause, 1);
}

static void thread_end(struct export *x, uint32_t task)
{
	struct ctf *s = x->state;
	for (uint32_t i = 0; i < s->streams.n; i++) {
		flush_packet(x, &s->streams.at[i], task);
		free(s->streams.at[i].packet);
		if (close(s->streams.at[i].fd))
			export_fail(x, -errno, "a stream cannot be written: %m");
	}
	s->streams.n = 0;
}

/* ---- the metadata ---- */

/* A string of the metadata; names are printable already. */
static void put_string(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else
			fputc(c, file);
	}
	fputc('"', file);
}

static void put_words(FILE *file, const char *name, unsigned n, const char *(*word)(uint8_t))
{
	fprintf(file, "typealias enum : u8 {");
	for (unsigned i = 0; i < n; i++) {
		fprintf(file, i ? ", " : " ");
		put_string(file, word((uint8_t)i));
		fprintf(file, " = %u", i);
	}
	fprintf(file, " } := %s_t;\n", name);
}

static const char *end_word(uint8_t how)
{
	return how == CALL_RETURNED ? "returned" : export_end_word(how);
}

static void put_metadata(struct export *x, FILE *file)
{
	const struct trace_view *view = &x->replay.view;
	uint64_t offset = view->info->start_realtime_ns;
	fprintf(file,
		"/* CTF 1.8 */\n\n"
		"typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
		"typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
		"typealias integer { size = 32; align = 8; signed = true; } := s32;\n"
		"typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
		"typealias integer { size = 64; align = 8; signed = false; base = 16; } := "
		"address;\n"
		"typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := "
		"letter;\n\n"
		"trace { major = 1; minor = 8; byte_order = le;\n"
		"\tpacket.header := struct { u32 magic; u32 stream_id; };\n};\n\n"
		"env { tracer_name = \"pugmark\"; };\n\n"
		"clock { name = recording; freq = 1000000000; offset_s = %lu; offset = %lu; };\n"
		"typealias integer { size = 64; align = 8; signed = false; "
		"map = clock.recording.value; } := stamp;\n\n",
		offset / 1000000000, offset % 1000000000);
	put_words(file, "how", PUGMARK_TRACE_GAP + 1, export_how_word);
	put_words(file, "end", CALL_OPEN + 1, end_word);
	put_words(file, "cause", EXPORT_CAUSES, trace_view_cause);
	fprintf(file, "typealias enum : u32 {");
	for (uint32_t i = 0; i < x->frames.n; i++) {
		fprintf(file, i ? ",\n\t" : "\n\t");
		put_string(file, x->frames.at[i].name);
		fprintf(file, " = %u", i);
	}
	fprintf(file, "%s } := func_t;\n\n",
		x->frames.n ? "" : "\n\t\"none\" = 0"); /* no enumeration is empty */
	fprintf(file,
		"stream { id = 0;\n"
		"\tpacket.context := struct { u64 content_size; u64 packet_size; stamp "
		"timestamp_begin; stamp timestamp_end; s32 pid; s32 tid; u32 stack; letter "
		"comm[16]; };\n"
		"\tevent.header := struct { u8 id; stamp timestamp; };\n};\n\n"
		"event { name = \"call\"; id = 0; stream_id = 0;\n"
		"\tfields := struct { func_t func; address site; u64 earliest; u64 latest; "
		"how_t how; cause_t cause; };\n};\n"
		"event { name = \"return\"; id = 1; stream_id = 0;\n"
		"\tfields := struct { func_t func; u64 earliest; u64 latest; end_t end; };\n};\n"
		"event { name = \"gap\"; id = 2; stream_id = 0;\n"
		"\tfields := struct { u64 earliest; u64 latest; u64 lost; cause_t cause; };\n};\n");
}

static void end(struct export *x)
{
	struct ctf *s = x->state;
	int fd = openat(s->dir, "metadata", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file) {
		export_fail(x, -errno, "metadata in it cannot be created: %m");
		if (fd >= 0)
			close(fd);
		return;
	}
	put_metadata(x, file);
	bool whole = !ferror(file);
	if (fclose(file) || !whole)
		export_fail(x, -EIO, "metadata in it cannot be written");
}

static void deinit(struct export *x)
{
	struct ctf *s = x->state;
	for (uint32_t i = 0; i < s->streams.n; i++) {
		free(s->streams.at[i].packet);
		close(s->streams.at[i].fd);
	}
	VEC_FREE(&s->streams);
	if (s->dir >= 0)
		close(s->dir);
}

const struct export_format export_ctf = {
	.name = "ctf",
	.suffix = "ctf",
	.brief = "Common Trace Format 1.8, a folder (babeltrace2, Trace Compass)",
	.state_bytes = sizeof(struct ctf),
	.makes_path = true,
	.begin = begin,
	.call = call,
	.ret = ret,
	.gap = gap,
	.thread_end = thread_end,
	.end = end,
	.deinit = deinit,
};
