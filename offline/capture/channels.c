// SPDX-License-Identifier: LGPL-2.1-or-later
/* channels.c: see channels.h. */
#include "offline/capture/channels.h"

#include "offline/capture/capture_code.h"
#include "offline/capture/captures_impl.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* --- what a call was ------------------------------------------------------------------------- */

enum { AT_ARG3 = 1 }; /* it says itself where in the file */

static const struct channel_call {
	bool is; /* one that moves bytes, or else matters to channels */
	uint8_t what, flags, at;
} calls[CAPTURE_MAX_SYSCALLS] = {
	[SYS_read] = {true, CHANNEL_READ, 0, 0},
	[SYS_readv] = {true, CHANNEL_READ, 0, 0},
	[SYS_pread64] = {true, CHANNEL_READ, 0, AT_ARG3},
	[SYS_preadv] = {true, CHANNEL_READ, 0, AT_ARG3},
	[SYS_preadv2] = {true, CHANNEL_READ, 0, AT_ARG3},
	[SYS_recvfrom] = {true, CHANNEL_READ, 0, 0},
	[SYS_recvmsg] = {true, CHANNEL_READ, 0, 0},
	[SYS_write] = {true, CHANNEL_WRITE, 0, 0},
	[SYS_writev] = {true, CHANNEL_WRITE, 0, 0},
	[SYS_pwrite64] = {true, CHANNEL_WRITE, 0, AT_ARG3},
	[SYS_pwritev] = {true, CHANNEL_WRITE, 0, AT_ARG3},
	[SYS_pwritev2] = {true, CHANNEL_WRITE, 0, AT_ARG3},
	[SYS_sendto] = {true, CHANNEL_WRITE, 0, 0},
	[SYS_sendmsg] = {true, CHANNEL_WRITE, 0, 0},
	[SYS_sendfile] = {true, CHANNEL_WRITE, CHANNEL_INSIDE, 0},
	[SYS_splice] = {true, CHANNEL_READ, CHANNEL_INSIDE, 0},
	[SYS_copy_file_range] = {true, CHANNEL_READ, CHANNEL_INSIDE, 0},
	[SYS_tee] = {true, CHANNEL_READ, CHANNEL_INSIDE | CHANNEL_STAYS, 0},
	[SYS_ftruncate] = {true, CHANNEL_CUT, 0, 0},
	[SYS_fallocate] = {true, CHANNEL_CUT, 0, 0},
	[SYS_pipe] = {true, CHANNEL_MADE, 0, 0},
	[SYS_pipe2] = {true, CHANNEL_MADE, 0, 0},
	[SYS_socket] = {true, CHANNEL_MADE, 0, 0},
	[SYS_socketpair] = {true, CHANNEL_MADE, 0, 0},
	[SYS_accept] = {true, CHANNEL_MADE, 0, 0},
	[SYS_accept4] = {true, CHANNEL_MADE, 0, 0},
	[SYS_fork] = {true, CHANNEL_FORKED, 0, 0},
	[SYS_vfork] = {true, CHANNEL_FORKED, 0, 0},
	[SYS_clone] = {true, CHANNEL_FORKED, 0, 0},
	[SYS_clone3] = {true, CHANNEL_FORKED, 0, 0},
	[SYS_sendmmsg] = {true, CHANNEL_UNTOLD, 0, 0},
	[SYS_recvmmsg] = {true, CHANNEL_UNTOLD, 0, 0},
	[SYS_vmsplice] = {true, CHANNEL_UNTOLD, 0, 0}, /* to a pipe or from it */
	[SYS_io_submit] = {true, CHANNEL_UNTOLD, 0, 0},
	[SYS_io_uring_setup] = {true, CHANNEL_UNTOLD, 0, 0},
	[SYS_io_uring_enter] = {true, CHANNEL_UNTOLD, 0, 0},
};

static const struct channel_call *find_call(uint32_t nr)
{
	return nr < CAPTURE_MAX_SYSCALLS && calls[nr].is ? &calls[nr] : NULL;
}

/* Of preadv2() and pwritev2(), -1 says that it goes on where the descriptor stands. */
static bool says_where(const struct channel_call *call, const struct capture *c)
{
	return call->at == AT_ARG3 && c->args[3] != UINT64_MAX;
}

