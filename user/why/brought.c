// SPDX-License-Identifier: LGPL-2.1-or-later
/* brought.c: see brought.h. */
#include "user/why/brought.h"

#include "offline/base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES_MAX = 1 << 16 };

/* A bit for each byte that was asked for. */
struct brought_call {
	uint32_t task;
	uint64_t order;
	uint64_t *asked;
	uint64_t room; /* in bits */
};

int brought_init(struct brought *b, const struct captures *captures,
		 const struct families *families)
{
	*b = (struct brought){0};
	return passages_new(captures, families, &b->passages);
}

void brought_deinit(struct brought *b)
{
	for (size_t i = 0; i < b->n_calls; i++)
		free(b->calls[i].asked);
	free(b->calls);
	free(b->pieces);
	passages_free(b->passages);
	*b = (struct brought){0};
}

/* --- what was read --------------------------------------------------------------------------- */

static struct brought_call *call_of(struct brought *b, uint32_t task, uint64_t order)
{
	size_t i = SEARCH_FIRST_NOT(0, b->n_calls, k,
				    b->calls[k].order < order || (b->calls[k].order == order &&
								  b->calls[k].task < task));
	if (i < b->n_calls && b->calls[i].order == order && b->calls[i].task == task)
		return &b->calls[i];
	if (b->n_calls == b->room_calls) {
		size_t room = 2 * b->room_calls + 64;
		struct brought_call *calls = realloc(b->calls, room * sizeof(*calls));
		if (!calls)
			return NULL;
		b->calls = calls;
		b->room_calls = room;
	}
	memmove(&b->calls[i + 1], &b->calls[i], (b->n_calls++ - i) * sizeof(*b->calls));
	b->calls[i] = (struct brought_call){.task = task, .order = order};
	return &b->calls[i];
}

static bool room_for(struct brought_call *c, uint64_t bits)
{
	if (bits <= c->room)
		return true;
	uint64_t words = (bits + 63) / 64 + c->room / 64;
	uint64_t *asked = realloc(c->asked, words * sizeof(*asked));
	if (!asked)
		return false;
	memset(asked + c->room / 64, 0, (words - c->room / 64) * sizeof(*asked));
	c->asked = asked;
	c->room = words * 64;
	return true;
}

/* How many of @n bytes from @offset on are alike in that they were, or were not, asked for before;
 * and they are then. */
static uint64_t ask(struct brought_call *c, uint64_t offset, uint64_t n, bool *asked)
{
	uint64_t i = 0;
	*asked = c->asked[offset / 64] >> offset % 64 & 1;
	for (; i < n; i++) {
		uint64_t *word = &c->asked[(offset + i) / 64],
			 bit = (uint64_t)1 << (offset + i) % 64;
		if ((*word & bit) != (*asked ? bit : 0))
			break;
		*word |= bit;
	}
	return i;
}

static bool add_piece(struct brought *b, const struct brought_piece *piece)
{
	if (b->n == b->room) {
		size_t room = 2 * b->room + 64;
		struct brought_piece *pieces = realloc(b->pieces, room * sizeof(*pieces));
		if (!pieces)
			return false;
		b->pieces = pieces;
		b->room = room;
	}
	b->pieces[b->n++] = *piece;
	return true;
}

static void note_end(struct brought *b, const struct passage *p, uint64_t bytes)
{
	b->ends[p->kind] += bytes;
	if (p->one && !b->one) {
		b->one = p->one;
		b->other = p->other;
	}
}

/* What of @all (its from.bytes) was not asked for yet. 0 or -ENOMEM. */
static int take_new(struct brought *b, const struct brought_piece *all)
{
	const struct passage *p = &all->from;
	struct brought_call *c = call_of(b, all->task, all->order);
	if (!c || !room_for(c, all->offset + p->bytes))
		return -ENOMEM;
	for (uint64_t i = 0, n; i < p->bytes; i += n) {
		bool asked;
		n = ask(c, all->offset + i, p->bytes - i, &asked);
		struct brought_piece piece = *all;
		piece.offset += i;
		piece.at += i;
		piece.from.offset += i;
		piece.from.bytes = n;
		if (asked)
			continue;
		if (p->kind != PASSAGE_FROM)
			note_end(b, p, n);
		else if (b->n >= PIECES_MAX)
			b->ends[BROUGHT_LEFT_OUT] += n;
		else if (!add_piece(b, &piece))
			return -ENOMEM;
	}
	return 0;
}

