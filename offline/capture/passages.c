// SPDX-License-Identifier: LGPL-2.1-or-later
/* passages.c: see passages.h. A *stream* is a channel in one direction: its writes and its reads,
 * each by order. */
#include "offline/capture/passages.h"

#include "offline/base/search.h"

#include <errno.h>

/* Calls whose times overlap, so that nothing says which was first; most often one alone. */
struct cluster {
	size_t first, n;   /* of calls */
	uint64_t from, to; /* of the stream's bytes */
};

struct calls {
	const struct channel_note **at; /* by order; of a pipe or a Unix stream by clusters */
	size_t n;
	struct cluster *clusters;
	size_t n_clusters;
};

struct stream {
	uint8_t kind;
	uint64_t device, from, to; /* ends; @to 0 but of TCP */
	struct calls writes, reads;
	bool made; /* in the recording, all ends */
};

struct passages {
	struct channel_note *notes; /* by order */
	uint32_t *stream;	    /* that the bytes of each are in: 1 + its index, 0: none */
	size_t n;
	struct stream *streams;
	size_t n_streams;
	uint64_t untold; /* from there on others may have an end of any pipe or Unix stream */
};

/* --- ends ------------------------------------------------------------------------------------ */

/* A Unix socket whose peer was closed does not say any more which that was: others do. */
static int by_end(const void *a, const void *b)
{
	const struct channel_note *x = *(const struct channel_note *const *)a;
	const struct channel_note *y = *(const struct channel_note *const *)b;
	if (x->kind != y->kind)
		return (int)x->kind - (int)y->kind;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return (x->peer < y->peer) - (x->peer > y->peer);
}

struct ends {
	const struct channel_note *
		*at; /* of Unix streams and pipes, by end; those with a peer first */
	size_t n;
};

static const struct channel_note *find_end(const struct ends *e, uint8_t kind, uint64_t end)
{
	size_t i = SEARCH_FIRST_NOT(0, e->n, k,
				    e->at[k]->kind < kind ||
					    (e->at[k]->kind == kind && e->at[k]->end < end));
	return i < e->n && e->at[i]->kind == kind && e->at[i]->end == end ? e->at[i] : NULL;
}

static bool was_made(const struct ends *e, uint8_t kind, uint64_t end)
{
	size_t i = SEARCH_FIRST_NOT(0, e->n, k,
				    e->at[k]->kind < kind ||
					    (e->at[k]->kind == kind && e->at[k]->end < end));
	for (; i < e->n && e->at[i]->kind == kind && e->at[i]->end == end; i++)
		if (e->at[i]->what == CHANNEL_MADE)
			return true;
	return false;
}

static bool list_ends(const struct passages *p, struct ends *e)
{
	e->at = calloc(p->n + 1, sizeof(*e->at));
	for (size_t i = 0; e->at && i < p->n; i++)
		if (p->notes[i].kind == CHANNEL_UNIX || p->notes[i].kind == CHANNEL_PIPE)
			e->at[e->n++] = &p->notes[i];
	if (e->n)
		qsort(e->at, e->n, sizeof(*e->at), by_end);
	return e->at;
}

/* --- streams --------------------------------------------------------------------------------- */

/* Which stream the bytes of a call are in. False: in none that is known. */
static bool stream_of(const struct ends *ends, const struct channel_note *n, struct stream *s)
{
	*s = (struct stream){.kind = n->kind, .device = n->device, .from = n->end};
	bool read = n->what == CHANNEL_READ;
	if (!read && n->what != CHANNEL_WRITE &&
	    !(n->what == CHANNEL_CUT && n->kind == CHANNEL_FILE))
		return false;
	const struct channel_note *known;
	switch (n->kind) {
	case CHANNEL_TCP:
		s->from = read ? n->peer : n->end;
		s->to = read ? n->end : n->peer;
		return true;
	case CHANNEL_UNIX:
		known = n->peer ? n : find_end(ends, n->kind, n->end);
		s->from = read ? known->peer : n->end;
		s->made = was_made(ends, n->kind, n->end) && was_made(ends, n->kind, known->peer);
		return s->from;
	case CHANNEL_PIPE:
		s->made = was_made(ends, n->kind, n->end);
		return true;
	default:
		return n->kind == CHANNEL_FILE;
	}
}

