// SPDX-License-Identifier: LGPL-2.1-or-later
/* moved.c: which definitions the bytes are that system calls have moved, for who follows them to
 * the other end of a file, a pipe or a socket. What traced code has asked the kernel, or a function
 * that does just that, to write is known by its memory. Of what stdio writes the memory is the
 * library's: its bytes are those that it was given for that descriptor, in their order. */
#include "offline/base/search.h"
#include "offline/dep/build_impl.h"
#include "offline/dep/flows.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { MOVED_MAX = 1 << 26 };

/* Makes room for @more items; false: no memory. */
static bool room(struct dep_build *b, void **at, uint64_t n, uint64_t *max, uint64_t more,
		 size_t size)
{
	if (n + more <= *max)
		return true;
	uint64_t want = *max + *max / 2 + 256;
	want = want < n + more ? n + more : want;
	void *grown = large_realloc(*at, want * size);
	if (!grown) {
		b->no_memory = true;
		return false;
	}
	*at = grown;
	*max = want;
	return true;
}

static struct dep_moved *add(struct dep_build *b, const struct capture *c, uint64_t n)
{
	struct dep_trace *t = &b->trace;
	if (!room(b, (void **)&t->moved, t->n_moved, &t->room_moved, 1, sizeof(*t->moved)) ||
	    !room(b, (void **)&t->bytes, t->n_bytes, &t->room_bytes, n, 1))
		return NULL;
	struct dep_moved *m = &t->moved[t->n_moved++];
	*m = (struct dep_moved){.order = c->order,
				.count = t->count,
				.fd = (int32_t)c->args[0],
				.len = (uint32_t)n,
				.known = true,
				.first_run = t->n_moved_runs,
				.first_byte = t->n_bytes};
	return m;
}

void dep_moved_input(struct dep_build *b, const struct capture *c, uint32_t range,
		     const struct dep_event *e, uint64_t n)
{
	struct dep_trace *t = &b->trace;
	struct dep_moved *m = n < MOVED_MAX ? add(b, c, n) : NULL;
	if (!m)
		return;
	m->first_def = e->first_def;
	m->at = e->offset;
	for (uint32_t i = range; i < c->n_ranges && t->n_bytes < m->first_byte + n; i++) {
		const struct capture_range *r = &c->ranges[i];
		uint64_t left = m->first_byte + n - t->n_bytes;
		uint64_t len = r->len < left ? r->len : left;
		m->known &= !r->unread;
		if (!r->unread)
			memcpy(t->bytes + t->n_bytes, r->bytes, len);
		t->n_bytes += r->unread ? 0 : len;
		if (r->unread)
			break;
	}
	if (!m->known)
		t->n_bytes = m->first_byte;
}

/* --- outputs --------------------------------------------------------------------------------- */

static void add_runs(struct dep_build *b, const uint32_t *defs, uint64_t n)
{
	struct dep_trace *t = &b->trace;
	uint64_t first = t->n_moved_runs;
	for (uint64_t i = 0; i < n; i++) {
		struct dep_run *last =
			t->n_moved_runs > first ? &t->moved_runs[t->n_moved_runs - 1] : NULL;
		if (last && last->def == defs[i]) {
			last->len++;
			continue;
		}
		if (!room(b, (void **)&t->moved_runs, t->n_moved_runs, &t->room_moved_runs, 1,
			  sizeof(*t->moved_runs)))
			return;
		t->moved_runs[t->n_moved_runs++] = (struct dep_run){defs[i], 1};
	}
}

/* What lies at @n bytes at @at in memory; without @defs only what they are. */
static void take_piece(struct dep_build *b, struct dep_moved *m, struct dep_words *defs,
		       uint64_t at, uint64_t n)
{
	struct dep_trace *t = &b->trace;
	uint8_t quality = VALUE_EXACT;
	if (defs)
		dep_note_bytes(b, defs, at, n);
	m->known &= !value_memory_read(b->memory, at, t->bytes + t->n_bytes, n, &quality) &&
		    quality != VALUE_UNKNOWN;
	t->n_bytes += n;
}

static void take_pieces(struct dep_build *b, const struct capture *c, struct dep_moved *m,
			struct dep_words *defs)
{
	uint64_t left = m->len, at = c->args[1], count = c->args[2];
	struct iovec piece;
	if (c->nr == SYS_write || c->nr == SYS_pwrite64 || c->nr == SYS_sendto) {
		take_piece(b, m, defs, at, left);
		return;
	}
	if (c->nr == SYS_sendmsg) { /* behind the name and its length */
		uint64_t words[2] = {0};
		m->known &= !value_memory_read(b->memory, at + 16, words, sizeof(words), NULL);
		at = words[0];
		count = words[1];
	}
	for (uint64_t i = 0; i < count && i < UIO_MAXIOV && left && m->known; i++) {
		m->known &= !value_memory_read(b->memory, at + i * sizeof(piece), &piece,
					       sizeof(piece), NULL);
		uint64_t n = piece.iov_len < left ? piece.iov_len : left;
		if (m->known)
			take_piece(b, m, defs, (uint64_t)piece.iov_base, n);
		left -= n;
	}
}