static int take_passage(struct brought *b, uint32_t task, const struct fold_input *in,
			uint64_t done, const struct passage *p, struct fold *fold)
{
	struct brought_piece piece = {.task = task,
				      .order = in->order,
				      .offset = in->offset + done,
				      .fd = in->fd,
				      .at = in->at + done,
				      .from = *p};
	if (p->kind != PASSAGE_FROM)
		fold_add_input(fold, in->fd, in->at + done, p->bytes);
	return p->kind == PASSAGE_NONE ? 0 : take_new(b, &piece);
}

int brought_take(struct brought *b, uint32_t task, const struct fold_foreigns *read,
		 struct fold *fold)
{
	int err = 0;
	for (size_t i = 0; i < read->n_inputs && !err; i++) {
		const struct fold_input *in = &read->inputs[i];
		for (uint64_t done = 0; done < in->n && !err;) {
			struct passage p = passages_back(b->passages, task, in->order,
							 in->offset + done, in->n - done);
			err = take_passage(b, task, in, done, &p, fold);
			done += p.bytes ? p.bytes : 1;
		}
	}
	return err;
}

/* --- who wrote it ---------------------------------------------------------------------------- */

/* Whether the bytes of both calls are the same, as far as they are known. */
static bool same_bytes(const struct brought_piece *p, const struct dep_trace *reader,
		       const struct dep_trace *writer, const struct dep_moved *w)
{
	const struct dep_moved *r = reader ? dep_trace_moved(reader, p->order) : NULL;
	if (!r || !r->known || !w->known || p->offset + p->from.bytes > r->len)
		return true;
	return !memcmp(reader->bytes + r->first_byte + p->offset,
		       writer->bytes + w->first_byte + p->from.offset, p->from.bytes);
}

static int answer(struct brought *b, struct brought_piece *p, const struct brought_ask *ask)
{
	const struct dep_build *writer = ask->build(ask->build_ctx, p->from.task);
	const struct dep_build *reader = ask->build(ask->build_ctx, p->task);
	const struct dep_trace *t = writer ? dep_build_trace(writer) : NULL;
	const struct dep_moved *w = t ? dep_trace_moved(t, p->from.order) : NULL;
	if (!w || !w->output || p->from.offset + p->from.bytes > w->len) {
		p->end = BROUGHT_UNTOLD;
		b->ends[p->end] += p->from.bytes;
		return 0;
	}
	p->writer_fd = w->fd;
	if (!same_bytes(p, reader ? dep_build_trace(reader) : NULL, t, w)) {
		p->end = BROUGHT_DIFFER;
		b->ends[p->end] += p->from.bytes;
		return 0;
	}
	uint32_t last = 0;
	for (uint64_t i = 0; i < p->from.bytes; i++) {
		uint32_t def;
		uint64_t count;
		if (!dep_build_sent(writer, w, p->from.offset + i, &def, &count)) {
			p->end = BROUGHT_UNTOLD;
			b->ends[p->end]++;
			continue;
		}
		b->followed++;
		/* Behind the call: one that makes the text itself is in the slice. */
		count = count < t->count ? count + 1 : t->count;
		if (def && def != last && !ask->start(ask->ctx, p->from.task, def, count))
			return -ENOMEM;
		last = def;
	}
	return 0;
}

int brought_answer(struct brought *b, const struct brought_ask *ask)
{
	int err = 0;
	for (; b->done < b->n && !err; b->done++)
		err = answer(b, &b->pieces[b->done], ask);
	return err;
}

/* --- onward ---------------------------------------------------------------------------------- */

struct sending {
	struct brought *b;
	const uint8_t *sent; /* of each byte of the write, whether it is in the slice */
	int err;
};

static void take_reader(void *ctx, uint32_t task, uint64_t order, uint64_t offset,
			const struct passage *p)
{
	struct sending *s = ctx;
	bool from = p->kind == PASSAGE_FROM || p->kind == PASSAGE_INSIDE;
	for (uint64_t i = 0, n = 1; i < p->bytes && !s->err; i += n, n = 1) {
		struct brought_piece piece = {
			.task = task, .order = order, .offset = offset + i, .from = *p};
		if (!from) {
			n = p->bytes;
		} else if (!s->sent[p->offset + i]) {
			continue;
		} else {
			while (i + n < p->bytes && s->sent[p->offset + i + n])
				n++;
			piece.from.offset += i;
		}
		piece.from.bytes = n;
		s->err = take_new(s->b, &piece);
	}
}