static int compare(const struct stream *a, const struct stream *b)
{
	if (a->kind != b->kind)
		return (int)a->kind - (int)b->kind;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

static int by_stream(const void *a, const void *b)
{
	return compare(a, b);
}

static struct stream *find_stream(const struct passages *p, const struct stream *key)
{
	size_t i = SEARCH_FIRST_NOT(0, p->n_streams, k, compare(&p->streams[k], key) < 0);
	return i < p->n_streams && !compare(&p->streams[i], key) ? &p->streams[i] : NULL;
}

static int list_streams(struct passages *p, const struct ends *ends)
{
	struct stream key;
	size_t n = 0;
	p->streams = calloc(p->n + 1, sizeof(*p->streams));
	if (!p->streams)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++)
		if (stream_of(ends, &p->notes[i], &key))
			p->streams[n++] = key;
	if (n)
		qsort(p->streams, n, sizeof(*p->streams), by_stream);
	for (size_t i = 0; i < n; i++) {
		struct stream *last = p->n_streams ? &p->streams[p->n_streams - 1] : NULL;
		if (!last || compare(last, &p->streams[i]))
			p->streams[p->n_streams++] = p->streams[i];
		else
			last->made &= p->streams[i].made;
	}
	return 0;
}

/* The calls of each stream; a cut of a file is one of its writes. */
static int list_calls(struct passages *p, const struct ends *ends)
{
	struct stream key;
	p->stream = calloc(p->n + 1, sizeof(*p->stream));
	if (!p->stream)
		return -ENOMEM;
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < p->n; i++) {
			const struct channel_note *n = &p->notes[i];
			if (!stream_of(ends, n, &key))
				continue;
			struct stream *s = find_stream(p, &key);
			struct calls *c = n->what == CHANNEL_READ ? &s->reads : &s->writes;
			p->stream[i] = (uint32_t)(s - p->streams) + 1;
			if (pass)
				c->at[c->n] = n;
			c->n++;
		}
		for (size_t i = 0; i < p->n_streams && !pass; i++) {
			struct calls *both[] = {&p->streams[i].writes, &p->streams[i].reads};
			for (int k = 0; k < 2; k++) {
				both[k]->at = calloc(both[k]->n + 1, sizeof(*both[k]->at));
				both[k]->clusters =
					calloc(both[k]->n + 1, sizeof(*both[k]->clusters));
				both[k]->n = 0;
				if (!both[k]->at || !both[k]->clusters)
					return -ENOMEM;
			}
		}
	}
	return 0;
}

static int by_beginning(const void *a, const void *b)
{
	const struct channel_note *x = *(const struct channel_note *const *)a;
	const struct channel_note *y = *(const struct channel_note *const *)b;
	return x->entered < y->entered ? -1 : x->entered > y->entered;
}

/* Of what is counted. */
static void make_clusters(struct calls *c)
{
	uint64_t behind = 0, end = 0;
	if (c->n)
		qsort(c->at, c->n, sizeof(*c->at), by_beginning);
	for (size_t i = 0; i < c->n; i++) {
		const struct channel_note *n = c->at[i];
		if (!c->n_clusters || n->entered > end)
			c->clusters[c->n_clusters++] = (struct cluster){i, 0, behind, behind};
		end = n->order > end ? n->order : end;
		behind += n->flags & CHANNEL_STAYS ? 0 : n->bytes;
		struct cluster *last = &c->clusters[c->n_clusters - 1];
		last->n++;
		last->to = behind;
	}
}

/* --- who may hold an end --------------------------------------------------------------------- */

/* From where on not all that has an end is in the recording. */
static uint64_t first_untold(const struct passages *p, const struct families *families)
{
	for (uint32_t i = 0; i < families->n; i++) {
		uint32_t task = families->at[i].number;
		uint64_t begun = 0, first = UINT64_MAX, children = 0;
		for (size_t k = 0; k < p->n; k++)
			if (p->notes[k].what == CHANNEL_FORKED && p->notes[k].task == task) {
				begun++;
				first = p->notes[k].entered < first ? p->notes[k].entered : first;
			}
		for (uint32_t k = 0; k < families->n; k++)
			children += families->at[k].parent == task;
		if (begun > children)
			return 0;
	}
	for (size_t k = 0; k < p->n; k++)
		if (p->notes[k].what == CHANNEL_MISSED)
			return 0;
	for (size_t k = 0; k < p->n; k++)
		if (p->notes[k].what == CHANNEL_UNTOLD)
			return p->notes[k].entered;
	return UINT64_MAX;
}

int passages_new(const struct captures *captures, const struct families *families,
		 struct passages **out)
{
	struct channel_note *notes;
	size_t n;
	int err = captures_channels(captures, &notes, &n);
	return err ? err : passages_of(notes, n, families, out);
}