/* Whether a function that the call belongs to does just that. */
static bool is_asked_for(const struct dep_build *b, const struct capture *c)
{
	const struct dep_pending *p = b->n_calls ? &b->calls[b->n_calls - 1] : NULL;
	const struct dep_flow *f = p && p->name ? dep_flow_find(p->name) : NULL;
	return f && f->stream == TO_FD0 && (f->kind == FLOW_WRITE || f->kind == FLOW_GATHER) &&
	       (int32_t)p->args[0] == (int32_t)c->args[0];
}

static bool is_output(uint32_t nr)
{
	return nr == SYS_write || nr == SYS_pwrite64 || nr == SYS_sendto || nr == SYS_writev ||
	       nr == SYS_pwritev || nr == SYS_pwritev2 || nr == SYS_sendmsg;
}

void dep_moved_output(struct dep_build *b, const struct capture *c, bool inside)
{
	struct dep_stream *s = dep_stream(b, (int32_t)c->args[0]);
	if (!is_output(c->nr) || c->result <= 0 || c->result >= MOVED_MAX || !s)
		return;
	struct dep_trace *t = &b->trace;
	struct dep_moved *m = add(b, c, (uint64_t)c->result);
	struct dep_words defs = {0};
	if (!m)
		return;
	m->output = true;
	m->kept_back = !inside && !is_asked_for(b, c);
	take_pieces(b, c, m, m->kept_back ? NULL : &defs);
	if (!m->known)
		t->n_bytes = m->first_byte;
	if (m->kept_back) {
		m->place = s->passed;
		s->passed += m->len;
	} else if (defs.n == m->len) {
		add_runs(b, defs.at, defs.n);
	}
	free(defs.at);
}

void dep_moved_given(struct dep_build *b, int fd, uint64_t n)
{
	struct dep_stream *s = dep_stream(b, fd);
	if (!s || !room(b, (void **)&s->given, s->n_given, &s->room_given, 1, sizeof(*s->given)))
		return;
	s->given[s->n_given++] = (struct dep_given){(uint32_t)b->trace.n_events - 1, s->taken};
	s->taken += n;
}

/* --- questions ------------------------------------------------------------------------------- */

const struct dep_moved *dep_trace_moved(const struct dep_trace *t, uint64_t order)
{
	uint64_t i = SEARCH_FIRST_NOT(0, t->n_moved, k, t->moved[k].order < order);
	return i < t->n_moved && t->moved[i].order == order ? &t->moved[i] : NULL;
}

static bool def_of(const struct dep_run *runs, uint64_t n, uint64_t offset, uint32_t *def)
{
	for (uint64_t i = 0; i < n; i++) {
		if (offset < runs[i].len) {
			*def = runs[i].def;
			return true;
		}
		offset -= runs[i].len;
	}
	return false;
}

/* Of what stdio has kept back: what it was given there, if that is what it has passed on. */
static bool given_def(const struct dep_build *b, const struct dep_moved *m, uint64_t offset,
		      uint32_t *def, uint64_t *count)
{
	const struct dep_trace *t = &b->trace;
	const struct dep_stream *s = &b->streams[m->fd];
	uint64_t place = m->place + offset;
	uint64_t behind = SEARCH_FIRST_NOT(0, s->n_given, k, s->given[k].place <= place);
	if (!behind || !m->known)
		return false;
	const struct dep_given *g = &s->given[behind - 1];
	const struct dep_event *e = &t->events[g->event];
	uint64_t at = e->offset + place - g->place;
	if (at >= s->n_text || s->text[at] != t->bytes[m->first_byte + offset] ||
	    !def_of(t->runs + e->first_run, e->n_runs, place - g->place, def))
		return false;
	*count = e->count > *count ? e->count : *count;
	return true;
}

bool dep_build_sent(const struct dep_build *b, const struct dep_moved *m, uint64_t offset,
		    uint32_t *def, uint64_t *count)
{
	const struct dep_trace *t = &b->trace;
	*count = m->count;
	if (m->kept_back)
		return given_def(b, m, offset, def, count);
	uint64_t end = m + 1 < t->moved + t->n_moved ? m[1].first_run : t->n_moved_runs;
	return def_of(t->moved_runs + m->first_run, end - m->first_run, offset, def);
}