static uint64_t position_of(const struct channel_call *call, const struct capture *c,
			    const struct channel_note *note, uint64_t behind)
{
	uint64_t moved = note->flags & CHANNEL_STAYS ? 0 : note->bytes;
	if (note->kind == CHANNEL_TCP)
		return (uint32_t)((note->what == CHANNEL_WRITE ? behind >> 32 : behind) - moved);
	return note->kind != CHANNEL_FILE ? 0 : says_where(call, c) ? c->args[3] : behind - moved;
}

static bool stays(const struct capture *c)
{
	uint64_t flags = c->nr == SYS_recvfrom ? c->args[3] : c->nr == SYS_recvmsg ? c->args[2] : 0;
	return flags & MSG_PEEK;
}

uint32_t channel_notes_of(const struct capture *c, const struct capture_channel *channel,
			  struct channel_note out[2])
{
	const struct channel_call *call = find_call(c->nr);
	uint32_t n = 0;
	if (!call || c->result < 0 || (!c->result && call->what <= CHANNEL_WRITE))
		return 0;
	struct channel_note note = {.what = call->what,
				    .flags = call->flags | (stays(c) ? CHANNEL_STAYS : 0),
				    .order = c->order,
				    .entered = c->entered ? c->entered : c->order,
				    .bytes = call->what <= CHANNEL_WRITE ? (uint64_t)c->result : 0};
	if (call->what == CHANNEL_FORKED || call->what == CHANNEL_UNTOLD) {
		out[0] = note; /* in the child a fork() gives 0 */
		return c->result > 0 || call->what == CHANNEL_UNTOLD;
	}
	if (!channel)
		return 0;
	note.kind = channel->is & CHANNEL_KIND;
	note.device = channel->device;
	note.end = channel->end;
	note.peer = channel->peer;
	note.before = channel->before;
	note.after = channel->after;
	note.position = position_of(call, c, &note, channel->position);
	if (note.kind != CHANNEL_OTHER && !(channel->is & CHANNEL_SHIFTED))
		out[n++] = note;
	struct channel_note more = {
		.what = CHANNEL_UNTOLD, .order = note.order, .entered = note.entered};
	if (channel->is & (CHANNEL_RIGHTS | CHANNEL_SHIFTED)) {
		out[n++] = more;
	} else if (c->nr == SYS_socketpair && note.kind == CHANNEL_UNIX) {
		more = note;
		more.end = note.peer;
		more.peer = note.end;
		out[n++] = more;
	} else if (channel->besides && call->what == CHANNEL_READ) {
		more.what = CHANNEL_WRITE;
		more.kind = CHANNEL_PIPE;
		more.flags = CHANNEL_INSIDE;
		more.bytes = note.bytes;
		more.device = channel->besides_device;
		more.end = more.peer = channel->besides;
		out[n++] = more;
	}
	return n;
}

/* --- notes as bytes -------------------------------------------------------------------------- */

void channel_note_put(struct bytes *payload, const struct channel_note *last,
		      const struct channel_note *n)
{
	const uint8_t head[3] = {n->what, n->kind, n->flags};
	bytes_put(payload, head, sizeof(head));
	bytes_put_varint(payload, n->order - last->order);
	bytes_put_varint(payload, n->order - n->entered);
	bytes_put_varint(payload, n->bytes);
	bytes_put_varint(payload, n->device);
	bytes_put_varint(payload, n->end);
	bytes_put_varint(payload, n->peer);
	bytes_put_varint(payload, n->position);
	bytes_put_varint(payload, n->before);
	bytes_put_varint(payload, n->after - n->before);
}

/* Whether a call can be so. */
static bool is_sound(const struct channel_note *n)
{
	enum { MOVED_MOST = 0x7ffff000 }; /* by one call, whatever it was asked for */
	return n->what >= CHANNEL_READ && n->what <= CHANNEL_MISSED && n->kind <= CHANNEL_TCP &&
	       n->entered <= n->order && n->bytes <= MOVED_MOST &&
	       (n->kind != CHANNEL_TCP || n->position <= UINT32_MAX);
}