int passages_of(struct channel_note *notes, size_t n, const struct families *families,
		struct passages **out)
{
	struct passages *p = calloc(1, sizeof(*p));
	struct ends ends = {0};
	int err = p ? 0 : -ENOMEM;
	if (err) {
		free(notes);
		return err;
	}
	p->notes = notes;
	p->n = n;
	if (!list_ends(p, &ends))
		err = -ENOMEM;
	err = err ? err : list_streams(p, &ends);
	err = err ? err : list_calls(p, &ends);
	free(ends.at);
	if (err) {
		passages_free(p);
		return err;
	}
	for (size_t i = 0; i < p->n_streams; i++)
		if (p->streams[i].kind == CHANNEL_PIPE || p->streams[i].kind == CHANNEL_UNIX) {
			make_clusters(&p->streams[i].writes);
			make_clusters(&p->streams[i].reads);
		}
	p->untold = first_untold(p, families);
	*out = p;
	return 0;
}

void passages_free(struct passages *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->streams && i < p->n_streams; i++) {
		free(p->streams[i].writes.at);
		free(p->streams[i].writes.clusters);
		free(p->streams[i].reads.at);
		free(p->streams[i].reads.clusters);
	}
	free(p->streams);
	free(p->stream);
	free(p->notes);
	free(p);
}

/* --- questions ------------------------------------------------------------------------------- */

static bool overlap(const struct channel_note *a, const struct channel_note *b)
{
	return a != b && a->entered < b->order && b->entered < a->order;
}

static struct passage from(const struct channel_note *w, uint64_t offset, uint64_t bytes,
			   uint8_t kind)
{
	return (struct passage){.kind = w->flags & CHANNEL_INSIDE ? PASSAGE_INSIDE : PASSAGE_FROM,
				.channel = kind,
				.task = w->task,
				.order = w->order,
				.offset = offset,
				.bytes = bytes};
}

static struct passage beside(enum passage_kind kind, const struct channel_note *one,
			     const struct channel_note *other)
{
	return (struct passage){.kind = kind,
				.channel = one->kind,
				.one = one->task,
				.other = other->task,
				.bytes = UINT64_MAX};
}

static struct passage none(enum passage_kind kind, const struct stream *s)
{
	return (struct passage){.kind = kind, .channel = s->kind, .bytes = UINT64_MAX};
}

/* A pipe or a Unix stream. */
static struct passage counted_back(const struct passages *p, const struct stream *s,
				   const struct channel_note *r, uint64_t offset)
{
	const struct calls *rs = &s->reads, *ws = &s->writes;
	if (!ws->n)
		return none(PASSAGE_NONE, s);
	if (!s->made)
		return none(PASSAGE_EARLIER, s);
	if (r->order > p->untold)
		return none(PASSAGE_OTHERS, s);
	size_t i = SEARCH_FIRST_NOT(0, rs->n_clusters, k,
				    rs->at[rs->clusters[k].first]->entered <= r->entered) -
		   1;
	const struct cluster *c = &rs->clusters[i];
	for (size_t k = c->first; k < c->first + c->n && c->n > 1; k++)
		if (rs->at[k] != r)
			return beside(PASSAGE_READERS, r, rs->at[k]);
	uint64_t at = c->from + offset;
	i = SEARCH_FIRST_NOT(0, ws->n_clusters, k, ws->clusters[k].to <= at);
	const struct cluster *w = i < ws->n_clusters ? &ws->clusters[i] : NULL;
	if (!w || ws->at[w->first]->entered > r->order)
		return none(PASSAGE_OTHERS, s);
	if (w->n > 1)
		return beside(PASSAGE_WRITERS, ws->at[w->first], ws->at[w->first + 1]);
	return from(ws->at[w->first], at - w->from, w->to - at, s->kind);
}

static struct passage tcp_back(const struct stream *s, const struct channel_note *r,
			       uint64_t offset)
{
	const struct calls *ws = &s->writes, *rs = &s->reads;
	uint32_t at = (uint32_t)(r->position + offset);
	const struct channel_note *w = NULL;
	for (size_t i = ws->n; i-- > 0 && !w;)
		if (ws->at[i]->entered < r->order &&
		    (uint32_t)(at - ws->at[i]->position) < ws->at[i]->bytes)
			w = ws->at[i];
	if (!w)
		return none(ws->n ? PASSAGE_EARLIER : PASSAGE_NONE, s);
	for (size_t i = 0; i < rs->n; i++)
		if (overlap(rs->at[i], r))
			return beside(PASSAGE_READERS, r, rs->at[i]);
	for (size_t i = 0; i < ws->n; i++)
		if (overlap(ws->at[i], w))
			return beside(PASSAGE_WRITERS, w, ws->at[i]);
	uint64_t in = (uint32_t)(at - w->position);
	return from(w, in, w->bytes - in, s->kind);
}

/* Whether only calls of the recording have changed the file between @w and @r: each finds the time
 * of its last change as the last of them has left it. */