int brought_send(struct brought *b, uint32_t task, const struct dep_build *build,
		 const uint64_t *tainted)
{
	const struct dep_trace *t = dep_build_trace(build);
	struct sending s = {.b = b};
	for (uint64_t i = 0; i < t->n_moved && !s.err; i++) {
		const struct dep_moved *m = &t->moved[i];
		uint8_t *sent = m->output ? calloc(m->len + 1, 1) : NULL;
		bool any = false;
		if (m->output && !sent)
			return -ENOMEM;
		for (uint32_t k = 0; k < m->len && m->output; k++) {
			uint32_t def;
			uint64_t count;
			sent[k] = dep_build_sent(build, m, k, &def, &count) &&
				  tainted[def / 64] >> def % 64 & 1;
			any |= sent[k];
		}
		s.sent = sent;
		if (any)
			passages_on(b->passages, task, m->order, take_reader, &s);
		free(sent);
	}
	return s.err;
}

static int answer_onward(struct brought *b, struct brought_piece *p, const struct brought_ask *ask)
{
	const struct dep_build *writer = ask->build(ask->build_ctx, p->from.task);
	const struct dep_build *reader = ask->build(ask->build_ctx, p->task);
	const struct dep_trace *t = reader ? dep_build_trace(reader) : NULL;
	const struct dep_trace *from = writer ? dep_build_trace(writer) : NULL;
	const struct dep_moved *r = t ? dep_trace_moved(t, p->order) : NULL;
	const struct dep_moved *w = from ? dep_trace_moved(from, p->from.order) : NULL;
	if (!r || r->output || !w || p->offset + p->from.bytes > r->len)
		p->end = BROUGHT_UNTOLD;
	else if (!same_bytes(p, t, from, w))
		p->end = BROUGHT_DIFFER;
	if (p->end) {
		b->ends[p->end] += p->from.bytes;
		return 0;
	}
	p->fd = r->fd;
	p->at = r->at + p->offset;
	p->writer_fd = w->fd;
	b->followed += p->from.bytes;
	for (uint64_t i = 0; i < p->from.bytes; i++)
		if (!ask->start(ask->ctx, p->task, r->first_def + (uint32_t)(p->offset + i),
				r->count))
			return -ENOMEM;
	return 0;
}

int brought_answer_onward(struct brought *b, const struct brought_ask *ask)
{
	int err = 0;
	for (; b->done < b->n && !err; b->done++)
		err = answer_onward(b, &b->pieces[b->done], ask);
	return err;
}

static int by_reader(const void *a, const void *b)
{
	const struct brought_piece *x = a, *y = b;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->fd != y->fd)
		return x->fd < y->fd ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void brought_finish(struct brought *b)
{
	size_t n = 0;
	for (; b->done < b->n; b->done++) {
		b->pieces[b->done].end = BROUGHT_LEFT_OUT;
		b->ends[BROUGHT_LEFT_OUT] += b->pieces[b->done].from.bytes;
	}
	if (b->n)
		qsort(b->pieces, b->n, sizeof(*b->pieces), by_reader);
	for (size_t i = 0; i < b->n; i++) {
		const struct brought_piece *p = &b->pieces[i];
		struct brought_piece *last = n ? &b->pieces[n - 1] : NULL;
		if (last && last->end == p->end && last->task == p->task && last->fd == p->fd &&
		    last->at + last->from.bytes == p->at && last->from.task == p->from.task &&
		    last->from.channel == p->from.channel && last->writer_fd == p->writer_fd)
			last->from.bytes += p->from.bytes;
		else
			b->pieces[n++] = *p;
	}
	b->n = b->done = n;
}

const char *brought_why(unsigned end)
{
	static const char *const why[BROUGHT_ENDS] = {
		[PASSAGE_WRITERS] = "two wrote there at the same time",
		[PASSAGE_READERS] = "another one read or wrote there at the same time",
		[PASSAGE_EARLIER] = "what they went through was there before the recording, or was "
				    "made by others",
		[PASSAGE_OTHERS] = "others may have written there",
		[PASSAGE_INSIDE] = "they were moved in the kernel alone",
		[BROUGHT_UNTOLD] = "what the task that wrote them did is not known there",
		[BROUGHT_DIFFER] = "other bytes were written there",
		[BROUGHT_LEFT_OUT] = "there are too many",
	};
	return end < BROUGHT_ENDS ? why[end] : NULL;
}

const char *brought_channel(uint8_t channel)
{
	static const char *const names[] = {[CHANNEL_FILE] = "a file",
					    [CHANNEL_PIPE] = "a pipe",
					    [CHANNEL_UNIX] = "a Unix socket",
					    [CHANNEL_TCP] = "a TCP connection"};
	bool known = channel < sizeof(names) / sizeof(*names) && names[channel];
	return known ? names[channel] : "a file";
}

bool brought_whole(const struct brought *b)
{
	for (unsigned i = PASSAGE_WRITERS; i < BROUGHT_ENDS; i++)
		if (b->ends[i])
			return false;
	return true;
}