bool channel_note_get(struct cursor *payload, const struct channel_note *last,
		      struct channel_note *out)
{
	struct channel_note n = {0};
	uint64_t order, began, later;
	if (!cursor_byte(payload, &n.what) || !cursor_byte(payload, &n.kind) ||
	    !cursor_byte(payload, &n.flags) || !cursor_varint(payload, &order) ||
	    !cursor_varint(payload, &began) || !cursor_varint(payload, &n.bytes) ||
	    !cursor_varint(payload, &n.device) || !cursor_varint(payload, &n.end) ||
	    !cursor_varint(payload, &n.peer) || !cursor_varint(payload, &n.position) ||
	    !cursor_varint(payload, &n.before) || !cursor_varint(payload, &later))
		return false;
	n.order = last->order + order;
	n.entered = n.order - began;
	n.after = n.before + later;
	if (n.order < last->order || !is_sound(&n))
		return false;
	*out = n;
	return true;
}

/* --- all of a recording ---------------------------------------------------------------------- */

struct gathered {
	struct channel_note *at;
	size_t n, room;
};

static bool add(struct gathered *g, const struct channel_note *note)
{
	if (g->n == g->room) {
		size_t room = 2 * g->room + 256;
		struct channel_note *at = realloc(g->at, room * sizeof(*at));
		if (!at)
			return false;
		g->at = at;
		g->room = room;
	}
	g->at[g->n++] = *note;
	return true;
}

/* The notes of one segment; what is damaged is missing. 0 or -ENOMEM. */
static int read_segment(const struct captures *c, uint32_t i, struct codec *codec,
			struct bytes *stored, struct bytes *raw, struct gathered *g,
			struct channel_note *last)
{
	const struct segment_ref *seg = &c->segments.at[i];
	int err = segment_load(c->segments.fd, seg, codec, stored, raw);
	if (err == -ENOMEM)
		return err;
	struct cursor at = {raw->data, raw->data + (err ? 0 : seg->header.raw_bytes)};
	struct channel_note begins = {0}, *before = &begins;
	uint32_t k = 0;
	for (; k < seg->header.n && channel_note_get(&at, before, last); k++) {
		last->task = seg->header.task;
		if (!add(g, last))
			return -ENOMEM;
		before = last;
	}
	struct channel_note missed = {.what = CHANNEL_MISSED,
				      .task = seg->header.task,
				      .order = last->order,
				      .entered = last->order};
	return k < seg->header.n && !add(g, &missed) ? -ENOMEM : 0;
}

static int by_order(const void *a, const void *b)
{
	const struct channel_note *x = a, *y = b;
	return x->order != y->order ? (x->order < y->order ? -1 : 1) : (int)x->what - (int)y->what;
}

int captures_channels(const struct captures *c, struct channel_note **out, size_t *n)
{
	struct gathered g = {0};
	struct bytes stored = {0}, raw = {0};
	struct codec *codec = codec_new();
	struct channel_note last = {0};
	uint32_t task = 0;
	uint64_t next = 0;
	int err = codec ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < c->segments.n && !err; i++) {
		const struct segment_header *h = &c->segments.at[i].header;
		if (h->kind != CAPTURE_SEGMENT_CHANNELS)
			continue;
		if (h->task != task)
			last = (struct channel_note){0};
		next = h->task == task ? next : 0;
		task = h->task;
		struct channel_note missed = {.what = CHANNEL_MISSED,
					      .task = task,
					      .order = last.order,
					      .entered = last.order};
		if (h->first_event > next && !add(&g, &missed))
			err = -ENOMEM;
		next = h->first_event + h->n;
		err = err ? err : read_segment(c, i, codec, &stored, &raw, &g, &last);
	}
	const struct channel_note missed = {.what = CHANNEL_MISSED};
	if (!err && c->segments.n_whole != c->segments.n && !add(&g, &missed))
		err = -ENOMEM; /* of which task is not known */
	codec_free(codec);
	bytes_deinit(&stored);
	bytes_deinit(&raw);
	if (err) {
		free(g.at);
		return err;
	}
	if (g.n)
		qsort(g.at, g.n, sizeof(*g.at), by_order);
	*out = g.at;
	*n = g.n;
	return 0;
}
