// SPDX-License-Identifier: LGPL-2.1-or-later
/* ranges.c: see ranges.h. */
#include "user/serve/ranges.h"

#include "offline/base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK_CALLS = 512, MAPPED_CHUNKS = 1024, FAN = 16, LEVELS = 8 };

struct call {
	uint64_t from_ns, to_ns;
	uint32_t frame, doubt_ns; /* UINT32_MAX: so much or more */
};
_Static_assert(sizeof(struct call) == 24, "what ranges.h says");

/* The longest of some calls. */
struct longest {
	uint64_t length_ns, call;
};

struct row {
	VEC(struct call *) chunks; /* of CHUNK_CALLS, mapped */
	VEC(uint64_t) begins; /* in ns, of the first of each FAN calls: a search reads no others */
	uint64_t n;
	VEC(struct longest) levels[LEVELS]; /* [0]: of each FAN calls */
};

struct gap {
	uint64_t at_ns, length_ns;
	uint8_t cause;
};

struct track {
	uint32_t thread, stack;
	uint64_t depth, deepest; /* calls that are open; were at most */
	struct row rows[RANGES_DEPTH];
	VEC(struct gap) gaps;
};

struct ranges {
	int fd;
	uint64_t chunks;	 /* used, of those that are mapped */
	VEC(struct call *) maps; /* of MAPPED_CHUNKS each */
	VEC(struct track *) tracks;
};

static const size_t map_bytes = (size_t)MAPPED_CHUNKS * CHUNK_CALLS * sizeof(struct call);

int ranges_new(int fd, struct ranges **out)
{
	struct ranges *r = calloc(1, sizeof(*r));
	if (!r) {
		close(fd);
		return -ENOMEM;
	}
	r->fd = fd;
	*out = r;
	return 0;
}

void ranges_free(struct ranges *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->tracks.n; i++) {
		for (unsigned d = 0; d < RANGES_DEPTH; d++) {
			struct row *row = &r->tracks.at[i]->rows[d];
			VEC_FREE(&row->chunks);
			VEC_FREE(&row->begins);
			for (unsigned k = 0; k < LEVELS; k++)
				VEC_FREE(&row->levels[k]);
		}
		VEC_FREE(&r->tracks.at[i]->gaps);
		free(r->tracks.at[i]);
	}
	for (uint32_t i = 0; i < r->maps.n; i++)
		munmap(r->maps.at[i], map_bytes);
	VEC_FREE(&r->maps);
	VEC_FREE(&r->tracks);
	close(r->fd);
	free(r);
}

/* ---- building ---- */

static int new_chunk(struct ranges *r, struct call **out)
{
	uint64_t map = r->chunks / MAPPED_CHUNKS;
	if (map == r->maps.n) {
		/* A hole that finds the disk full later would end the program. */
		int full = posix_fallocate(r->fd, (off_t)(map * map_bytes), (off_t)map_bytes);
		if (full)
			return -full;
		void *at = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
				(off_t)(map * map_bytes));
		if (at == MAP_FAILED)
			return -errno;
		if (!VEC_PUSH(&r->maps, at)) {
			munmap(at, map_bytes);
			return -ENOMEM;
		}
	}
	*out = r->maps.at[map] + r->chunks++ % MAPPED_CHUNKS * CHUNK_CALLS;
	return 0;
}

static struct call *call_at(const struct row *row, uint64_t i)
{
	return &row->chunks.at[i / CHUNK_CALLS][i % CHUNK_CALLS];
}