static bool file_is_ours(const struct stream *s, const struct channel_note *w,
			 const struct channel_note *r)
{
	const struct calls *ws = &s->writes;
	uint64_t last = w->after, busy = w->order;
	size_t i = SEARCH_FIRST_NOT(0, ws->n, k, ws->at[k]->order <= w->order);
	for (; i < ws->n && ws->at[i]->order < r->order; i++) {
		const struct channel_note *x = ws->at[i];
		if (x->entered > busy && x->before != last)
			return false;
		last = x->after > last ? x->after : last;
		busy = x->order > busy ? x->order : busy;
	}
	bool alone = busy < r->entered && (i == ws->n || ws->at[i]->entered > r->order);
	return last && (!alone || (r->before == last && r->after == last));
}

static struct passage file_back(const struct stream *s, const struct channel_note *r,
				uint64_t offset)
{
	const struct calls *ws = &s->writes;
	uint64_t at = r->position + offset, bytes = UINT64_MAX;
	const struct channel_note *w = NULL, *while_read = NULL, *other = NULL;
	size_t cuts = 0;
	/* The last one before the read; those that are over before that one began are of no matter.
	 */
	for (size_t i = ws->n; i-- > 0;) {
		const struct channel_note *x = ws->at[i];
		if (x->entered > r->order)
			continue;
		if (w && x->order < w->entered && !overlap(x, r))
			break;
		bool has = x->what == CHANNEL_WRITE && at - x->position < x->bytes;
		uint64_t edge = has ? x->bytes - (at - x->position) : x->position - at;
		if (x->what == CHANNEL_WRITE && (has || x->position > at))
			bytes = edge < bytes ? edge : bytes;
		if (x->what == CHANNEL_CUT)
			cuts += !w;
		else if (has && overlap(x, r))
			while_read = x;
		else if (has && !w)
			w = x;
		else if (has && overlap(x, w))
			other = x;
	}
	struct passage p;
	if (while_read)
		p = beside(PASSAGE_READERS, r, while_read);
	else if (!w)
		p = none(PASSAGE_NONE, s);
	else if (other)
		p = beside(PASSAGE_WRITERS, w, other);
	else if (cuts || !file_is_ours(s, w, r))
		p = none(PASSAGE_OTHERS, s);
	else
		p = from(w, at - w->position, bytes, s->kind);
	p.bytes = bytes;
	return p;
}

static const struct channel_note *find(const struct passages *p, uint32_t task, uint64_t order,
				       uint8_t what)
{
	size_t i = SEARCH_FIRST_NOT(0, p->n, k, p->notes[k].order < order);
	for (; i < p->n && p->notes[i].order == order; i++)
		if (p->notes[i].task == task && p->notes[i].what == what)
			return &p->notes[i];
	return NULL;
}

static const struct stream *stream_with(const struct passages *p, const struct channel_note *n)
{
	uint32_t stream = n ? p->stream[n - p->notes] : 0;
	return stream ? &p->streams[stream - 1] : NULL;
}

static struct passage back(const struct passages *p, const struct stream *s,
			   const struct channel_note *r, uint64_t offset, uint64_t n)
{
	struct passage a = s->kind == CHANNEL_FILE  ? file_back(s, r, offset)
			   : s->kind == CHANNEL_TCP ? tcp_back(s, r, offset)
						    : counted_back(p, s, r, offset);
	a.bytes = a.bytes < n ? a.bytes : n;
	return a;
}

struct passage passages_back(const struct passages *p, uint32_t task, uint64_t order,
			     uint64_t offset, uint64_t n)
{
	const struct channel_note *r = find(p, task, order, CHANNEL_READ);
	const struct stream *s = stream_with(p, r);
	bool has = s && offset < r->bytes; /* what lies behind is no part of what was read */
	return has ? back(p, s, r, offset, n) : (struct passage){.bytes = n};
}

void passages_on(const struct passages *p, uint32_t task, uint64_t order, passage_fn *fn, void *ctx)
{
	const struct channel_note *w = find(p, task, order, CHANNEL_WRITE);
	const struct stream *s = stream_with(p, w);
	for (size_t i = 0; s && i < s->reads.n; i++) {
		const struct channel_note *r = s->reads.at[i];
		if (r->order < w->entered)
			continue;
		for (uint64_t at = 0; at < r->bytes;) {
			struct passage a = back(p, s, r, at, r->bytes - at);
			bool other = a.kind == PASSAGE_FROM && (a.task != task || a.order != order);
			if (a.kind != PASSAGE_NONE && !other)
				fn(ctx, r->task, r->order, at, &a);
			at += a.bytes ? a.bytes : 1;
		}
	}
}