static uint32_t bounded(uint64_t ns)
{
	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

int ranges_track(struct ranges *r, uint32_t track, uint32_t thread, uint32_t stack)
{
	if (track < r->tracks.n)
		return 0;
	struct track *t = calloc(1, sizeof(*t));
	if (!t || !VEC_PUSH(&r->tracks, t)) {
		free(t);
		return -ENOMEM;
	}
	t->thread = thread;
	t->stack = stack;
	return 0;
}

int ranges_call(struct ranges *r, uint32_t track, uint64_t at_ns, uint64_t doubt_ns, uint32_t frame)
{
	struct track *t = r->tracks.at[track];
	uint64_t depth = t->depth++;
	if (t->depth > t->deepest)
		t->deepest = t->depth;
	if (depth >= RANGES_DEPTH)
		return 0;
	struct row *row = &t->rows[depth];
	struct call *chunk = NULL;
	int err = 0;
	if (row->n == (uint64_t)row->chunks.n * CHUNK_CALLS && !(err = new_chunk(r, &chunk)) &&
	    !VEC_PUSH(&row->chunks, chunk))
		err = -ENOMEM;
	if (!err && row->n == (uint64_t)row->begins.n * FAN && !VEC_PUSH(&row->begins, at_ns))
		err = -ENOMEM;
	if (err) {
		t->depth--;
		return err;
	}
	*call_at(row, row->n++) = (struct call){at_ns, at_ns, frame, bounded(doubt_ns)};
	return 0;
}

/* The row's last call has ended: the pyramid takes it in. */
static int add_to_pyramid(struct row *row)
{
	const struct call *call = call_at(row, row->n - 1);
	const struct longest now = {call->to_ns - call->from_ns, row->n - 1};
	uint64_t at = now.call / FAN;
	for (unsigned k = 0; k < LEVELS; k++, at /= FAN) {
		if (at == row->levels[k].n) {
			if (!VEC_PUSH(&row->levels[k], now))
				return -ENOMEM;
		} else if (now.length_ns > row->levels[k].at[at].length_ns) {
			row->levels[k].at[at] = now;
		} else {
			return 0; /* and of what is above it is not the longest either */
		}
	}
	return 0;
}

static int end_call(struct track *t, uint64_t at_ns, uint64_t doubt_ns)
{
	if (!t->depth || --t->depth >= RANGES_DEPTH)
		return 0;
	struct row *row = &t->rows[t->depth];
	struct call *call = call_at(row, row->n - 1);
	if (at_ns > call->from_ns)
		call->to_ns = at_ns;
	if (doubt_ns > call->doubt_ns)
		call->doubt_ns = bounded(doubt_ns);
	return add_to_pyramid(row);
}

int ranges_ret(struct ranges *r, uint32_t track, uint64_t at_ns, uint64_t doubt_ns)
{
	return end_call(r->tracks.at[track], at_ns, doubt_ns);
}

int ranges_gap(struct ranges *r, uint32_t track, uint64_t at_ns, uint64_t length_ns, uint8_t cause)
{
	return VEC_PUSH(&r->tracks.at[track]->gaps, (struct gap){at_ns, length_ns, cause})
		       ? 0
		       : -ENOMEM;
}

void ranges_finish(struct ranges *r, uint64_t end_ns)
{
	for (uint32_t i = 0; i < r->tracks.n; i++)
		while (r->tracks.at[i]->depth)
			end_call(r->tracks.at[i], end_ns, 0);
}

/* ---- asking ---- */

/* The first call from @from on that begins after @ns. From where it is asked it goes ahead by
 * steps that double: the pixels of a picture follow each other, and so what is read is close to
 * what was read before. */
static uint64_t first_after(const struct row *row, uint64_t from, uint64_t ns)
{
	uint64_t a = (from + FAN - 1) / FAN, b = a, step = 1;
	while (b < row->begins.n && row->begins.at[b] <= ns) {
		a = b + 1;
		b += step;
		step *= 2;
	}
	if (b > row->begins.n)
		b = row->begins.n;
	while (a < b) {
		uint64_t middle = a + (b - a) / 2;
		if (row->begins.at[middle] <= ns)
			a = middle + 1;
		else
			b = middle;
	}
	b = a * FAN < row->n ? a * FAN : row->n;
	a = a && (a - 1) * FAN > from ? (a - 1) * FAN : from;
	while (a < b && call_at(row, a)->from_ns <= ns)
		a++;
	return a;
}

static void take_longer(struct longest *best, struct longest other)
{
	if (other.length_ns > best->length_ns)
		*best = other;
}

/* The longest of the calls from @from to before @to, by the fewest nodes of the pyramid. */
static uint64_t longest_of(const struct row *row, uint64_t from, uint64_t to)
{
	struct longest best = {0, from};
	uint64_t size = 1; /* calls of a node of level @k - 1 */
	for (unsigned k = 0; from < to;) {
		uint64_t next = size * FAN;
		if (k < LEVELS && from % next == 0 && to - from >= next) {
			size = next;
			k++;
			continue;
		}
		if (size > to - from) {
			size /= FAN;
			k--;
			continue;
		}
		if (k) {
			take_longer(&best, row->levels[k - 1].at[from / size]);
		} else {
			const struct call *call = call_at(row, from);
			take_longer(&best, (struct longest){call->to_ns - call->from_ns, from});
		}
		from += size;
	}
	return best.call;
}

struct bytes {
	uint8_t *at;
	size_t n, max;
	bool failed;
};

enum { NUMBER_MAX = 10 };

static bool make_room(struct bytes *b, size_t n)
{
	if (b->max - b->n >= n)
		return true;
	size_t max = (b->max + n) * 2 + 4096;
	uint8_t *bigger = realloc(b->at, max);
	if (!bigger) {
		b->failed = true;
		b->n = 0;
		return false;
	}
	b->at = bigger;
	b->max = max;
	return true;
}

static void put(struct bytes *b, uint64_t value)
{
	if (!make_room(b, NUMBER_MAX))
		return;
	for (; value > 127; value >>= 7)
		b->at[b->n++] = (uint8_t)(value | 128);
	b->at[b->n++] = (uint8_t)value;
}

static void put_bytes(struct bytes *b, const struct bytes *other)
{
	b->failed |= other->failed;
	if (!other->n || !make_room(b, other->n))
		return;
	memcpy(b->at + b->n, other->at, other->n);
	b->n += other->n;
}

struct window {
	uint64_t from_ns, to_ns;
	double pixel_ns;
};

/* The next call from *@i on that is seen, and in *@i where to go on; false: none is. */
static bool next_seen(const struct row *row, const struct window *w, uint64_t *i, uint64_t *seen)
{
	while (*i < row->n) {
		const struct call *call = call_at(row, *i);
		if (call->from_ns > w->to_ns)
			return false;
		uint64_t from = call->from_ns > w->from_ns ? call->from_ns : w->from_ns;
		uint64_t to = call->to_ns < w->to_ns ? call->to_ns : w->to_ns;
		uint64_t first = (*i)++;
		if (call->to_ns < w->from_ns)
			continue;
		*seen = first;
		if ((double)(to - from) >= w->pixel_ns)
			return true;
		/* Skips what begins in this pixel but the last, which may reach beyond it. */
		uint64_t after = first_after(row, *i, from + (uint64_t)w->pixel_ns);
		if (after > *i + 1)
			*i = after - 1;
		*seen = longest_of(row, first, *i);
		return true;
	}
	return false;
}

/* @calls: room for the row's, whose number stands before them. */
static void put_row(struct bytes *b, struct bytes *calls, const struct row *row,
		    const struct window *w)
{
	uint64_t i = first_after(row, 0, w->from_ns), seen, last_ns = 0;
	uint32_t n = 0;
	calls->n = 0;
	for (i -= i > 0; next_seen(row, w, &i, &seen); n++) {
		const struct call *call = call_at(row, seen);
		put(calls, call->from_ns - last_ns);
		put(calls, call->to_ns - call->from_ns);
		put(calls, call->frame);
		put(calls, call->doubt_ns);
		last_ns = call->from_ns;
	}
	put(b, n);
	put_bytes(b, calls);
}

/* The next gap from *@i on that is seen; those of one pixel are its first. */
static const struct gap *next_gap(const struct track *t, const struct window *w, uint32_t *i,
				  uint64_t *drawn_ns)
{
	while (*i < t->gaps.n) {
		const struct gap *gap = &t->gaps.at[(*i)++];
		uint64_t to_ns = gap->at_ns + gap->length_ns;
		if (to_ns < w->from_ns || gap->at_ns > w->to_ns || to_ns < *drawn_ns)
			continue;
		*drawn_ns = to_ns + (uint64_t)w->pixel_ns;
		return gap;
	}
	return NULL;
}

static void put_gaps(struct bytes *b, const struct track *t, const struct window *w)
{
	uint64_t drawn_ns = 0;
	uint32_t n = 0;
	for (uint32_t i = 0; next_gap(t, w, &i, &drawn_ns);)
		n++;
	put(b, n);
	drawn_ns = 0;
	const struct gap *gap;
	for (uint32_t i = 0; (gap = next_gap(t, w, &i, &drawn_ns));) {
		put(b, gap->at_ns);
		put(b, gap->length_ns);
		put(b, gap->cause);
	}
}

static void put_track(struct bytes *b, struct bytes *calls, const struct track *t,
		      const struct window *w)
{
	uint32_t kept = t->deepest < RANGES_DEPTH ? (uint32_t)t->deepest : RANGES_DEPTH;
	put(b, t->thread);
	put(b, t->stack);
	put(b, t->deepest);
	put_gaps(b, t, w);
	put(b, kept);
	for (uint32_t d = 0; d < kept; d++)
		put_row(b, calls, &t->rows[d], w);
}

/* False: with pixels of that width it is more than an answer may be. */
static bool put_all(struct bytes *b, struct bytes *calls, const struct ranges *r,
		    const struct window *w, bool bounded)
{
	put(b, r->tracks.n);
	for (uint32_t i = 0; i < r->tracks.n; i++) {
		put_track(b, calls, r->tracks.at[i], w);
		if (bounded && b->n > RANGES_ANSWER_MAX)
			return false;
	}
	return true;
}

int ranges_get(const struct ranges *r, uint64_t from_ns, uint64_t to_ns, uint32_t width,
	       uint8_t **out, size_t *n)
{
	struct bytes b = {0}, calls = {0};
	struct window w = {from_ns, to_ns, (double)(to_ns - from_ns) / width};
	for (; !put_all(&b, &calls, r, &w, width > 1); width /= 2) {
		w.pixel_ns *= 2;
		b.n = 0;
	}
	free(calls.at);
	if (b.failed) {
		free(b.at);
		return -ENOMEM;
	}
	*out = b.at;
	*n = b.n;
	return 0;
}
